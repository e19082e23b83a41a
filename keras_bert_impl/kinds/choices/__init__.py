"""Choices among continuations or answers."""
