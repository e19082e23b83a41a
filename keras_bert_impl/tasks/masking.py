"""Masks clean records for the masked-language-model objective, in the graph.

One code serves both uses: the writer calls it on batches of instances ("static"
masking), the reader on batches of clean records ("dynamic" masking).

Axes: B batch, L sequence length, P predictions per sequence, V vocabulary;
T the tokens and W the words of a whole batch, without padding.
"""

import numpy as np
import tensorflow as tf

from keras_bert_impl import choices, features
from keras_bert_impl.tasks import spans

_SPAN_LAWS = {"ngram": spans.ngram_law(), "span": spans.geometric_law()}

# Every draw names its algorithm: "auto_select" differs between devices.
_RNG = "philox"


class Masking:
  """Turns a batch of clean records into a batch of masked ones.

  Per instance min(P, max(1, round(n * masked_lm_prob))) ordinary tokens (all
  but [CLS] and [SEP]) are chosen, or all of them where there are fewer, n being
  the number of tokens with [CLS] and [SEP]. Each chosen token becomes [MASK],
  a random token or stays, drawn per token (policy "span": per span). The random
  token is drawn from the whole vocabulary, [PAD], [unused] and the special
  tokens included, as in the original. Shares of 1 and 0 make every chosen token
  [MASK], as ELECTRA's generator wants it.

  The policies:
    "token": tokens, uniformly.
    "whole_word": words (a piece and the "##" pieces that follow it) in random
      order, leaving out those that would exceed the number above.
    "ngram": spans of 1 to 3 words, n of them with a probability proportional
      to 1/n (ALBERT).
    "span": spans of 1 to 10 words, their number geometric with p = 0.2, 3.8 on
      average; a span becomes [MASK], random tokens or stays as a whole
      (SpanBERT).

  Spans lie inside a segment and never touch, and the last one is cut to the
  number above, in whole words: see `spans.choose`.

  Differs from the originals: a "##" piece after [SEP] begins a word instead of
  belonging to the word before [SEP]; where no word fits, the leading pieces of
  one are masked, where BERT's masks nothing and SpanBERT's always cuts words;
  and ALBERT's n-grams may touch and SpanBERT's spans overlap, whereas here
  every maximal run of chosen tokens is one span. Where a share of the tokens
  far above 15 % is to be predicted, that leaves some of it out.

  Source: Devlin et al. 2019, section 3.1 and appendix A.1;
  google-research/bert, create_pretraining_data.py,
  create_masked_lm_predictions; Lan et al. 2020, section 4.1; Joshi et al.
  2020, section 3.1.
  """

  def __init__(
    self,
    vocabulary,
    max_seq_length,
    max_predictions_per_seq=20,
    masked_lm_prob=0.15,
    masking_policy="token",
    mask_token_prob=0.8,
    random_token_prob=0.1,
  ):
    """Checks and stores the law of the masks.

    Args:
      vocabulary: Vocabulary of the records' ids.
      max_seq_length: int, L.
      max_predictions_per_seq: int, P.
      masked_lm_prob: float in (0, 1], share of the tokens to predict.
      masking_policy: one of `choices.MASKING_POLICIES`.
      mask_token_prob: float, share of the chosen tokens that become [MASK].
      random_token_prob: float, share of the chosen tokens that become a random
        token; the others stay as they are.

    Raises:
      ValueError: an argument is out of range.
    """
    _check_positive("max_seq_length", max_seq_length)
    _check_positive("max_predictions_per_seq", max_predictions_per_seq)
    if max_seq_length > 2**15:
      raise ValueError(
        f"max_seq_length ({max_seq_length}) must be at most {2**15}."
      )
    if not 0.0 < masked_lm_prob <= 1.0:
      raise ValueError(f"masked_lm_prob ({masked_lm_prob}) must be in (0, 1].")
    if masking_policy not in choices.MASKING_POLICIES:
      raise ValueError(
        f"masking_policy ({masking_policy!r}) must be one of"
        f" {', '.join(choices.MASKING_POLICIES)}."
      )
    if (
      min(mask_token_prob, random_token_prob) < 0.0
      or mask_token_prob + random_token_prob > 1.0 + 1e-6
    ):
      raise ValueError(
        f"mask_token_prob ({mask_token_prob}) and random_token_prob "
        f"({random_token_prob}) must not be negative and sum to at most 1."
      )
    self.vocabulary = vocabulary
    self.max_seq_length = max_seq_length
    self.max_predictions_per_seq = max_predictions_per_seq
    self.masking_policy = masking_policy
    self.mask_token_prob = mask_token_prob
    self.random_token_prob = random_token_prob
    # Python's round of float64 products, as in the original.
    self._num_to_predict = np.array(
      [
        min(max_predictions_per_seq, max(1, round(n * masked_lm_prob)))
        for n in range(max_seq_length + 1)
      ],
      np.int32,
    )

  def __call__(self, batch, seed):
    """Returns the masked batch: a pure function of `batch` and `seed`.

    Args:
      batch: dict of a batch of clean records: `input_ids` RaggedTensor of
        int32 or int64 [B, (n)], n <= L, and optionally `next_sentence_labels`
        [B, 1]. An empty row gives an example of padding only.
      seed: int32 [2].

    Returns:
      dict of int32 tensors (`masked_lm_weights` float32): `input_ids`,
      `input_mask`, `segment_ids` [B, L]; `masked_lm_positions` (ascending,
      then 0), `masked_lm_ids`, `masked_lm_weights` [B, P]; and
      `next_sentence_labels` [B, 1] where `batch` has it.

    Raises:
      InvalidArgumentError, when it runs: a row is longer than L.
    """
    ragged = tf.cast(batch[features.INPUT_IDS], tf.int32)
    ragged = ragged.with_row_splits_dtype(tf.int64)
    lengths = tf.cast(ragged.row_lengths(), tf.int32)
    check = tf.debugging.assert_less_equal(
      tf.reduce_max(lengths),
      self.max_seq_length,
      f"{features.INPUT_IDS} is longer than max_seq_length.",
    )
    with tf.control_dependencies([] if check is None else [check]):
      lengths = tf.identity(lengths)
    num_rows = ragged.shape[0]
    ids = ragged.to_tensor(
      self.vocabulary.pad_id, shape=[num_rows, self.max_seq_length]
    )  # [B, L]
    num_to_predict = tf.gather(self._num_to_predict, lengths)  # [B]
    key_seed, fate_seed, random_seed = tf.unstack(
      tf.random.split(seed, 3, alg=_RNG)
    )
    if self.masking_policy == "token":
      positions = self._choose_tokens(ids, lengths, num_to_predict, key_seed)
    elif self.masking_policy == "whole_word":
      positions = self._choose_words(ragged, num_to_predict, key_seed)
    else:
      positions = self._choose_spans(ids, lengths, num_to_predict, key_seed)
    masked = self._masked_inputs(ids, positions, fate_seed, random_seed)
    has_pairs = features.NEXT_SENTENCE_LABELS in batch
    masked.update(self._structure(ids, lengths, has_pairs))
    if has_pairs:
      masked[features.NEXT_SENTENCE_LABELS] = tf.cast(
        batch[features.NEXT_SENTENCE_LABELS], tf.int32
      )
    return masked

  def _is_special(self, ids):
    """Returns bool of the shape of `ids`: [CLS] or [SEP], never masked."""
    return (ids == self.vocabulary.cls_id) | (ids == self.vocabulary.sep_id)

  def _structure(self, ids, lengths, has_pairs):
    """Returns `input_mask` and `segment_ids`, int32 [B, L].

    Segment 1 is what follows the first [SEP], up to the end of the record,
    which is the second [SEP]. Without pairs all is segment 0, whatever
    documents its [SEP] separate.
    """
    column = tf.range(self.max_seq_length)[tf.newaxis]  # [1, L]
    valid = column < lengths[:, tf.newaxis]  # [B, L]
    input_mask = tf.cast(valid, tf.int32)
    if not has_pairs:
      return {
        features.INPUT_MASK: input_mask,
        features.SEGMENT_IDS: tf.zeros_like(input_mask),
      }
    first_sep = tf.reduce_min(
      tf.where(ids == self.vocabulary.sep_id, column, self.max_seq_length),
      axis=1,
      keepdims=True,
    )  # [B, 1]
    return {
      features.INPUT_MASK: input_mask,
      features.SEGMENT_IDS: tf.cast(valid & (column > first_sep), tf.int32),
    }

  def _choose_tokens(self, ids, lengths, num_to_predict, seed):
    """Returns the chosen positions, int32 [B, P], ascending, then L."""
    column = tf.range(self.max_seq_length)[tf.newaxis]  # [1, L]
    ordinary = (column < lengths[:, tf.newaxis]) & ~self._is_special(ids)
    num_ordinary = tf.reduce_sum(tf.cast(ordinary, tf.int32), axis=1)  # [B]
    chosen, is_chosen = _sample(
      num_ordinary,
      tf.minimum(num_to_predict, num_ordinary),
      self.max_predictions_per_seq,
      seed,
    )  # [B, P]
    # From "the k-th ordinary token of row b" to its position.
    row_start = tf.cumsum(num_ordinary, exclusive=True)[:, tf.newaxis]
    chosen = tf.where(is_chosen, row_start + chosen, 0)
    index = tf.where(tf.reshape(ordinary, [-1]))[:, 0]  # into B * L
    index = tf.concat([index, [0]], axis=0)  # there may be no ordinary token
    index = tf.cast(tf.gather(index, chosen), tf.int32)
    position = index % self.max_seq_length
    return _ascending(tf.where(is_chosen, position, self.max_seq_length))

  def _choose_words(self, ragged, num_to_predict, seed):
    """Returns the positions of the chosen words' pieces, as _choose_tokens."""
    words = self._words(ragged)
    keys = tf.random.stateless_uniform(
      tf.shape(words["start"]),
      seed,
      minval=None,
      maxval=None,
      dtype=tf.int64,
      alg=_RNG,
    )
    # Random key, position and length in one integer: one sort moves all three.
    keys = tf.bitwise.bitwise_and(keys, (2**31 - 1) * 2**32)
    keys += words["start"] * 2**16 + words["length"]  # [W]
    keys = tf.where(words["is_ordinary"], keys, -1)
    num_rows = ragged.shape[0]
    keys = tf.RaggedTensor.from_row_splits(
      keys, words["row_splits"], validate=False
    ).to_tensor(-1, shape=[num_rows, self.max_seq_length])  # [B, L]
    keys = tf.math.top_k(keys, self.max_seq_length).values
    start = tf.bitwise.bitwise_and(tf.bitwise.right_shift(keys, 16), 2**16 - 1)
    start = tf.cast(start, tf.int32)
    length = tf.cast(tf.bitwise.bitwise_and(keys, 2**16 - 1), tf.int32)
    length = tf.where(keys >= 0, length, 0)  # 0: no word
    length = _take_words(
      length, num_to_predict, 2 * self.max_predictions_per_seq
    )  # [B, L]
    taken = tf.where(length > 0)  # [chosen words, 2]
    start = tf.gather_nd(start, taken)
    pieces = tf.ragged.range(start, start + tf.gather_nd(length, taken))
    positions = tf.RaggedTensor.from_row_lengths(
      pieces.values, tf.reduce_sum(length, axis=1), validate=False
    ).to_tensor(
      self.max_seq_length, shape=[num_rows, self.max_predictions_per_seq]
    )
    return _ascending(positions)

  def _choose_spans(self, ids, lengths, num_to_predict, seed):
    """Returns the positions of the chosen spans, as _choose_tokens."""
    valid = tf.range(self.max_seq_length) < lengths[:, tf.newaxis]  # [B, L]
    is_ordinary = valid & ~self._is_special(ids)
    after_ordinary = tf.pad(is_ordinary[:, :-1], [[0, 0], [1, 0]])
    continues = tf.gather(self.vocabulary.is_continuation, ids)
    chosen = spans.choose(
      ~(continues & is_ordinary & after_ordinary),
      is_ordinary,
      num_to_predict,
      _SPAN_LAWS[self.masking_policy],
      self.max_predictions_per_seq,
      seed,
    )
    rank = tf.range(1, self.max_predictions_per_seq + 1)[tf.newaxis]
    return spans.find(chosen, tf.tile(rank, [tf.shape(ids)[0], 1]))

  def _words(self, ragged):
    """Returns the words of all rows, one after the other.

    Args:
      ragged: RaggedTensor int32 [B, (n)].

    Returns:
      dict of `start` int64 [W], the position of the word's first piece in its
      row; `length` int64 [W], its number of pieces; `is_ordinary` bool [W],
      false for [CLS] and [SEP], which are words of their own; `row_splits`
      int64 [B + 1], the words' partition into rows.
    """
    flat = ragged.values  # [T]
    position = tf.ragged.range(ragged.row_lengths()).values
    special = self._is_special(flat)
    after_special = tf.concat([[True], special[:-1]], 0)[: tf.size(flat)]
    begins = (
      ~tf.gather(self.vocabulary.is_continuation, flat)
      | after_special
      | (position == 0)
    )  # [T]
    first = tf.where(begins)[:, 0]  # [W], index into T
    num_tokens = tf.size(flat, out_type=tf.int64)
    end = tf.concat([first[1:], [num_tokens]], 0)[: tf.size(first)]
    words_before = tf.concat(
      [[0], tf.cumsum(tf.cast(begins, tf.int64))], 0
    )  # [T + 1]
    return {
      "start": tf.gather(position, first),
      "length": end - first,
      "is_ordinary": ~tf.gather(special, first),
      "row_splits": tf.gather(words_before, ragged.row_splits),
    }

  def _masked_inputs(self, ids, positions, fate_seed, random_seed):
    """Replaces the tokens at `positions`.

    Args:
      ids: int32 [B, L].
      positions: int32 [B, P], L where there is nothing to predict.
      fate_seed: int32 [2], decides between [MASK], a random token and neither.
      random_seed: int32 [2], of the random tokens.

    Returns:
      dict of `input_ids` and the three `masked_lm_` features.
    """
    is_prediction = positions < self.max_seq_length
    positions = tf.where(is_prediction, positions, 0)
    shape = tf.shape(positions)
    originals = tf.gather(ids, positions, batch_dims=1)  # [B, P]
    fate = tf.random.stateless_uniform(shape, fate_seed, alg=_RNG)
    if self.masking_policy == "span":
      first, _ = spans.runs(positions, is_prediction)
      fate = tf.gather(fate, first, batch_dims=1)
    random_ids = tf.random.stateless_uniform(
      shape, random_seed, 0, self.vocabulary.size, dtype=tf.int32, alg=_RNG
    )
    replaced = tf.where(
      fate < self.mask_token_prob + self.random_token_prob,
      random_ids,
      originals,
    )
    replaced = tf.where(
      fate < self.mask_token_prob, self.vocabulary.mask_id, replaced
    )
    # A sum of differences takes a third of the time of a scatter.
    change = tf.where(is_prediction, replaced - originals, 0)
    row = tf.range(shape[0])[:, tf.newaxis]  # [B, 1]
    change = tf.math.unsorted_segment_sum(
      tf.reshape(change, [-1]),
      tf.reshape(row * self.max_seq_length + positions, [-1]),
      tf.size(ids),
    )
    return {
      features.INPUT_IDS: ids + tf.reshape(change, tf.shape(ids)),
      features.MASKED_LM_POSITIONS: positions,
      features.MASKED_LM_IDS: tf.where(is_prediction, originals, 0),
      features.MASKED_LM_WEIGHTS: tf.cast(is_prediction, tf.float32),
    }


