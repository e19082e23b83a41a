"""Rows of tagged sentences: the first piece of each token has its label.

A row is one sentence and as much of the document around it as fits, split
evenly left and right: "the maximal document context provided by the data"
(Devlin et al. 2019, section 5.3). Only the sentence has losses and predictions.

A sentence that is too long for a row is split into sliding windows. Each token
counts in the window that gives it the most context, so no token is dropped.
"""

import dataclasses
import itertools

import numpy as np
import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.metrics import tagging
from keras_bert_impl.tasks.basics import fine_tuning, windows
from keras_bert_impl.tokenizers.graph import token_pieces

TOKEN_INDEX = "token_index"
EXAMPLE_INDEX = "example_index"
# Label and token index of all pieces but the first of each token.
NONE = -1


def labels_of(sentences, tag_scheme="IOB2"):
  """Returns the labels for tagged sentences, tuple of str.

  "O", then "B-type" and "I-type" for each type in alphabetical order. Both are
  there even if the sentences have only one-token entities of the type. Of
  spans: "O" and the types. Of no scheme: the tags in alphabetical order.

  Args:
    sentences: list of `TaggedSentence`.
    tag_scheme: as `TagPreprocessor`.

  Raises:
    ValueError: no sentence has an entity, or all tags are the same.
  """
  if tag_scheme == tagging.NO_SCHEME:
    tags = sorted({tag for sentence in sentences for tag in sentence.tags})
    if len(tags) < 2:
      raise ValueError(
        f"The training sentences have no tag but {tags[0]}: check the file and "
        "--tag_column."
      )
    return tuple(tags)
  types = sorted(
    {
      entity.type
      for sentence in sentences
      for entity in tagging.entities_of(sentence.tags)
    }
  )
  if not types:
    raise ValueError(
      "The training sentences have no entities, only O: check the file and "
      "--tag_column."
    )
  tags = [tagging.OUTSIDE]
  if tag_scheme == tagging.SPANS:
    return (*tags, *types)
  for entity_type in types:
    tags += tagging.tags_of([tagging.Entity(0, 2, entity_type)], 2)
  return tuple(tags)


