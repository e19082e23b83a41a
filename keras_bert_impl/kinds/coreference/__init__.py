"""Coreference: clusters of the mentions of a document, a kind of task."""
