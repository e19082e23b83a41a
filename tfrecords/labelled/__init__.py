"""Labelled data sets: their files, examples, rows on disk and batches."""