def span_boundaries(positions, weights):
  """Returns the visible neighbours of the span that each prediction is in.

  Args:
    positions: int32 or int64 [B, P], `masked_lm_positions`.
    weights: float32 [B, P], `masked_lm_weights`.

  Returns:
    int32 [B, P, 2]: positions of the token before and of the token after the
    run of consecutive predictions; 0, 0 where the weight is 0.

  Source: Joshi et al. 2020, section 3.2.
  """
  positions = tf.cast(positions, tf.int32)
  is_prediction = weights > 0
  first, last = spans.runs(positions, is_prediction)
  outer = tf.stack(
    [
      tf.gather(positions, first, batch_dims=1) - 1,
      tf.gather(positions, last, batch_dims=1) + 1,
    ],
    axis=2,
  )
  return tf.where(is_prediction[:, :, tf.newaxis], outer, 0)


def _check_positive(name, value):
  if value < 1:
    raise ValueError(f"{name} ({value}) must be at least 1.")


def _sample(population, size, max_size, seed):
  """Draws in each row a set of `size` different numbers, all sets alike likely.

  Floyd's algorithm, all draws at once (top_k over random keys of all tokens
  takes three times as long): draw k is uniform in [0, last_k], where
  last_k = population - size + k; if it was drawn before, last_k, which cannot
  have been, takes its place.

  Args:
    population: int32 [B], numbers are drawn from [0, population).
    size: int32 [B], at most population.
    max_size: int, P.
    seed: int32 [2].

  Returns:
    int32 [B, P], the numbers in no useful order; bool [B, P], true for the
    first `size`.

  Source: Bentley and Floyd 1987, "A sample of brilliance".
  """
  k = tf.range(max_size)[tf.newaxis]  # [1, P]
  is_drawn = k < size[:, tf.newaxis]
  lowest_last = (population - size)[:, tf.newaxis]  # [B, 1]
  last = lowest_last + k  # [B, P]
  uniform = tf.random.stateless_uniform(tf.shape(last), seed, alg=_RNG)
  draw = tf.cast(uniform * tf.cast(last + 1, tf.float32), tf.int32)
  # A number was drawn before if an earlier draw gave it, or if it is the last
  # of an earlier draw (its owner) that gave way to it.
  same = draw[:, :, tf.newaxis] == draw[:, tf.newaxis, :]  # [B, P, P]
  earlier = tf.constant(np.tri(max_size, k=-1, dtype=np.bool_))
  repeated = tf.reshape(tf.reduce_any(same & earlier, axis=2), [-1])  # [B * P]
  owner = draw - lowest_last
  has_owner = tf.reshape((owner >= 0) & (owner < k), [-1])
  row_start = tf.range(tf.shape(draw)[0])[:, tf.newaxis] * max_size
  owner = tf.where(has_owner, tf.reshape(row_start + owner, [-1]), 0)

  def follow(before, unused_changed):
    after = before | (has_owner & tf.gather(before, owner))
    return after, tf.reduce_any(after != before)

  # Each round follows chains of owners by one link; few are longer than one.
  repeated, _ = tf.while_loop(
    lambda unused_repeated, changed: changed, follow, (repeated, True)
  )
  repeated = tf.reshape(repeated, tf.shape(draw))
  return tf.where(repeated, last, draw), is_drawn


