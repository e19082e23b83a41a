"""Dependency trees of sentences: the head of each word, and its relation."""
