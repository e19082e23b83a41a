"""Documents from text files, TensorFlow Datasets and Python's documentation."""
