"""Rows of text vectors: one row for each text of an example."""

import dataclasses
import zlib

import numpy as np
import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.tasks.basics import fine_tuning
from keras_bert_impl.tokenizers.graph import prompts

# Texts that the tokenizer is given at once.
_TEXTS = 1000


@dataclasses.dataclass(frozen=True)
class EmbeddingPreprocessor(fine_tuning.Preprocessor):
  """Makes rows of `EmbeddingExample`s, in the order of their texts.

  Attributes:
    max_seq_length: int, most ids of a text, prompt included.
    query_prompt: str, text to put before each anchor.
    document_prompt: str, the same of all other texts.
    include_prompt: bool, whether a prompt is pooled too.
    do_lower_case: bool, whether texts are lower-cased before the tokenizer.
    frames_texts: bool, whether there are special tokens around a text.
  """

  max_seq_length: int
  query_prompt: str = ""
  document_prompt: str = ""
  include_prompt: bool = True
  do_lower_case: bool = False
  frames_texts: bool = True

  # As of `folders.Texts`.
  late = None

  @property
  def columns(self):
    """{name: `Column`} of the rows."""
    columns = {
      features.INPUT_IDS: fine_tuning.Column(),
      features.SEGMENT_IDS: fine_tuning.Column(),
      features.LABEL_IDS: fine_tuning.Column("float32", ()),
      features.TEXT_IDS: fine_tuning.Column(shape=()),
    }
    if not self.include_prompt:
      columns[features.POOLING_MASK] = fine_tuning.Column()
    return columns

  def texts(self, example):
    """Returns the texts of an example."""
    return [*example.texts]

  def make_rows(self, examples, tokenizer, counts):
    """Yields a row for each text, those of an example one after the other."""
    keys = [key for example in examples for key in self._keys(example)]
    rows = self._rows_of([*dict.fromkeys(keys)], tokenizer, counts)
    for example in examples:
      for key in self._keys(example):
        yield rows[key] | {features.LABEL_IDS: example.score or 0.0}

  def _form(self, kind):
    """Returns what tells how a "query" or "document" is encoded."""
    return getattr(self, f"{kind}_prompt")

  def _keys(self, example):
    """Returns (form, text) of each text of an example."""
    return [(self._form(kind), text) for kind, text in example.keys]

  def _rows_of(self, keys, tokenizer, counts):
    """Returns {(form, text): row} of different keys."""
    rows = {}
    for form in dict.fromkeys(form for form, _ in keys):
      texts = [text for own, text in keys if own == form]
      for start in range(0, len(texts), _TEXTS):
        part = texts[start : start + _TEXTS]
        made = self._encode(part, form, tokenizer, counts)
        rows |= {(form, t): row for t, row in zip(part, made, strict=True)}
    return rows

  def _encode(self, texts, prompt, tokenizer, counts):
    """Yields the rows of texts with one prompt."""
    pieces = prompts.tokenize(tokenizer, texts, prompt, self.do_lower_case)
    room = self.max_seq_length
    if self.frames_texts:
      batch = tokenizer.assemble(pieces, max_seq_length=room)
      room -= tokenizer.num_special_tokens(1)
    else:
      batch = _without_frame(pieces[:, :room])
    if not self.include_prompt:
      batch |= prompts.without_prompt(
        batch, tokenizer, prompt, self.max_seq_length, self.do_lower_case
      )
    lengths = np.sum(batch.pop(features.INPUT_MASK), axis=1)
    is_cut = pieces.row_lengths() > room
    yield from self._rows(texts, batch, lengths, is_cut, counts)

  def _rows(self, texts, batch, lengths, is_cut, counts):
    """Yields the rows of texts, of a batch {name: int32 [B, L]}."""
    batch = {name: values.numpy() for name, values in batch.items()}
    fine_tuning.add_counts(
      counts, {"texts cut to max_seq_length": np.sum(is_cut)}
    )
    for number, text in enumerate(texts):
      row = {name: x[number, : lengths[number]] for name, x in batch.items()}
      yield row | {features.TEXT_IDS: text_id(text)}


def _without_frame(pieces):
  """Returns as `Tokenizer.assemble`, without special tokens."""
  return {
    features.INPUT_IDS: pieces.to_tensor(),
    features.INPUT_MASK: (ones := tf.ones_like(pieces)).to_tensor(),
    features.SEGMENT_IDS: (ones - 1).to_tensor(),
  }


def text_id(text):
  """Returns a number in int32, the same for equal texts."""
  return zlib.crc32(text.encode()) & 0x7FFFFFFF
