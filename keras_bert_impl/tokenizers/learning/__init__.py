"""Learns vocabularies from text."""
