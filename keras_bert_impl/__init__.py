"""BERT and the systems around it as a Keras 3 layer library."""

__version__ = "0.1.0"
