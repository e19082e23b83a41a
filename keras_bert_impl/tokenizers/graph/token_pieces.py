"""Tokenizes texts that come as lists of labelled tokens.

As `Tokenizer.tokenize_tokens`: a token is a word or, in files with one
character per line, a part of a word.
"""

import itertools

import numpy as np
from etils import epy

with epy.lazy_imports():  # The scripts list the units in --help.
  import tensorflow as tf

WORD, CHARACTER = "word", "character"
UNITS = (WORD, CHARACTER)
# Kinds of input that a model which labels tokens was trained on: texts as they
# are, or given tokens, each tokenized by itself. {what: unit of the tokens}.
TEXT, WORDS, CHARACTERS = "text", "words", "characters"
TRAINED_ON = {TEXT: WORD, WORDS: WORD, CHARACTERS: CHARACTER}

_SENTENCES_AT_ONCE = 1024


def trained_on(unit):
  """Returns what a model was trained on whose given tokens are of a unit."""
  return CHARACTERS if unit == CHARACTER else WORDS


def tokenize(tokenizer, sentences, unit=WORD):
  """Returns the word pieces of each token.

  Args:
    tokenizer: of `tokenizers.load`.
    sentences: list of lists of str, the tokens.
    unit: WORD or CHARACTER, what a token is.

  Returns:
    list of lists of int32 [pieces].
  """
  found = []
  for start in range(0, len(sentences), _SENTENCES_AT_ONCE):
    some = sentences[start : start + _SENTENCES_AT_ONCE]
    tokens = [token for sentence in some for token in sentence]
    tokens = tf.RaggedTensor.from_row_lengths(
      tf.constant(tokens, tf.string), [len(sentence) for sentence in some]
    )
    pieces = tokenizer.tokenize_tokens(tokens, unit)
    each = np.split(
      pieces.flat_values.numpy(), pieces.values.row_splits.numpy()[1:-1]
    )
    splits = pieces.row_splits.numpy()
    found += [each[a:b] for a, b in itertools.pairwise(splits)]
  return found
