"""Models for fine-tuning and serving: an encoder with one head."""
