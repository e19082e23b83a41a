"""Encoders of all families."""
