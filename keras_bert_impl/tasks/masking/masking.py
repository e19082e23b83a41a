"""Masks clean records for the masked-language-model objective, in the graph.

The same code serves both the writer, on batches of instances ("static"
masking), and the reader, on batches of clean records ("dynamic" masking).

Axes: B batch, L sequence length, P predictions per sequence.
"""

import dataclasses
import functools

import numpy as np
import tensorflow as tf

from keras_bert_impl import choices, features
from keras_bert_impl.tasks.masking import (
  denoising,
  masked_contexts,
  masked_spans,
  masked_tokens,
  masked_words,
)

_WORDS_OF_A_SPAN = {
  "ngram": masked_spans.ngram_shares(),
  "span": masked_spans.geometric_shares(),
}


def make(vocabulary, max_seq_length, **values):
  """Returns the `Masking` or the `denoising.Noise` of a policy.

  Args:
    vocabulary: `Vocabulary` of the records' ids.
    max_seq_length: int, most tokens of a record.
    **values: other attributes of `Masking`, masking_policy among them.

  Raises:
    ValueError: as `denoising.make`.
  """
  if values["masking_policy"] in choices.NOISES:
    return denoising.make(vocabulary, max_seq_length, **values)
  return Masking(vocabulary, max_seq_length, **values)


