"""Merges symbols of words as byte-pair encoding does, in graph ops.

Axes: S symbols, T pieces, V tokens of the vocabulary.
"""

import numpy as np
import tensorflow as tf

# Rank of a pair that no merge joins.
_NO_MERGE = np.iinfo(np.int32).max
_NUM_CODES = 0x110000  # code points


class Merges(tf.Module):
  """The merges of a vocabulary.

  Args:
    vocabulary: `Vocabulary`.
  """

  def __init__(self, vocabulary):
    super().__init__(name="merges")
    self._vocab_size = vocabulary.size
    pairs = _pairs(vocabulary)
    self._ranks, self._merged = _merge_tables(vocabulary, pairs)
    self._rivals = None
    if _is_in_order(pairs):
      self._rivals = Rivals(vocabulary, pairs)

  def __call__(self, ids, rows):
    """Merges the symbols of words.

    In each step, every word merges all occurrences of its pair of lowest rank,
    the earliest in the list, and the pairs that have no rivals. Words without a
    pair to merge leave the loop. Where merges are not in order, a word merges
    one pair in each step.

    Args:
      ids: int32 [S], the ids of the symbols of all words.
      rows: int64 [S], the index of the word of each.

    Returns:
      (ids, firsts): int32 [T], the ids of the pieces and the first symbol of
      each.
    """
    size = tf.size(ids)
    done = [
      tf.TensorArray(
        tf.int32, 0, dynamic_size=True, infer_shape=False, element_shape=[None]
      )
      for _ in range(2)
    ]
    *_, done_ids, done_places = tf.while_loop(
      lambda step, ids, *_: tf.size(ids) > 0,
      self._merge_once,
      [0, ids, rows, tf.range(size), *done],
    )
    # id + 1 of each piece at the place of its first symbol, else 0.
    found = tf.scatter_nd(
      done_places.concat()[:, tf.newaxis], done_ids.concat() + 1, [size]
    )
    firsts = tf.cast(tf.where(found > 0)[:, 0], tf.int32)
    return tf.gather(found, firsts) - 1, firsts

  def _merge_once(self, step, ids, rows, places, done_ids, done_places):
    """Merges the pair of lowest rank in each word, and those without rivals.

    Args:
      step: int32 scalar.
      ids: int32 [T], pieces.
      rows: int64 [T], index of the word of each piece.
      places: int32 [T], the first symbol of each piece.
      done_ids: TensorArray, the ids of pieces of words that left the loop.
      done_places: TensorArray, their places.

    Returns:
      The same, where the merged piece is at the place of the left one of its
      pair and words that have no pair to merge are done.
    """
    ranks = self._ranks.lookup(_next_keys(ids, rows, self._vocab_size))
    best = tf.gather(tf.math.segment_min(ranks, rows), rows)
    is_done = best == _NO_MERGE
    lefts = tf.where((ranks == best) & ~is_done)[:, 0]
    if self._rivals:
      free = self._rivals(ids, ranks)
      lefts = tf.concat([_even_in_runs(lefts), free], 0)
    else:
      # The piece that it makes may go on before the same pair elsewhere.
      lefts = _first_of_rows(lefts, rows)
    is_left = tf.tensor_scatter_nd_update(
      tf.zeros_like(is_done),
      lefts[:, tf.newaxis],
      tf.ones_like(lefts, tf.bool),
    )
    merged = tf.gather(self._merged, tf.where(is_left, ranks, 0))
    ids = tf.where(is_left, merged, ids)
    done = tf.where(is_done)[:, 0]
    kept = tf.where(~(is_done | shift(is_left)))[:, 0]
    return (
      step + 1,
      *(tf.gather(x, kept) for x in (ids, rows, places)),
      done_ids.write(step, tf.gather(ids, done)),
      done_places.write(step, tf.gather(places, done)),
    )


