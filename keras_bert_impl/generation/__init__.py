"""Text generation: searches for the tokens that follow, on ids.

  settings.py  what is searched for, and how
  rules.py     which tokens may follow, and which are likelier
  draws.py     random numbers that depend on a seed and a prompt alone
  loops.py     loops whose tensors grow, in graphs and eagerly
  search.py    greedy search, sampling and beams

All is in `keras.ops`, of a model that says what follows a token, see
`search.Decoder`; in graphs of TensorFlow without XLA.

Axes: B prompts, R rows that are continued at once (B, or B times the beams), T
tokens so far, V vocabulary.
"""
