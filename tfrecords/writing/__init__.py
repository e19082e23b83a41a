"""From documents to instances to shards of records."""
