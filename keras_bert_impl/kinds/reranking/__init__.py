"""Rerankers: a query and a document, read at once."""
