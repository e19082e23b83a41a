"""From documents to training instances, without writing anything.

An instance is where its segments A and B lie in the token ids of a chunk;
nothing is copied before it is written. All randomness comes from a
`random.Random` that the caller seeds, so that the same chunk gives the same
instances anywhere.

Axes: T tokens, S sentences and D documents of a chunk.
"""

import bisect
import dataclasses
import itertools
from typing import NamedTuple

import numpy as np

MIN_SEQ_LENGTH = 5  # [CLS] A [SEP] B [SEP]
_SENTENCES_PER_CALL = 4096


class Instance(NamedTuple):
  """Segments A = ids[a_start:a_stop] and B, likewise, of one instance.

  Without sentence pairs B is empty. `is_random_next` is 1 where B was drawn
  from another document.
  """

  a_start: int
  a_stop: int
  b_start: int
  b_stop: int
  is_random_next: int


@dataclasses.dataclass(frozen=True)
class TokenizedChunk:
  """The token ids of documents, one after the other.

  Attributes:
    ids: int32 [T].
    sentence_splits: int64 [S + 1], where sentences begin in `ids`.
    document_splits: int64 [D + 1], where documents begin among the sentences.
    num_own: int, the first so many documents give instances; the others only
      serve as a source of random next sentences.
  """

  ids: np.ndarray
  sentence_splits: np.ndarray
  document_splits: np.ndarray
  num_own: int


def tokenize(own_documents, other_documents, tokenizer, num_others):
  """Returns the `TokenizedChunk` of documents.

  Sentences without a token are left out, and so are documents without a
  sentence.

  Args:
    own_documents: iterable of lists of str.
    other_documents: iterable of lists of str, read only as far as needed to
      have `num_others` documents besides any one of them.
    tokenizer: WordPieceTokenizer.
    num_others: int.
  """
  parts = [*_tokenize_all(own_documents, tokenizer)]
  num_own = len(parts)
  for document in other_documents:
    if len(parts) > num_others:
      break
    parts += _tokenize_all([document], tokenizer)
  return TokenizedChunk(
    ids=np.concatenate([np.zeros(0, np.int32), *(ids for ids, _ in parts)]),
    sentence_splits=_splits(
      itertools.chain(*(lengths for _, lengths in parts))
    ),
    document_splits=_splits(len(lengths) for _, lengths in parts),
    num_own=num_own,
  )


def make_pairs(chunk, max_seq_length, short_seq_prob, dupe_factor, rng):
  """Returns the instances of sentence pairs, in the order of the text.

  Each takes sentences until the target length is reached: `max_seq_length`
  less the special tokens or, with probability `short_seq_prob`, a random
  length. They are split at random into A and B; with probability 0.5, B is
  replaced by sentences of another document and its own are used again. Both are
  cut to fit, a token at a time off the longer one, at a random end.

  Differs from the original: random next sentences come from documents of the
  same chunk, not of the whole corpus, which need not fit into memory; the
  target is drawn per instance, as the paper's text has it; and of any few
  instances half are random, those included that have no next sentence to
  choose (see `_Coin`).

  Args:
    chunk: TokenizedChunk of two documents or more.
    max_seq_length: int, longest [CLS] A [SEP] B [SEP].
    short_seq_prob: float.
    dupe_factor: int, how many times every document is made into instances.
    rng: random.Random.

  Returns:
    list of Instance.

  Raises:
    ValueError: there is no other document to draw from.

  Source: Devlin et al. 2019, appendix A.2; google-research/bert,
  create_pretraining_data.py.
  """
  num_documents = len(chunk.document_splits) - 1
  if chunk.num_own and num_documents < 2:
    raise ValueError(one_document_message())
  offsets = chunk.sentence_splits.tolist()
  splits = chunk.document_splits.tolist()
  max_tokens = max_seq_length - 3
  instances = []
  coin = _Coin(rng)
  for document in _repeated(range(chunk.num_own), dupe_factor):
    start, stop = splits[document], splits[document + 1]
    while start < stop:
      target = _draw_target(max_tokens, short_seq_prob, rng)
      end = _reach(offsets, start, stop, target)
      is_free = end - start > 1
      middle = start + (rng.randrange(1, end - start) if is_free else 1)
      is_random = coin.toss() if is_free else coin.heads()
      if is_random:
        b_start, b_end = _random_sentences(
          offsets,
          splits,
          document,
          target - (offsets[middle] - offsets[start]),
          rng,
        )
        next_start = middle
      else:
        b_start, b_end = middle, end
        next_start = end
      a = offsets[start], offsets[middle]
      b = offsets[b_start], offsets[b_end]
      instances.append(
        Instance(*_truncate_pair(*a, *b, max_tokens, rng), int(is_random))
      )
      start = next_start
  return instances


