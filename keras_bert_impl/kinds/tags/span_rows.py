"""Rows of sentences whose entities may nest: each span of words has a label.

A span stands at the first piece of its first word, in the row in which that
counts, and must end there. Axes: n ids of a row, W widths of spans.
"""

import collections
import dataclasses

import numpy as np

from keras_bert_impl import features
from keras_bert_impl.kinds.tags import tag_rows
from keras_bert_impl.metrics import tagging
from keras_bert_impl.tasks.basics import fine_tuning

# Column, int32 [n]: 1 where a word of the sentence begins, else 0.
WORD_STARTS = "word_starts"
_LOST = "entities over the end of a window, or with two types, not to be found"


def read(entities, num_tokens, place):
  """Returns the entities of an example, tuple of `tagging.Entity`.

  Args:
    entities: list of (start, end, type), end exclusive.
    num_tokens: int.
    place: str, the example's, for messages.

  Raises:
    ValueError: one is no such entity, or not within the tokens.
  """
  found = []
  for entity in entities if isinstance(entities, list | tuple) else [entities]:
    match entity:
      case [int(start), int(end), str(name)] if 0 <= start < end <= num_tokens:
        found.append(tagging.Entity(start, end, name))
      case _:
        raise ValueError(
          f"{place}.entities: {entity!r} must be [start, end, type] with 0 <="
          f" start < end <= {num_tokens}, the number of tokens."
        )
  return tuple(found)


@dataclasses.dataclass(frozen=True)
class SpanPreprocessor(tag_rows.TagPreprocessor):
  """Makes rows of `TaggedSentence`s with entities, one label for each span.

  Labels are int32 [n, W], of the spans that begin at a place and have 1, 2, ...
  W words: 0 for none, NONE of those that do not count.

  Attributes:
    max_span_width: int, W.
  """

  max_span_width: int = 10

  @property
  def columns(self):
    """`Column`s of the rows."""
    labels = fine_tuning.Column(
      shape=(None, self.max_span_width), padding=tag_rows.NONE
    )
    own = {features.LABEL_IDS: labels, WORD_STARTS: fine_tuning.Column()}
    return tag_rows.TagPreprocessor.columns | own

  def make_rows(self, examples, tokenizer, counts):
    """Yields the rows of each sentence; see `Preprocessor`."""
    known = collections.Counter()
    for row in super().make_rows(examples, tokenizer, known):
      known[_LOST] -= np.sum(row[features.LABEL_IDS] > 0)
      yield row
    fine_tuning.add_counts(counts, known)

  def _label_ids(self, example, pieces, counts):
    """Returns the labels of all spans, int32 [tokens, W]."""
    width = self.max_span_width
    found = np.zeros((len(pieces), width), np.int32)
    # Words before each token: those without pieces are none.
    before = np.cumsum([0, *(len(each) > 0 for each in pieces)])
    for start, end, name in tagging.entities_of(example.tags or ()):
      last = before[end] - before[start] - 1
      if last >= width:
        counts[f"entities of more than {width} words, not to be found"] += 1
      elif name not in self.labels:
        counts[f"entities of the type {name}, which training has not"] += 1
      else:
        counts[_LOST] += 1
        found[start, last] = self.labels.index(name)
    return found

  def _of_window(self, sentence, window, place, length):
    columns = super()._of_window(sentence, window, place, length)
    start, counted = window
    tokens = sentence.token_index[start : start + len(counted)]
    begins = np.zeros(length, np.int32)
    begins[place : place + len(counted)] = tokens != tag_rows.NONE
    rest = np.cumsum(begins[::-1])[::-1, np.newaxis]  # words from a place on
    is_beyond = rest <= np.arange(self.max_span_width)
    columns[features.LABEL_IDS][is_beyond] = tag_rows.NONE
    return columns | {WORD_STARTS: begins}
