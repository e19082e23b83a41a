"""Base classes of all tasks, and what their files have in common."""
