"""Answers to questions in a text."""
