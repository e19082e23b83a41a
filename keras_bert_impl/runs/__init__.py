"""Runs behind the scripts: pre-training, fine-tuning and what else they do."""
