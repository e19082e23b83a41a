"""Learns vocabularies from text: the library behind `train_vocabulary.py`."""
