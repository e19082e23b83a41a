"""From shards of records to batches."""
