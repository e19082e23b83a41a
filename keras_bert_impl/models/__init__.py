"""Keras models wired from the layers."""
