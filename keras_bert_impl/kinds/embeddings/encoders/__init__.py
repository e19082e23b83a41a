"""Encoders of texts, from Python."""
