"""Labelled data for fine-tuning: files -> examples -> rows -> batches."""
