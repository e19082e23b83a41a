"""Learning vocabularies from text: behind `train_vocabulary.py`."""
