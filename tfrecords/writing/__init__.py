"""Writes records for pre-training: documents -> instances -> shards."""
