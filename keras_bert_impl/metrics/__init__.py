"""Official scores of fine-tuning tasks, computed from predictions."""
