"""Models of the pre-training objectives: an encoder with its heads."""
