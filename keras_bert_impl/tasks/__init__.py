"""Training objectives and fine-tuning tasks, one file each."""
