"""Labelled data of a run: splits, their rows and hidden states."""
