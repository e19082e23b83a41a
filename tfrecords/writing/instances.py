"""Training instances of tokenized documents.

An instance holds the places of its segments in the token ids of a chunk;
nothing is copied before it is written. packings.py cuts a chunk into instances.

Axes: T tokens, S sentences and D documents of a chunk.
"""

import dataclasses
import itertools
from typing import NamedTuple

import numpy as np
from etils import epy

# The flags of the scripts, which are told before TensorFlow is imported, are of
# the packings, which come here.
with epy.lazy_imports():
  from keras_bert_impl.tokenizers.graph import text_batches

_SENTENCES_PER_CALL = 4096


class Instance(NamedTuple):
  """One instance: its segments ids[start:stop] and its label.

  Attributes:
    segments: tuple of (start, stop); [SEP] follows each or, of text without
      end, all but the last, which may be empty.
    label: int, for pairs: 1 where the second segment is random or the two are
      swapped.
  """

  segments: tuple[tuple[int, int], ...]
  label: int = 0

  @property
  def num_tokens(self):
    """Number of its tokens, [CLS] and all [SEP] included."""
    return 1 + sum(stop - start + 1 for start, stop in self.segments)


@dataclasses.dataclass(frozen=True)
class TokenizedChunk:
  """The token ids of documents, one after the other.

  Attributes:
    ids: int32 [T].
    sentence_splits: int64 [S + 1], where sentences begin in `ids`.
    document_splits: int64 [D + 1], where documents begin among the sentences.
    num_own: int, number of documents, the first ones, that give instances; the
      others only serve as a source of random next sentences.
  """

  ids: np.ndarray
  sentence_splits: np.ndarray
  document_splits: np.ndarray
  num_own: int


def tokenize(
  own_documents, other_documents, tokenizer, num_others, sentence_prefix=""
):
  """Tokenizes documents into a `TokenizedChunk`.

  Sentences without tokens and documents without sentences are left out.

  Args:
    own_documents: iterable of lists of str.
    other_documents: iterable of lists of str, read only until there are
      `num_others` documents besides each one.
    tokenizer: as `tokenizers.load` returns it.
    num_others: int.
    sentence_prefix: str, put before every sentence but a document's first.
  """
  parts = [*_tokenize_all(own_documents, tokenizer, sentence_prefix)]
  num_own = len(parts)
  for document in other_documents:
    if len(parts) > num_others:
      break
    parts += _tokenize_all([document], tokenizer, sentence_prefix)
  return TokenizedChunk(
    ids=np.concatenate([np.zeros(0, np.int32), *(ids for ids, _ in parts)]),
    sentence_splits=_splits(
      itertools.chain(*(lengths for _, lengths in parts))
    ),
    document_splits=_splits(len(lengths) for _, lengths in parts),
    num_own=num_own,
  )


def sequences(chunk, rows, cls_id, sep_id, has_end=True):
  """Yields the token ids of rows, list of int: [CLS] A [SEP] B [SEP] ...

  Args:
    chunk: TokenizedChunk.
    rows: iterable of lists of Instance; one each, unless they are packed.
    cls_id: int; None where rows have no [CLS].
    sep_id: int.
    has_end: bool, whether [SEP] follows the last segment.
  """
  begin = [] if cls_id is None else [cls_id]
  for row in rows:
    sequence = []
    for segments, _ in row:
      sequence += begin
      for start, stop in segments:
        sequence += chunk.ids[start:stop].tolist()
        sequence.append(sep_id)
    yield sequence if has_end else sequence[:-1]


def sequence_ids(row):
  """Returns which text of a row each token is of, list of int from 1 on."""
  return [
    number
    for number, instance in enumerate(row, 1)
    for _ in range(instance.num_tokens)
  ]


def _tokenize_all(documents, tokenizer, sentence_prefix):
  """Yields (ids int32 [t], list of the lengths of its sentences) per document.

  Tokenizes thousands of sentences at a time, across documents.
  """
  documents = iter(documents)
  while True:
    batch = []
    num_sentences = 0
    for document in documents:
      batch.append(
        document[:1] + [sentence_prefix + text for text in document[1:]]
      )
      num_sentences += len(document)
      if num_sentences >= _SENTENCES_PER_CALL:
        break
    if not batch:
      return
    pieces = [
      tokenizer.tokenize(texts)
      for texts in text_batches.of_texts(itertools.chain(*batch))
    ]
    ids = np.concatenate([part.flat_values.numpy() for part in pieces])
    splits = _splits(
      itertools.chain(*(part.row_lengths().numpy() for part in pieces))
    )
    end = 0
    for document in batch:
      start, end = end, end + len(document)
      lengths = np.diff(splits[start : end + 1])
      lengths = lengths[lengths > 0]
      if lengths.size:
        yield ids[splits[start] : splits[end]], lengths.tolist()


def _splits(lengths):
  return np.cumsum([0, *lengths], dtype=np.int64)