def make_singles(chunk, max_seq_length, short_seq_prob, dupe_factor, rng):
  """Returns the instances of one segment, in the order of the text.

  Each takes as many whole sentences as fit into the target length (see
  `make_pairs`); a sentence longer than that is continued in the next instance.
  No token is lost.

  Args:
    chunk: TokenizedChunk.
    max_seq_length: int, longest [CLS] A [SEP].
    short_seq_prob: float.
    dupe_factor: int, how many times every document is made into instances.
    rng: random.Random.

  Returns:
    list of Instance with an empty B.

  Source: Liu et al. 2019, section 4.2, "DOC-SENTENCES".
  """
  offsets = chunk.sentence_splits.tolist()
  splits = chunk.document_splits.tolist()
  instances = []
  for document in _repeated(range(chunk.num_own), dupe_factor):
    start, stop = offsets[splits[document]], offsets[splits[document + 1]]
    while start < stop:
      target = _draw_target(max_seq_length - 2, short_seq_prob, rng)
      whole = offsets[bisect.bisect_right(offsets, start + target) - 1]
      end = min(whole if whole > start else start + target, stop)
      instances.append(Instance(start, end, end, end, 0))
      start = end
  return instances


def one_document_message():
  """Returns what to say where random next sentences cannot be drawn."""
  return (
    "the corpus is a single document, so no sentence of another one can be "
    "drawn for next sentence prediction: separate documents by a blank line "
    "(prose: by three), add files, or turn pairs off (--nouse_next_sentence)."
  )


def sequences(chunk, instances, cls_id, sep_id, use_pairs):
  """Yields the token ids of instances, list of int: [CLS] A [SEP] B [SEP].

  Args:
    chunk: TokenizedChunk.
    instances: iterable of Instance.
    cls_id: int.
    sep_id: int.
    use_pairs: bool; otherwise [CLS] A [SEP].
  """
  ids = chunk.ids
  for a_start, a_stop, b_start, b_stop, _ in instances:
    sequence = [cls_id, *ids[a_start:a_stop].tolist(), sep_id]
    if use_pairs:
      sequence += ids[b_start:b_stop].tolist()
      sequence.append(sep_id)
    yield sequence


def _tokenize_all(documents, tokenizer):
  """Yields (ids int32 [t], list of the lengths of its sentences) per document.

  Sentences are tokenized thousands at a time, whatever document they are of.
  """
  documents = iter(documents)
  while True:
    batch = []
    num_sentences = 0
    for document in documents:
      batch.append(document)
      num_sentences += len(document)
      if num_sentences >= _SENTENCES_PER_CALL:
        break
    if not batch:
      return
    pieces = tokenizer.tokenize(list(itertools.chain(*batch)))
    ids = pieces.flat_values.numpy()
    splits = pieces.row_splits.numpy()
    end = 0
    for document in batch:
      start, end = end, end + len(document)
      lengths = np.diff(splits[start : end + 1])
      lengths = lengths[lengths > 0]
      if lengths.size:
        yield ids[splits[start] : splits[end]], lengths.tolist()


def _repeated(items, times):
  return itertools.chain.from_iterable(itertools.repeat(items, times))


def _splits(lengths):
  return np.cumsum([0, *lengths], dtype=np.int64)


class _Coin:
  """A coin that shows heads for half of the tosses, not only on average.

  Tosses are drawn, without putting back, from a few of each side. Heads that
  are due for another reason are drawn from the same ones: otherwise instances
  that have no next sentence would bring the share of random ones to 53-57 %.
  """

  _FEW = 8

  def __init__(self, rng):
    self._rng = rng
    self._heads = self._tails = 0

  def toss(self):
    """Returns whether it shows heads."""
    if not self._heads + self._tails:
      self._add()
    if self._rng.randrange(self._heads + self._tails) < self._heads:
      return self.heads()
    self._tails -= 1
    return False

  def heads(self):
    """Returns True: heads, whatever the coin would have shown."""
    if not self._heads:
      self._add()
    self._heads -= 1
    return True

  def _add(self):
    self._heads += self._FEW
    self._tails += self._FEW


def _draw_target(max_tokens, short_seq_prob, rng):
  if rng.random() < short_seq_prob:
    return rng.randint(min(2, max_tokens), max_tokens)
  return max_tokens


def _reach(offsets, start, stop, target):
  """Returns the first sentence boundary `target` tokens after `start`.

  At least one sentence on, at most `stop`.
  """
  return bisect.bisect_left(offsets, offsets[start] + target, start + 1, stop)


def _random_sentences(offsets, splits, document, target, rng):
  """Returns (start, end), sentences of another document than `document`."""
  other = rng.randrange(len(splits) - 2)
  other += other >= document
  start = rng.randrange(splits[other], splits[other + 1])
  return start, _reach(offsets, start, splits[other + 1], target)


def _truncate_pair(a_start, a_stop, b_start, b_stop, max_tokens, rng):
  """Returns the four bounds, cut so that A and B have `max_tokens` at most."""
  a_length, b_length = a_stop - a_start, b_stop - b_start
  if a_length + b_length <= max_tokens:
    return a_start, a_stop, b_start, b_stop
  # What is left when tokens go one by one off the longer segment, off B where
  # both are equally long.
  a_kept, b_kept = max_tokens - max_tokens // 2, max_tokens // 2
  if b_length <= b_kept:
    a_kept, b_kept = max_tokens - b_length, b_length
  elif a_length <= a_kept:
    a_kept, b_kept = a_length, max_tokens - a_length
  a_start += _front_share(a_length - a_kept, rng)
  b_start += _front_share(b_length - b_kept, rng)
  return a_start, a_start + a_kept, b_start, b_start + b_kept


def _front_share(removed, rng):
  """Returns how many of `removed` tokens go off the front: a coin for each."""
  return rng.getrandbits(removed).bit_count() if removed else 0
