"""Vectors of a corpus of any size: its texts, shards, searches and indexes."""
