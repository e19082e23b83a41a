"""Layers on top of the encoder."""
