"""In-graph tokenizers, vocabularies and their learners."""
