"""Texts that follow, or are written of, other texts."""