def _ascending(values):
  """Returns `values` int32 [B, P], each row sorted ascending."""
  return -tf.math.top_k(-values, values.shape[1]).values


def _take_words(length, budget, num_likely):
  """Takes words from the left, leaving out each that no longer fits.

  Args:
    length: int32 [B, W], pieces of the words in the order of taking; 0 = none.
    budget: int32 [B], pieces to take.
    num_likely: int, words that are nearly always enough.

  Returns:
    int32 [B, W], the pieces taken of each word: all or none; where no word of
    a row fits, `budget` pieces of its first one.
  """
  taken, remaining = _take_fitting(length[:, :num_likely], budget)
  # Nothing remains in nearly every batch: this part costs its first condition.
  taken_later, remaining = _take_fitting(length[:, num_likely:], remaining)
  taken = tf.concat([taken, taken_later], axis=1)
  nothing = (remaining == budget)[:, tf.newaxis]  # [B, 1]
  first = tf.minimum(length[:, :1], budget[:, tf.newaxis])
  rest = tf.zeros_like(taken[:, 1:])
  return tf.where(nothing, tf.concat([first, rest], axis=1), taken)


def _take_fitting(length, budget):
  """Returns what _take_words does without its exception, and what remains.

  Args:
    length: int32 [B, W].
    budget: int32 [B].

  Returns:
    int32 [B, W], pieces taken of each word; int32 [B], pieces still to take.
  """

  def may_fit(length, remaining):
    return (length > 0) & (length <= remaining[:, tf.newaxis])

  def unfinished(open_length, remaining, unused_taken):
    return tf.reduce_any(may_fit(open_length, remaining))

  def take_until_one_does_not_fit(open_length, remaining, taken):
    # Words too long for what remains will never fit: closing them lets the
    # cumulative sum run on to the next that does not fit. Rows need about as
    # many rounds as there are different lengths.
    open_length = tf.where(may_fit(open_length, remaining), open_length, 0)
    reaches = tf.cumsum(open_length, axis=1)
    fits = reaches <= remaining[:, tf.newaxis]
    now = tf.where(fits, open_length, 0)
    return (
      open_length - now,
      remaining - tf.reduce_sum(now, axis=1),
      taken + now,
    )

  _, remaining, taken = tf.while_loop(
    unfinished,
    take_until_one_does_not_fit,
    (length, budget, tf.zeros_like(length)),
  )
  return taken, remaining
