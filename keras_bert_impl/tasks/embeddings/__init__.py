"""Vectors of texts: rows, losses and scores."""
