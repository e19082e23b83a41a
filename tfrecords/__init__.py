"""From raw text to TFRecords and from TFRecords to batches."""
