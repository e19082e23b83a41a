"""Changes the tokens of a trained model: embedding table and output biases.

A new token starts as the mean of the word pieces that it was made of.
"""

import re

import numpy as np

from keras_bert_impl.checkpoints.naming import mappings, names

# Tensors with a row for each token.
_TABLES = (
  names.WORD_EMBEDDINGS,
  names.OUTPUT_BIAS,
  names.DECODER,
  "cls/span_boundary/output_bias",
)
_UNUSED = re.compile(r"\[unused\d+\]$")


def extend(tensors, pieces):
  """Returns the tensors with rows for new tokens.

  Args:
    tensors: mapping of our names -> arrays, with `shapes`.
    pieces: dict of id -> non-empty list of ids that stood for it so far; an id
      beyond the table makes it grow.

  Returns:
    Mapping as `tensors`.
  """
  old_size = vocab_size(tensors)
  new_size = max(old_size, *(index + 1 for index in pieces))
  arrays = {name: tensors[name] for name in tensors}
  for name, array in arrays.items():
    if _has_rows(name):
      rows = np.zeros((new_size, *array.shape[1:]), array.dtype)
      rows[:old_size] = array
      for index, of_word in pieces.items():
        rows[index] = array[of_word].mean(axis=0)
      arrays[name] = rows
  return mappings.Arrays(arrays)


def select(tensors, ids):
  """Returns the tensors with the rows of some tokens alone.

  Args:
    tensors: as of `extend`.
    ids: list of int, the tokens to keep, in their new order.
  """
  arrays = {name: tensors[name] for name in tensors}
  return mappings.Arrays(
    {
      name: array[ids] if _has_rows(name) else array
      for name, array in arrays.items()
    }
  )


def place_words(tokens, words):
  """Places new words in the list of tokens.

  Words take the slots named "[unused0]", "[unused1]", ... in their order, then
  follow at the end.

  Args:
    tokens: sequence of str.
    words: list of str, none of them in `tokens`.
  """
  tokens = list(tokens)
  slots = [i for i, token in enumerate(tokens) if _UNUSED.match(token)]
  for index, word in zip(slots, words, strict=False):
    tokens[index] = word
  return tokens + words[len(slots) :]


def _has_rows(name):
  return name.removeprefix(names.RIGHT_TO_LEFT) in _TABLES


def vocab_size(tensors):
  """Returns the number of rows of the embedding table."""
  return tensors.shapes[names.WORD_EMBEDDINGS][0]
