"""Names of weights: ours, and those of released checkpoints."""
