"""Reads shards of records as batches for pre-training."""
