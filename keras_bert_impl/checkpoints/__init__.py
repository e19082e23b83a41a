"""Reading and writing checkpoints of the family."""
