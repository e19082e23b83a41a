"""Documents and sentences from text files, tfds and Python's documentation."""
