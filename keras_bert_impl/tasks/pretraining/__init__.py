"""Tasks of pre-training, a file for each objective."""
