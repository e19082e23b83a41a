"""Fine-tuning runs: the library behind the fine-tuning scripts."""
