"""Masks filled by the heads of pre-training."""
