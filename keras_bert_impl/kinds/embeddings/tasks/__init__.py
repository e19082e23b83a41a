"""Vectors as tasks: rows, losses, scores."""
