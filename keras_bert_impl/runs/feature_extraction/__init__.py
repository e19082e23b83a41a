"""Hidden states of texts: the library behind `extract_features.py`."""
