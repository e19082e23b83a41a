"""Tokenizers and their parts in TensorFlow graphs."""
