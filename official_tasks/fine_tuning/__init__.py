"""The run behind the fine-tuning scripts."""
