"""Reads and writes checkpoints in the released formats."""