class Rivals(tf.Module):
  """What may take a piece of a pair before the pair is merged.

  A pair without rivals of a lower rank can be merged at once, before other
  pairs of its word: no merge that comes first can reach its pieces.

  Args:
    vocabulary: `Vocabulary`.
    pairs: its merges, as of `_pairs`, in order: see `_is_in_order`.
  """

  def __init__(self, vocabulary, pairs):
    super().__init__(name="rivals")
    ids, tokens = vocabulary.ids, vocabulary.tokens
    self._firsts, self._lasts = (
      tf.constant(np.array([ord(t[place]) if t else 0 for t in tokens]))
      for place in (0, -1)
    )
    after, before = {}, {}
    for rank, (left, right) in enumerate(pairs):
      after.setdefault(ids[left] * _NUM_CODES + ord(right[0]), rank)
      before.setdefault(ids[right] * _NUM_CODES + ord(left[-1]), rank)
    self._after, self._before = map(_table, (after, before))

  def __call__(self, ids, ranks):
    """Returns the places of pairs that have none, int64 [pairs].

    Args:
      ids: int32 [T], pieces of words.
      ranks: int32 [T], of the pair of each with the next.
    """
    rivals = tf.minimum(tf.roll(ranks, 1, 0), tf.roll(ranks, -1, 0))
    places = tf.where(ranks < rivals)[:, 0]
    size = tf.size(ids, tf.int64)
    ids = tf.cast(ids, tf.int64)

    def at(shift):
      return tf.gather(ids, (places + shift) % size)

    after = at(1) * _NUM_CODES + tf.gather(self._firsts, at(2))
    before = at(0) * _NUM_CODES + tf.gather(self._lasts, at(-1))
    rivals = tf.minimum(self._after.lookup(after), self._before.lookup(before))
    return tf.boolean_mask(places, tf.gather(ranks, places) < rivals)


class Joins(tf.Module):
  """Where merges can join the characters of a text.

  Between other characters a text can be cut, and its parts merged alone.

  Args:
    vocabulary: `Vocabulary`.
  """

  def __init__(self, vocabulary):
    super().__init__(name="joins")
    ids, self._vocab_size = vocabulary.ids, vocabulary.size
    pairs = {
      (ids.get(left[-1], -1), ids.get(right[0], -1))
      for left, right in _pairs(vocabulary)
    }
    self._pairs = _table(
      {_pair_keys(*pair, self._vocab_size): 0 for pair in pairs}
    )

  def __call__(self, ids, rows):
    """Returns whether a merge can join each character and the next, bool [S].

    Args:
      ids: int32 [S], the ids of the characters of all texts, -1 for none.
      rows: int [S], the index of the text of each.
    """
    return self._pairs.lookup(_next_keys(ids, rows, self._vocab_size)) == 0


def _next_keys(ids, rows, vocab_size):
  """Returns the keys, int64 [T], of pieces with the next; -1 at row ends."""
  ids = tf.cast(ids, tf.int64)
  keys = _pair_keys(ids, tf.roll(ids, -1, 0), vocab_size)
  is_pair = rows == tf.concat([rows[1:], [-1]], 0)
  return tf.where(is_pair, keys, tf.constant(-1, tf.int64))


def _is_in_order(pairs):
  """Returns whether each piece is made before the pairs that it is in."""
  made = {left + right: rank for rank, (left, right) in enumerate(pairs)}
  return all(
    made.get(left, -1) < rank > made.get(right, -1)
    for rank, (left, right) in enumerate(pairs)
  )


def _pairs(vocabulary):
  """Returns the pairs of merges, list of (left, right)."""
  return [merge.split(" ") for merge in vocabulary.merges]


def _merge_tables(vocabulary, pairs):
  """Returns a lookup table (pair -> rank) and the merged id of each rank."""
  ids = vocabulary.ids
  ranks = {
    _pair_keys(ids[left], ids[right], vocabulary.size): rank
    for rank, (left, right) in enumerate(pairs)
  }
  merged = [ids[left + right] for left, right in pairs]
  return _table(ranks), tf.constant(np.array([*merged, 0], np.int32))


def _table(numbers):
  """Returns a lookup table of {key: number}, of `_NO_MERGE` for others."""
  # TensorFlow tables must not be empty: no key is less than -1.
  numbers = numbers or {-2: _NO_MERGE}
  return tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(
      np.array([*numbers], np.int64),
      np.array([*numbers.values()], np.int32),
    ),
    default_value=_NO_MERGE,
  )


def _pair_keys(left, right, vocab_size):
  """Returns a unique int64 for each pair of ids."""
  return left * vocab_size + right


def shift(values):
  """Returns bool [T] shifted right by one, with False in front."""
  return tf.concat([[False], values[:-1]], 0)


def _first_of_rows(places, rows):
  """Returns the first of some places, int64, in each row that has one."""
  rows = tf.gather(rows, places)
  return tf.boolean_mask(places, rows != tf.concat([[-1], rows[:-1]], 0))


def _even_in_runs(places):
  """Returns every other one of places in a row, int64, from the first.

  Pairs can overlap: "aaa" has "aa" twice, and only the first can be merged.
  """
  is_first = places - tf.roll(places, 1, 0) != 1
  run = tf.cumsum(tf.cast(is_first, tf.int32)) - 1
  starts = tf.gather(tf.boolean_mask(places, is_first), run)
  return tf.boolean_mask(places, (places - starts) % 2 == 0)
