"""Attention: what each position sees of the others, and how."""
