"""Learns a byte-level BPE vocabulary from text, with the `tokenizers` library.

Memory grows with the unique words, not with the text. The same text gives the
same vocabulary, in any order.
"""

import json

from absl import logging
from etils import epy

from keras_bert_impl import options as options_lib
from keras_bert_impl.tokenizers.formats import (
  byte_alphabet,
  vocabularies,
  vocabulary_files,
)

with epy.lazy_imports():
  import tokenizers

# RoBERTa's, at its ids; the mask is the last token of all.
_FIRST_TOKENS = ("<s>", "<pad>", "</s>", "<unk>")
_MASK = "<mask>"


def learn(
  texts, vocab_size, options, min_frequency=2, origin=vocabulary_files.BYTE_BPE
):
  """Returns the `Vocabulary` for `texts`.

  Args:
    texts: iterable of str, read once.
    vocab_size: int, tokens wanted, the special ones and 256 bytes included.
    options: `BytePairOptions`, as the tokenizer will be used.
    min_frequency: int, how often a pair must occur to be merged.
    origin: str, name of the vocabulary in messages.

  Returns:
    `Vocabulary`: <s>, <pad>, </s>, <unk>, the bytes, the merges, <mask>.
    Smaller than vocab_size, with a warning, if the text has not enough pairs.

  Raises:
    ValueError: on a value out of range or a text without words.
  """
  num_fixed = len(_FIRST_TOKENS) + len(byte_alphabet.CHARACTERS) + 1
  options_lib.check_numbers(f"[{num_fixed}, inf)", vocab_size=vocab_size)
  options_lib.check_numbers(options_lib.POSITIVE, min_frequency=min_frequency)
  tokens, merges = _train(texts, vocab_size - 1, options, min_frequency)
  if not merges:
    raise ValueError(
      "The text has no words with a pair of bytes that occurs min_frequency "
      f"({min_frequency}) times: nothing to learn from."
    )
  tokens.append(_MASK)
  if len(tokens) < vocab_size:
    logging.warning(
      "The text yields %d tokens, fewer than vocab_size (%d): no other pair "
      "occurs min_frequency (%d) times. Give more text or a smaller size.",
      len(tokens),
      vocab_size,
      min_frequency,
    )
  return vocabularies.Vocabulary(
    tuple(tokens), origin, vocabulary_files.BYTE_BPE, merges=tuple(merges)
  )


def _train(texts, size, options, min_frequency):
  """Returns the tokens, list of str, and merges, list of "left right"."""
  splitter = tokenizers.pre_tokenizers.ByteLevel(
    add_prefix_space=options.add_prefix_space
  )
  learner = tokenizers.Tokenizer(tokenizers.models.BPE())
  learner.pre_tokenizer = splitter
  trainer = tokenizers.trainers.BpeTrainer(
    vocab_size=size,
    min_frequency=min_frequency,
    initial_alphabet=list(byte_alphabet.CHARACTERS),
    special_tokens=list(_FIRST_TOKENS),
    show_progress=False,
  )
  learner.train_from_iterator(iter(texts), trainer)
  model = json.loads(learner.to_str())["model"]
  ids = model["vocab"]
  # Lists in some versions of the library, strings in others.
  merges = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]
  return sorted(ids, key=ids.get), merges
