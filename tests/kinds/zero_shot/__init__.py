"""Tests of labels that come with the texts."""