@dataclasses.dataclass(frozen=True)
class TagPreprocessor(fine_tuning.Preprocessor):
  """Makes rows of `TaggedSentence`s, labelled in IOB2 or in no scheme.

  Attributes:
    max_seq_length: int, maximum number of ids of a row.
    labels: tuple of str, as `labels_of` returns them.
    context: "document" to fill rows with the text around a sentence, or
      "sentence".
    doc_stride: int, pieces from one window of a long sentence to the next;
      None for half a window.
    token_unit: unit of the tagged tokens, one of `token_pieces.UNITS`.
    tag_scheme: scheme of the sentences, one of `tagging.SCHEMES`, all of which
      become IOB2, or `tagging.NO_SCHEME`.

  Raises:
    ValueError: max_seq_length is below 3.
  """

  max_seq_length: int
  labels: tuple[str, ...]
  context: str = "document"
  doc_stride: int | None = None
  token_unit: str = token_pieces.WORD
  tag_scheme: str = "IOB2"

  columns = {
    features.INPUT_IDS: fine_tuning.Column(),
    features.SEGMENT_IDS: fine_tuning.Column(),
    features.LABEL_IDS: fine_tuning.Column(padding=NONE),
    TOKEN_INDEX: fine_tuning.Column(padding=NONE, in_batch=False),
    EXAMPLE_INDEX: fine_tuning.Column(shape=(), in_batch=False),
  }

  def __post_init__(self):
    if self.max_seq_length < 3:
      raise ValueError(
        f"max_seq_length ({self.max_seq_length}) must be at least 3: two "
        "special tokens and one of the sentence."
      )

  @property
  def size(self):
    """Maximum number of pieces of a row, int."""
    return self.max_seq_length - 2

  @property
  def stride(self):
    """Pieces from one window to the next, int."""
    return self.doc_stride or max(1, self.size // 2)

  def texts(self, example):
    """Returns the sentence."""
    between = " " if self.token_unit == token_pieces.WORD else ""
    return [between.join(example.tokens)]

  def make_rows(self, examples, tokenizer, counts):
    """Yields the rows of each sentence; see `Preprocessor`."""
    pieces = token_pieces.tokenize(
      tokenizer, [example.tokens for example in examples], self.token_unit
    )
    sentences = [
      _Sentence(
        example.tokens, of_tokens, self._label_ids(example, of_tokens, counts)
      )
      for example, of_tokens in zip(examples, pieces, strict=True)
    ]
    num_cut = sum(len(s.ids) > self.size for s in sentences)
    num_empty = sum(s.num_empty for s in sentences)
    fine_tuning.add_counts(
      counts,
      {
        "sentences cut into windows": num_cut,
        "tokens without pieces": num_empty,
      },
    )
    slices = self._windows(sentences)
    for start, end in _documents(examples, self.context):
      ids = np.concatenate([s.ids for s in sentences[start:end]])
      first = 0
      for index in range(start, end):
        sentence = sentences[index]
        for window in slices[index]:
          row = self._row(sentence, ids, first, window, tokenizer)
          yield {**row, EXAMPLE_INDEX: np.int32(index)}
        first += len(sentence.ids)

  def describe(self):
    """Returns the options, the stride as a number."""
    return super().describe() | {"doc_stride": self.stride}

  def describe_use(self):
    """Returns what the tokens are, of which texts are to be made."""
    return {"trained_on": token_pieces.trained_on(self.token_unit)}

  def _label_ids(self, example, pieces, counts):
    """Returns label ids, int32 [tokens]; -1, without loss, for unknown tags.

    Args:
      example: `TaggedSentence`.
      pieces: list of arrays, those of each token.
      counts: as of `make_rows`.
    """
    if example.tags is None:
      return np.full(len(example.tokens), NONE, np.int32)
    has_scheme = self.tag_scheme != tagging.NO_SCHEME
    tags = tagging.convert(
      example.tags, "IOB2" if has_scheme else tagging.NO_SCHEME
    )
    ids = {label: index for index, label in enumerate(self.labels)}
    for tag in tags:
      if tag not in ids:
        counts[f"tokens labelled {tag}, which training has not"] += 1
    return np.array([ids.get(tag, NONE) for tag in tags], np.int32)

  def _windows(self, sentences):
    """Returns a list of windows for each sentence.

    A window is (start, token index int32 [pieces]). The token index is -1
    where another window gives the token more context.
    """
    lengths = tf.constant([len(s.ids) for s in sentences], tf.int64)
    sizes = tf.fill(tf.shape(lengths), tf.constant(self.size, tf.int64))
    spans = windows.slide(lengths, sizes, self.stride)
    _, is_best = windows.best_windows(spans, lengths)
    of_windows = np.split(
      is_best.flat_values.numpy(), is_best.row_splits.numpy()[1:-1]
    )
    slices = [[] for _ in sentences]
    for text, start, end, counts in zip(
      *(x.numpy().tolist() for x in spans[:3]), of_windows, strict=True
    ):
      if start < end:  # An empty sentence has no row.
        token_index = sentences[text].token_index[start:end]
        slices[text].append((start, np.where(counts, token_index, NONE)))
    return slices

  def _row(self, sentence, document, first, window, tokenizer):
    """Returns the row of a window and the text around it.

    Args:
      sentence: `_Sentence`.
      document: int32 [pieces], the whole document.
      first: int, position of the sentence in the document.
      window: (start, token index), one of `_windows`.
      tokenizer: as `make_rows`.
    """
    framing = tokenizer.framing
    start, counted = window
    left, right = _extend(
      first + start, first + start + len(counted), self.size, len(document)
    )
    length = right - left + tokenizer.num_special_tokens()
    place = framing.num_before + first + start - left
    special = tokenizer.vocabulary.frame_ids(framing)
    parts = {role: [index] for role, index in special.items()}
    parts["A"] = document[left:right]
    template = framing.template(1)
    segment_ids = [[segment] * len(parts[name]) for name, segment in template]
    return {
      features.INPUT_IDS: np.concatenate(
        [parts[name] for name, _ in template]
      ).astype(np.int32),
      features.SEGMENT_IDS: np.concatenate(segment_ids).astype(np.int32),
      **self._of_window(sentence, window, place, length),
    }

  def _of_window(self, sentence, window, place, length):
    """Returns the columns of labels and tokens of a row.

    Args:
      sentence: `_Sentence`.
      window: as `_row`.
      place: int, of the first piece of the window in the row.
      length: int, of the row.
    """
    _, counted = window
    token_index = np.full(length, NONE, np.int32)
    token_index[place : place + len(counted)] = counted
    label_ids = sentence.label_ids[token_index].astype(np.int32)
    label_ids[token_index == NONE] = NONE
    return {features.LABEL_IDS: label_ids, TOKEN_INDEX: token_index}


class _Sentence:
  """A tagged sentence, tokenized.

  Args:
    tokens: tuple of str.
    pieces: list of int32 [pieces], one array per token.
    label_ids: int32 [tokens, ...].

  Attributes:
    label_ids: as given.
    ids: int32 [n], the pieces of all tokens.
    token_index: int32 [n], the index of the token at its first piece, else -1.
    num_empty: int, number of tokens without pieces, which only blanks have to
      be.
  """

  def __init__(self, tokens, pieces, label_ids):
    self.label_ids = label_ids
    lengths = np.array([len(each) for each in pieces])
    self.ids = np.concatenate(pieces)
    self.token_index = np.full(len(self.ids), NONE, np.int32)
    has_pieces = lengths > 0
    starts = np.cumsum(lengths) - lengths
    self.token_index[starts[has_pieces]] = np.flatnonzero(has_pieces)
    is_blank = np.array([token.isspace() for token in tokens], np.bool_)
    self.num_empty = int(np.sum(~(has_pieces | is_blank)))


def _documents(examples, context):
  """Yields (start, end) of the sentences of each document."""

  def document_of(index):
    document = examples[index].document
    is_alone = context == "sentence" or document is None
    return index if is_alone else document

  for _, members in itertools.groupby(range(len(examples)), document_of):
    members = list(members)
    yield members[0], members[-1] + 1


def _extend(start, end, size, length):
  """Returns [start, end) extended evenly to `size` positions of [0, length).

  Near an end of the document, the other side gets the rest of the room.
  """
  room = size - (end - start)
  left = min(start, room // 2)
  right = min(length - end, room - left)
  left = min(start, room - right)
  return start - left, end + right
