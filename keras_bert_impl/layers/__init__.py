"""Reusable Keras layers, written in `keras.ops` only.

Axes, everywhere in this project:
  B batch, L sequence length, P predictions per sequence, H hidden size,
  E embedding size, N attention heads, D size of one head (H / N),
  I intermediate size, V vocabulary size, C classes.
"""
