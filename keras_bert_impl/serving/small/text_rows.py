"""Rows of raw texts for a model in a file, in numpy.

They are those of `tokenizers.graph.assembly`. Axes: B texts, R rows, L ids of
the longest of them.
"""

import functools

import numpy as np

from keras_bert_impl import features
from keras_bert_impl.tokenizers.formats import (
  library,
  token_texts,
  vocabularies,
)

# What a call costs besides its ids, in ids: 0.4 ms of LiteRT and 0.9 of ONNX
# Runtime, where an id of MiniLM takes 0.05.
_CALL = 12
_MOST = 32  # rows at once


class TextRows:
  """Makes rows of the texts that a folder's tokenizer reads.

  Args:
    vocabulary: `vocabularies.Vocabulary`.
    options: its options, as `vocabularies.find` returns them.
    max_seq_length: int, L at most.

  Attributes:
    vocabulary: as given.
    library: `library.Library`.
    framing: `families.family.Framing`.
    max_seq_length: as given.

  Raises:
    ValueError: as `Library`.
  """

  def __init__(self, vocabulary, options, max_seq_length):
    self.vocabulary = vocabulary
    self.library = library.Library(vocabulary, options)
    self.framing = vocabulary.framing(options.family)
    self.max_seq_length = max_seq_length
    self._frame_ids = vocabulary.frame_ids(self.framing)
    self._pad_id = vocabulary.pad_id if self.framing.roles else 0

  @functools.cached_property
  def shown_tokens(self):
    """The tokens as people read them, array of bytes [V], UTF-8."""
    texts = token_texts.of(self.vocabulary)
    shown = [text.decode("utf-8", "replace").encode("utf-8") for text in texts]
    return np.array(shown, object)

  def room(self, num_texts=1):
    """Returns the most pieces of a row, int."""
    num_special = len(self.framing.template(num_texts)) - num_texts
    return self.max_seq_length - num_special

  def assemble(self, *sides):
    """Returns the rows of pieces, and whether some were left out.

    Args:
      *sides: one or two lists of R lists of ids.

    Returns:
      {name of `features`: int32 [R, L]}, L at least 1; bool [R].
    """
    room = self.room(len(sides))
    template = self.framing.template(len(sides))
    framed = [
      self._frame(template, self._cut(row, room))
      for row in zip(*sides, strict=True)
    ]
    length = max((len(ids) for ids, _ in framed), default=1)
    inputs = np.zeros((3, len(framed), max(length, 1)), np.int32)
    inputs[0] = self._pad_id
    for index, (ids, segments) in enumerate(framed):
      inputs[0, index, : len(ids)] = ids
      inputs[1, index, : len(ids)] = 1
      inputs[2, index, : len(ids)] = segments
    names = (features.INPUT_IDS, features.INPUT_MASK, features.SEGMENT_IDS)
    is_cut = [sum(map(len, row)) > room for row in zip(*sides, strict=True)]
    return dict(zip(names, inputs, strict=True)), np.array(is_cut, bool)

  def _cut(self, row, room):
    """Returns the beginnings of one or two texts that there is room for."""
    if len(row) == 1:
      return [row[0][:room]]
    first, second = map(len, row)
    is_longer = self.vocabulary.odd_token == vocabularies.LONGER
    share = room // 2 + room % 2 * (first > second or not is_longer)
    kept = max(share, room - second), max(room - share, room - first)
    return [pieces[:count] for pieces, count in zip(row, kept, strict=True)]

  def _frame(self, template, row):
    """Returns the ids of a row and their segments, lists of int."""
    parts = dict(zip("AB", row, strict=False))
    ids, segments = [], []
    for name, segment in template:
      part = parts[name] if name in parts else [self._frame_ids[name]]
      ids += part
      segments += [int(segment)] * len(part)
    return ids, segments


def map_rows(run, rows):
  """Applies a model to rows, to those of similar length together.

  Args:
    run: function of {name: int32 [n, length of the longest]} to {name: [n,
      ...]}, any n >= 1.
    rows: {name: int32 [R, L]}, `input_mask` among them; others may be narrower.

  Returns:
    {name: [R, ...]}; 0 beyond a row.
  """
  num_rows = len(rows[features.INPUT_MASK])
  if not num_rows:  # A model needs a row.
    one = {name: np.zeros((1, 1), np.int32) for name in rows}
    one[features.INPUT_MASK] += 1
    return {name: values[:0] for name, values in run(one).items()}
  lengths = np.count_nonzero(rows[features.INPUT_MASK], axis=1)
  order = np.argsort(lengths, kind="stable")
  groups = [order[a:b] for a, b in _groups(lengths[order].tolist())]
  found = [
    run({name: x[group, : lengths[group[-1]]] for name, x in rows.items()})
    for group in groups
  ]
  return {
    name: _joined([outputs[name] for outputs in found], groups, num_rows)
    for name in found[0]
  }


def _groups(lengths):
  """Returns (start, end) of the rows to run together, with the least padding.

  Args:
    lengths: list of int, in order.
  """
  costs, starts = [0], []
  for end, longest in enumerate(lengths, start=1):
    cost, start = min(
      (costs[start] + _CALL + (end - start) * longest, start)
      for start in range(max(end - _MOST, 0), end)
    )
    costs.append(cost)
    starts.append(start)
  groups, end = [], len(lengths)
  while end:
    groups.append((starts[end - 1], end))
    end = starts[end - 1]
  return groups


def _joined(parts, groups, num_rows):
  """Returns the values of the rows of all groups, in the order of the rows."""
  shape = np.max([part.shape for part in parts], axis=0)
  joined = np.zeros((num_rows, *shape[1:]), parts[0].dtype)
  for part, group in zip(parts, groups, strict=True):
    joined[(group, *map(slice, part.shape[1:]))] = part
  return joined


def padded(rows, padding, dtype):
  """Returns lists of numbers, strings or lists as one array [B, longest]."""
  most = max(map(len, rows), default=0)
  return np.array(
    [[*row, *[padding] * (most - len(row))] for row in rows], dtype
  ).reshape(len(rows), most)
