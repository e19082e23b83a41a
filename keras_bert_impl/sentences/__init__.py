"""Sentence vectors, and the folders that sentence-transformers writes."""
