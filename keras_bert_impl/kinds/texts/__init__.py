"""Texts with classes, scores or several labels."""
