"""Rows of texts and pairs of texts, as the tokenizer assembles them."""

import dataclasses

import numpy as np

from keras_bert_impl import features
from keras_bert_impl.tasks.basics import fine_tuning

# Texts that the tokenizer is given at once.
_TEXTS = 1000


@dataclasses.dataclass(frozen=True)
class TextPreprocessor(fine_tuning.Preprocessor):
  """Makes rows of `TextExample`s, whose labels are classes or numbers.

  Attributes:
    max_seq_length: int, most ids of a text or pair.
    labels: tuple of str, names of the classes; None if labels are numbers.
    text_pairs: bool, whether the examples are pairs of texts.
    is_weighted: bool, whether rows have weights, 1 of those without one.
  """

  max_seq_length: int
  labels: tuple[str, ...] | None = None
  text_pairs: bool = False
  is_weighted: bool = False

  undescribed = ("is_weighted",)  # The columns show it.

  @property
  def columns(self):
    """{name: `Column`}: the ids of a text, and its label."""
    dtype = "float32" if self.labels is None else "int32"
    weights = {features.SAMPLE_WEIGHTS: fine_tuning.Column("float32", ())}
    return {
      features.INPUT_IDS: fine_tuning.Column(),
      features.SEGMENT_IDS: fine_tuning.Column(),
      features.LABEL_IDS: fine_tuning.Column(dtype, ()),
      **(weights if self.is_weighted else {}),
    }

  def texts(self, example):
    """Returns the text or the pair."""
    return [example.text, *filter(None, [example.text_pair])]

  def make_rows(self, examples, tokenizer, counts):
    """Yields a row for each example; see `Preprocessor`."""
    for example in examples:
      if self.text_pairs != (example.text_pair is not None):
        number = "two texts" if self.text_pairs else "one text"
        raise ValueError(
          f"{example.origin} must have {number}, as other examples have."
        )
    framed = iter_rows(
      [example.text for example in examples],
      [example.text_pair for example in examples] if self.text_pairs else None,
      tokenizer,
      self.max_seq_length,
      counts,
    )
    for example, (input_ids, segment_ids) in zip(examples, framed, strict=True):
      row = {
        features.INPUT_IDS: input_ids,
        features.SEGMENT_IDS: segment_ids,
        features.LABEL_IDS: self._target(example.label),
      }
      if self.is_weighted:
        row[features.SAMPLE_WEIGHTS] = getattr(example, "weight", 1.0)
      yield row

  def _target(self, label):
    """Returns the number of a label; 0 without one."""
    if label is None:
      return 0
    return label if self.labels is None else self.labels.index(label)


def iter_rows(texts, text_pairs, tokenizer, max_seq_length, counts):
  """Yields (input_ids, segment_ids), int32 [n] both, of texts or pairs.

  Args:
    texts: list of str.
    text_pairs: list of as many str, or None.
    tokenizer: of `tokenizers.load`.
    max_seq_length: int, most n; longer ones are cut as `Tokenizer.assemble`
      does.
    counts: `collections.Counter`, gets "texts cut to max_seq_length" (or pairs)
      and "empty texts".
  """
  for start in range(0, len(texts), _TEXTS):
    part = slice(start, start + _TEXTS)
    sides = [texts[part]]
    if text_pairs is not None:
      sides.append(text_pairs[part])
    pieces = [tokenizer.tokenize(side) for side in sides]
    batch = tokenizer.assemble(*pieces, max_seq_length=max_seq_length)
    batch = {name: values.numpy() for name, values in batch.items()}
    lengths = np.sum(batch[features.INPUT_MASK], axis=1)
    _count(pieces, lengths - tokenizer.num_special_tokens(len(pieces)), counts)
    for ids, segments, length in zip(
      batch[features.INPUT_IDS],
      batch[features.SEGMENT_IDS],
      lengths,
      strict=True,
    ):
      yield ids[:length], segments[:length]


def _count(pieces, kept, counts):
  """Counts texts that were cut or are empty.

  Args:
    pieces: list of ragged [B, (pieces)], of each side.
    kept: int [B], number of pieces that were kept of both.
    counts: as `iter_rows`.
  """
  lengths = [side.row_lengths().numpy() for side in pieces]
  what = "texts" if len(pieces) == 1 else "pairs"
  numbers = {
    f"{what} cut to max_seq_length": np.sum(kept < sum(lengths)),
    "empty texts": sum(np.sum(side == 0) for side in lengths),
  }
  fine_tuning.add_counts(counts, numbers)
