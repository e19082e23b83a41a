"""A text as the row of tokens that a model reads, named as people read them."""

import functools
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.tasks.basics import fine_tuning
from keras_bert_impl.tokenizers.graph import prompts, text_words, token_pieces


class Token(NamedTuple):
  """A token of a row.

  Attributes:
    text: str, its characters in the text as read, never parts of one: a
      syllable of Hangul that is several tokens is the text of each. Of a token
      without characters, its name in the vocabulary.
    piece: str, the token as the tokenizer's `token_texts` has it.
    side: int, 1 in the text, 2 in its pair, 0 of a special token.
    is_mask: bool, whether it is the mask token.
  """

  text: str
  piece: str
  side: int
  is_mask: bool = False


class Prediction(NamedTuple):
  """A logit of a row's predictions.

  Attributes:
    label: str, what is predicted.
    output: str, the name of the model's output.
    index: tuple of int, of the logit in the output of a row.
    place: int, the token that it is about, or None if it is about all.
  """

  label: str
  output: str
  index: tuple
  place: int | None = None


class TextRow(NamedTuple):
  """A text or pair, ready for a model.

  Attributes:
    inputs: {name: int32 [1, L]}, without padding.
    tokens: list of L `Token`.
    num_tokens: int, what L would be if nothing had been cut.
  """

  inputs: dict
  tokens: list
  num_tokens: int

  def places(self, *sides):
    """Returns the places of the tokens of some sides, list of int."""
    return [k for k, token in enumerate(self.tokens) if token.side in sides]


def make(tokenizer, texts, max_seq_length, reader=None):
  """Returns the `TextRow` of a text or a pair.

  Args:
    tokenizer: of `tokenizers.load`.
    texts: list of one or two str.
    max_seq_length: int, L at most; longer texts are cut.
    reader: function of a tokenizer and a str to [(id, str)], the tokens of the
      text and their characters in it; default: `read`.

  Raises:
    ValueError: max_seq_length leaves no room for a token of each text.
  """
  reader = reader or read
  sides = [reader(tokenizer, text) for text in texts]
  mask_id = tokenizer.vocabulary.role_ids.get("mask")
  pieces = [
    (index, Token(text, _shown(tokenizer, index), side, index == mask_id))
    for side, found in enumerate(sides, start=1)
    for index, text in found
  ]
  # Numbers of the pieces stand for them, so that it shows which ones are left.
  first = tokenizer.vocabulary.size
  numbers = first + np.arange(len(pieces), dtype=np.int32)
  rows = np.split(numbers, [len(sides[0])])[: len(sides)]
  inputs = tokenizer.assemble(
    *(tf.RaggedTensor.from_row_lengths(row, [len(row)]) for row in rows),
    max_seq_length=max_seq_length,
  )
  special = [
    (index, Token(name, name, 0))
    for index, name in enumerate(tokenizer.vocabulary.tokens)
  ]
  both = special + pieces
  row = [both[number] for number in inputs[features.INPUT_IDS].numpy()[0]]
  ids = tf.constant([[index for index, _ in row]])
  num_special = tokenizer.num_special_tokens(len(texts))
  return TextRow(
    {**inputs, features.INPUT_IDS: ids},
    [token for _, token in row],
    num_special + len(pieces),
  )


def read(tokenizer, text):
  """Returns [(id, str)], the tokens of a text and their characters in it."""
  found = (x.numpy().tolist() for x in tokenizer.tokenize_with_offsets(text))
  return [
    # A token that is only a blank has no characters of the text.
    (index, text[start:end] or _shown(tokenizer, index))
    for index, start, end in zip(*found, strict=True)
  ]


def read_around_masks(tokenizer, text):
  """Returns tokens as `read`; read as `Tokenizer.tokenize_around_masks`."""
  if tokenizer.adds_mask:
    return read(tokenizer, text)
  mask = tokenizer.vocabulary.mask_token
  *before, last = text.split(mask)
  found = []
  for stretch in before:
    found += read(tokenizer, stretch.rstrip())
    found.append((tokenizer.vocabulary.mask_id, mask))
  return found + read(tokenizer, last)


def read_tokens(tokenizer, text, unit):
  """Returns tokens as `read`; each by itself, as `tokenize_tokens`.

  Pieces that do not show where they are in their token get all of it.
  """
  if unit == token_pieces.WORD:
    split = tokenizer.split_words_with_offsets
  else:
    split = text_words.split_characters
  tokens, starts, ends = split(tf.constant([text]))
  pieces = tokenizer.tokenize_tokens(tokens, unit)[0].to_list()
  # Each word behind a blank, which byte-level BPE reads.
  words = tf.strings.join([" ", tokens[0]])
  aligned = (x.to_list() for x in tokenizer.tokenize_with_offsets(words))
  found = []
  for ids, start, end, word_ids, begins, stops in zip(
    pieces, starts[0].numpy(), ends[0].numpy(), *aligned, strict=True
  ):
    if ids == word_ids:
      spans = [
        (start + a - 1, start + b - 1)
        for a, b in zip(begins, stops, strict=True)
      ]
    else:
      spans = [(start, end)] * len(ids)
    found += [
      (index, text[a:b] or _shown(tokenizer, index))
      for index, (a, b) in zip(ids, spans, strict=True)
    ]
  return found


def prompt_reader(recorded):
  """Returns how texts are read that have a prompt before them.

  Args:
    recorded: {name: value}, with prompt and do_lower_case, if it has some.
  """
  return functools.partial(
    read_with_prompt,
    prompt=recorded.get("prompt") or "",
    do_lower_case=recorded.get("do_lower_case") or False,
  )


def read_with_prompt(tokenizer, text, prompt, do_lower_case):
  """Returns tokens as `read`, with a prompt, as `prompts.encode`."""
  [text] = prompts.fold(tf.constant([prompt + text]), do_lower_case).numpy()
  return read(tokenizer, text.decode("utf-8"))


def _shown(tokenizer, index):
  """Returns a token as people read it; half a character is U+FFFD."""
  return tokenizer.token_texts[index].decode("utf-8", "replace")


def likeliest(logits):
  """Returns the likeliest class of logits [C] and its probability."""
  shares = fine_tuning.softmax(logits)
  best = int(np.argmax(shares))
  return best, float(shares[best])