@dataclasses.dataclass(frozen=True, eq=False)
class Masking:
  """Masks a batch of clean records.

  Per instance min(P, max(1, round(n * masked_lm_prob))) ordinary tokens (all
  but [CLS] and [SEP]) are chosen, or all of them if there are fewer; n counts
  the tokens with [CLS] and [SEP]. Each chosen token becomes [MASK],
  a random token or stays, drawn per token (policy "span": per span). The random
  token is drawn from the whole vocabulary, including [PAD], [unused] and the
  special tokens, as in the original. Shares of 1 and 0 make every chosen token
  [MASK], as for ELECTRA's generator.

  The policies:
    "token": tokens, uniformly.
    "whole_word": words (a piece and the "##" pieces that follow it) in random
      order, leaving out those that would exceed the number above.
    "ngram": spans of 1 to 3 words, n of them with a probability proportional
      to 1/n (ALBERT).
    "span": spans of 1 to 10 words, their number geometric with p = 0.2, 3.8 on
      average; a span becomes [MASK], random tokens or stays as a whole
      (SpanBERT).
    "context": spans of 1 to 5 words, one in each context of as many tokens as
      the share to predict makes it (XLNet); see `masked_contexts`.

  Other spans stay inside a segment and never touch, and the last one is cut to
  the number above, in whole words: see `masked_spans.choose`.

  Differs from the originals: a "##" piece after [SEP] begins a word instead of
  belonging to the word before [SEP]; where no word fits, the leading pieces of
  one are masked, where BERT's masks nothing and SpanBERT's always cuts words;
  and ALBERT's n-grams may touch and SpanBERT's spans overlap, whereas here
  every maximal run of chosen tokens is one span. If far more than 15 % of the
  tokens are to be predicted, fewer are, because spans must not touch.

  Attributes:
    vocabulary: Vocabulary of the records' ids.
    max_seq_length: int, L.
    max_predictions_per_seq: int, P.
    masked_lm_prob: float, share of the tokens to predict.
    masking_policy: one of `choices.MASKING_POLICIES`.
    mask_token_prob: float, share of the chosen tokens that become [MASK].
    random_token_prob: float, share of the chosen tokens that become a random
      token; the others stay as they are.

  `tfrecords.masking_config` says which values they may have.

  Source: Devlin et al. 2019, section 3.1 and appendix A.1;
  google-research/bert, create_pretraining_data.py,
  create_masked_lm_predictions; Lan et al. 2020, section 4.1; Joshi et al.
  2020, section 3.1.
  """

  vocabulary: object
  max_seq_length: int
  max_predictions_per_seq: int = 20
  masked_lm_prob: float = 0.15
  masking_policy: str = "token"
  mask_token_prob: float = 0.8
  random_token_prob: float = 0.1

  def __call__(self, batch, seed):
    """Returns the masked batch: a pure function of `batch` and `seed`.

    Args:
      batch: dict of a batch of clean records: `input_ids` RaggedTensor of
        int32 or int64 [B, (n)], n <= L, and optionally `next_sentence_labels`
        [B, 1] and `sequence_ids` like `input_ids`. An empty row gives an
        example of padding only.
      seed: int32 [2].

    Returns:
      dict of int32 tensors (`masked_lm_weights` float32): `input_ids`,
      `input_mask`, `segment_ids` [B, L]; `masked_lm_positions` (ascending,
      then 0), `masked_lm_ids`, `masked_lm_weights` [B, P]; and
      `next_sentence_labels` [B, 1] and `sequence_ids` [B, L] where `batch` has
      them.

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
    num_to_predict = tf.gather(self._numbers_to_predict(), lengths)  # [B]
    key_seed, action_seed, random_seed = masked_tokens.split(seed, 3)
    positions = self._choose(ragged, ids, num_to_predict, key_seed)
    masked = self._masked_inputs(ids, positions, action_seed, random_seed)
    has_pairs = features.NEXT_SENTENCE_LABELS in batch
    masked.update(self._structure(ids, lengths, has_pairs))
    if has_pairs:
      masked[features.NEXT_SENTENCE_LABELS] = tf.cast(
        batch[features.NEXT_SENTENCE_LABELS], tf.int32
      )
    if features.SEQUENCE_IDS in batch:
      masked[features.SEQUENCE_IDS] = tf.cast(
        batch[features.SEQUENCE_IDS].to_tensor(shape=ids.shape), tf.int32
      )
    return masked

  def _numbers_to_predict(self):
    """Returns int32 [L + 1], the number of predictions of each length."""
    # Python's round of float64 products, as in the original.
    rounded = [
      round(n * self.masked_lm_prob) for n in range(self.max_seq_length + 1)
    ]
    return np.clip(rounded, 1, self.max_predictions_per_seq).astype(np.int32)

  def _is_special(self, ids):
    """Returns bool of the shape of `ids`: [CLS] or [SEP], never masked."""
    role_ids = self.vocabulary.role_ids
    is_special = [ids == role_ids[r] for r in ("cls", "sep") if r in role_ids]
    return functools.reduce(
      tf.logical_or, is_special, tf.zeros_like(ids, tf.bool)
    )

  def _structure(self, ids, lengths, has_pairs):
    """Returns `input_mask` and `segment_ids`, int32 [B, L].

    Segment 1 begins after the first [SEP] and ends with the record, at the
    second [SEP]. Without pairs all is segment 0, even if [SEP] separates
    documents.
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

  def _choose(self, ragged, ids, num_to_predict, seed):
    """Returns the chosen positions, int32 [B, P], ascending, then L."""
    most, length = self.max_predictions_per_seq, self.max_seq_length
    is_continuation = self.vocabulary.is_continuation
    if self.masking_policy == "whole_word":
      special = self._is_special(ragged.values)
      continues = tf.gather(is_continuation, ragged.values)
      return masked_words.choose(
        ragged.with_values(special),
        ragged.with_values(continues),
        num_to_predict,
        most,
        length,
        seed,
      )
    lengths = tf.cast(ragged.row_lengths(), tf.int32)[:, tf.newaxis]
    is_ordinary = (tf.range(length) < lengths) & ~self._is_special(ids)
    if self.masking_policy == "token":
      return masked_tokens.choose(is_ordinary, num_to_predict, most, seed)
    after_ordinary = tf.pad(is_ordinary[:, :-1], [[0, 0], [1, 0]])
    continues = tf.gather(is_continuation, ids)
    begins = ~(continues & is_ordinary & after_ordinary)
    if self.masking_policy == "context":
      return masked_contexts.choose(
        begins, is_ordinary, self.masked_lm_prob, num_to_predict, most, seed
      )
    chosen = masked_spans.choose(
      begins,
      is_ordinary,
      num_to_predict,
      _WORDS_OF_A_SPAN[self.masking_policy],
      most,
      seed,
    )
    rank = tf.range(1, most + 1)[tf.newaxis]
    return masked_spans.find(chosen, tf.tile(rank, [tf.shape(ids)[0], 1]))

  def _masked_inputs(self, ids, positions, action_seed, random_seed):
    """Replaces the tokens at `positions`.

    Args:
      ids: int32 [B, L].
      positions: int32 [B, P], L where there is nothing to predict.
      action_seed: int32 [2], decides between [MASK], a random token and the
        token itself.
      random_seed: int32 [2], of the random tokens.

    Returns:
      dict of `input_ids` and the three `masked_lm_` features.
    """
    is_prediction = positions < self.max_seq_length
    positions = tf.where(is_prediction, positions, 0)
    shape = tf.shape(positions)
    originals = tf.gather(ids, positions, batch_dims=1)  # [B, P]
    action = masked_tokens.uniform(shape, action_seed)
    if self.masking_policy == "span":
      first, _ = masked_spans.runs(positions, is_prediction)
      action = tf.gather(action, first, batch_dims=1)
    random_ids = masked_tokens.uniform(
      shape,
      random_seed,
      minval=0,
      maxval=self.vocabulary.size,
      dtype=tf.int32,
    )
    replaced = tf.where(
      action < self.mask_token_prob + self.random_token_prob,
      random_ids,
      originals,
    )
    replaced = tf.where(
      action < self.mask_token_prob, self.vocabulary.mask_id, replaced
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
  """Returns the positions of the visible neighbours of each prediction's span.

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
  first, last = masked_spans.runs(positions, is_prediction)
  outer = tf.stack(
    [
      tf.gather(positions, first, batch_dims=1) - 1,
      tf.gather(positions, last, batch_dims=1) + 1,
    ],
    axis=2,
  )
  return tf.where(is_prediction[:, :, tf.newaxis], outer, 0)
