"""Answers to questions: spans of a text."""
