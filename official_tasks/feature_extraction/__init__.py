"""The hidden states of texts as files: behind `extract_features.py`."""
