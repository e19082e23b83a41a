"""Folders of trained models: their files, and models from them."""
