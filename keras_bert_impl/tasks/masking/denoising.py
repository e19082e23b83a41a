"""Noise of texts, which an encoder reads and a decoder writes anew.

Like `masking.Masking`, a noise is a function of clean records and a seed, in
the graph, for writer ("static") and reader ("dynamic"). It makes records of two
texts: what is read, and what is written of it.

Axes: B batch, L sequence length, S spans of a row.
"""

import abc
import dataclasses
import functools
import math

import numpy as np
import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.tasks.masking import masked_spans, masked_tokens
from keras_bert_impl.tokenizers.formats import vocabulary_files

# Words of a span (BART, a Poisson distribution), tokens of one (T5).
MEAN_SPAN = 3.0
# UL2's sequential denoiser: one span, the last quarter of the text.
_SUFFIX = (0.25, math.inf)
_MOST_WORDS = 20  # More have a probability of 1e-10.
_SENTENCE_ENDS = frozenset(".!?。！？")


@dataclasses.dataclass(frozen=True, eq=False)
class Noise(abc.ABC):
  """Noise of clean records. Abstract.

  [CLS] and [SEP] are no part of a text: those that frame a record frame both
  texts, and others in it are left out.

  Attributes:
    vocabulary: Vocabulary of the records' ids.
    max_seq_length: int, L, most tokens of a record.
    share: float in (0, 1], of the text that is left out.
    begins: bool, whether [CLS] stays before both texts; of the class.
  """

  vocabulary: object
  max_seq_length: int
  share: float

  begins = True

  @property
  @abc.abstractmethod
  def lengths(self):
    """Most tokens of what is read, and of what is written, (int, int)."""

  @abc.abstractmethod
  def texts(self, ids, lengths, seed):
    """Returns both texts, RaggedTensor int32 [B, (n)], without frame.

    Args:
      ids: int32 [B, L].
      lengths: int32 [B], their tokens.
      seed: int32 [2].
    """

  def __call__(self, batch, seed):
    """Returns records of two texts: a pure function of `batch` and `seed`.

    Args:
      batch: dict of a batch of clean records: `input_ids` RaggedTensor of
        int32 or int64 [B, (n)], n <= L. An empty row stays empty.
      seed: int32 [2].

    Returns:
      dict of `input_ids` and `target_ids`, RaggedTensor int32 [B, (n)].
    """
    rows = tf.cast(batch[features.INPUT_IDS], tf.int32)
    ids = self.vocabulary.role_ids
    is_begin, is_end = (rows.values == ids.get(r, -1) for r in ("cls", "sep"))
    text = tf.ragged.boolean_mask(rows, rows.with_values(~(is_begin | is_end)))
    has_begin = tf.reduce_any(rows.with_values(is_begin), axis=1) & self.begins
    has_end = rows.row_lengths() > 0
    dense = text.to_tensor(shape=[None, self.max_seq_length])
    lengths = tf.cast(text.row_lengths(), tf.int32)
    framed = [
      tf.concat(
        [_once(ids.get("cls", 0), has_begin), x, _once(ids["sep"], has_end)],
        axis=1,
      )
      for x in self.texts(dense, lengths, seed)
    ]
    names = (features.INPUT_IDS, features.TARGET_IDS)
    return dict(zip(names, framed, strict=True))


@dataclasses.dataclass(frozen=True, eq=False)
class Infilling(Noise):
  """BART's noise: [MASK] in place of spans of words, sentences in any order.

  Of n words ceil(n * share) are left out, in spans of a Poisson distribution of
  mean 3, the last of which is cut to that number. One [MASK] takes the place of
  each; one of 0 words is a [MASK] more. What is written is the text as it was.

  Differs from fairseq: spans never touch or overlap, so that the number is
  exact, and "!" and "?" end a sentence too.

  Attributes:
    permutes: bool, whether the sentences are in a random order first.

  Source: Lewis et al. 2020, section 2.2; fairseq, data/denoising_dataset.py.
  """

  permutes: bool = True

  @property
  def lengths(self):
    """As many as there are: a span of each text has one word at least."""
    return self.max_seq_length, self.max_seq_length

  def texts(self, ids, lengths, seed):
    """Returns the text with its noise, and as it was; see `Noise`."""
    order_seed, span_seed = masked_tokens.split(seed)
    # Rows without a frame may leave no room for one.
    lengths = tf.minimum(lengths, self.max_seq_length - 2)
    noised = ids
    if self.permutes:
      noised = self._permuted(ids, lengths, order_seed)
    starts, ends = self._spans(noised, lengths, span_seed)
    marks = tf.fill(tf.shape(starts), self.vocabulary.mask_id)
    read, _ = _cut_out(noised, lengths, starts, ends, marks)
    return read, tf.RaggedTensor.from_tensor(ids, lengths)

  def _spans(self, ids, lengths, seed):
    """Returns starts and ends of spans, int32 [B, S], ascending, then L + 1."""
    begins = self._begin_words(ids, lengths)
    size_seed, place_seed = masked_tokens.split(seed)
    num_words = tf.reduce_sum(tf.cast(begins, tf.int32), axis=1)  # [B]
    spans = _word_spans(
      num_words, self._numbers(), _poisson_shares(), size_seed, place_seed
    )
    # From words to the tokens that begin them; behind the last is the end.
    nowhere = self.max_seq_length + 1
    return [
      tf.where(
        words == nowhere,
        nowhere,
        tf.minimum(masked_spans.find(begins, words + 1), lengths[:, None]),
      )
      for words in spans
    ]

  def _numbers(self):
    """Returns int32 [L + 1], the words to leave out of each number."""
    words = range(self.max_seq_length + 1)
    return np.array([math.ceil(n * self.share) for n in words], np.int32)

  def _begin_words(self, ids, lengths):
    """Returns bool [B, L], the tokens that begin a word."""
    begins = ~tf.gather(self.vocabulary.is_continuation, ids)
    place = tf.range(self.max_seq_length)
    return (begins | (place == 0)) & (place < lengths[:, None])

  def _permuted(self, ids, lengths, seed):
    """Returns the sentences of rows in a random order, int32 [B, L]."""
    marks = "".join(("\u0120", vocabulary_files.WORD_START))
    ends = np.array(
      [t.lstrip(marks) in _SENTENCE_ENDS for t in self.vocabulary.tokens]
    )
    is_end = tf.gather(ends, ids)
    after_end = tf.pad(is_end[:, :-1], [[0, 0], [1, 0]])
    begins = after_end & ~is_end & self._begin_words(ids, lengths)
    sentence = tf.cumsum(tf.cast(begins, tf.int32), axis=1)
    keys = masked_tokens.uniform(tf.shape(ids), seed)
    keys = tf.gather(keys, sentence, batch_dims=1)
    is_text = tf.range(self.max_seq_length) < lengths[:, None]
    order = tf.argsort(tf.where(is_text, keys, 2.0), axis=1, stable=True)
    return tf.gather(ids, order, batch_dims=1)


@dataclasses.dataclass(frozen=True, eq=False)
class SpanCorruption(Noise):
  """T5's noise: a sentinel in place of spans, which are written after theirs.

  Of n tokens round(n * share) are left out, in a third as many spans whose
  lengths are random; the last one ends the text. What is written is the spans,
  each after its sentinel: <extra_id_0> is the first. There is no [CLS].

  Attributes:
    prefix_share: float, of the rows that are a prefix instead, of which the
      rest is written: one span, a quarter of the text.

  Raises:
    ValueError: the vocabulary has fewer sentinels than a row has spans.

  Source: Raffel et al. 2020, section 3.1.4; t5, data/preprocessors.py,
  random_spans_noise_mask and noise_span_to_unique_sentinel; Tay et al. 2023
  (UL2), section 3.1.2, for the S-denoiser.
  """

  prefix_share: float = 0.0

  begins = False

  def __post_init__(self):
    if len(self._sentinels) < self._most_spans:
      name, needed = vocabulary_files.SENTINEL, self._most_spans
      raise ValueError(
        f"{self.vocabulary.origin} has {len(self._sentinels)} of the {needed}"
        f" sentinels {name}0> to {name}{needed - 1}> that rows of"
        f" {self.max_seq_length} tokens need: add them to the vocabulary (of a"
        ' *.model, by "extra_ids" in tokenizer_config.json beside it).'
      )

  @property
  def lengths(self):
    """Most tokens of both, [SEP] included: 512 and 114 of 568."""
    laws = [(self.share, MEAN_SPAN)] * (self.prefix_share < 1)
    laws += [_SUFFIX] * (self.prefix_share > 0)
    found = [span_lengths(self.max_seq_length, *law) for law in laws]
    return tuple(map(max, zip(*found, strict=True)))

  def texts(self, ids, lengths, seed):
    """Returns what is left of the text, and the spans; see `Noise`."""
    kind_seed, hidden_seed, visible_seed = masked_tokens.split(seed, 3)
    most = self._most_spans
    drawn = masked_tokens.uniform(tf.shape(lengths), kind_seed)
    kind = tf.cast(drawn < self.prefix_share, tf.int32)
    numbers = tf.gather_nd(self._numbers, tf.stack([kind, lengths], axis=1))
    num_hidden, num_spans = tf.unstack(numbers, axis=1)
    hidden = _bounds(num_hidden, num_spans, most, hidden_seed)
    seen = _bounds(lengths - num_hidden, num_spans, most, visible_seed)
    before = tf.pad(hidden[:, :-1], [[0, 0], [1, 0]])
    is_span = tf.range(most) < num_spans[:, None]
    starts, ends = (
      tf.where(is_span, seen + x, self.max_seq_length + 1)
      for x in (before, hidden)
    )
    marks = tf.broadcast_to(self._sentinels[:most], tf.shape(starts))
    return _cut_out(ids, lengths, starts, ends, marks)

  @functools.cached_property
  def _sentinels(self):
    """Ids of <extra_id_0>, <extra_id_1> and so on, int32 [n]."""
    ids, found = self.vocabulary.ids, []
    while (name := f"{vocabulary_files.SENTINEL}{len(found)}>") in ids:
      found.append(ids[name])
    return np.array(found, np.int32)

  @functools.cached_property
  def _numbers(self):
    """Returns int32 [2, L + 1, 2], `span_numbers` of spans and of suffixes."""
    laws = ((self.share, MEAN_SPAN), _SUFFIX)
    lengths = range(self.max_seq_length + 1)
    found = [[span_numbers(n, *law) for n in lengths] for law in laws]
    return np.array(found, np.int32)

  @property
  def _most_spans(self):
    return int(self._numbers[..., 1].max())


def span_numbers(length, share=0.15, mean=MEAN_SPAN):
  """Returns how many tokens of a text are left out, and in how many spans.

  Args:
    length: int, tokens of the text.
    share: float, of them.
    mean: float, tokens of a span on average.

  Source: t5, data/preprocessors.py, random_spans_noise_mask.
  """
  if length < 2:
    return 0, 0
  # In float32, as the original rounds.
  noise = int(np.round(np.float32(length) * np.float32(share)))
  noise = min(max(noise, 1), length - 1)
  spans = int(np.round(np.float32(noise) / np.float32(mean)))
  return noise, min(max(spans, 1), length - noise)


def span_lengths(length, share=0.15, mean=MEAN_SPAN):
  """Returns the tokens of both texts of T5, with [SEP]: of 568, 512 and 114.

  Args: as of `span_numbers`.

  Source: t5, data/preprocessors.py, random_spans_helper.
  """
  noise, spans = span_numbers(length, share, mean)
  return length - noise + spans + 1, noise + spans + 1


def make(vocabulary, max_seq_length, masking_policy, masked_lm_prob, **others):
  """Returns the `Noise` of a policy.

  Args:
    vocabulary: `Vocabulary`.
    max_seq_length: int, most tokens of a record.
    masking_policy: str, one of `choices.NOISES`.
    masked_lm_prob: float, share of the text that is left out.
    **others: attributes of `masking.Masking`, which have no meaning here.

  Raises:
    ValueError: tokens are to be replaced otherwise; or as `SpanCorruption`.
  """
  if others.get("mask_token_prob", 1) < 1 or others.get("random_token_prob"):
    raise ValueError(
      f"mask_token_prob ({others['mask_token_prob']}) and random_token_prob"
      f" ({others['random_token_prob']}) must be left out with masking_policy="
      f"{masking_policy}, which puts one token in place of each span."
    )
  given = (vocabulary, max_seq_length, masked_lm_prob)
  if masking_policy.endswith("infilling"):
    return Infilling(*given, permutes=masking_policy == "permuted_infilling")
  return SpanCorruption(*given, float(masking_policy == "prefix_lm"))


def _once(token, is_there):
  """Returns RaggedTensor int32 [B, (0 or 1)], a token where a flag is true."""
  number = tf.cast(is_there, tf.int64)
  values = tf.fill([tf.reduce_sum(number)], token)
  return tf.RaggedTensor.from_row_lengths(values, number, validate=False)


def _cut_out(ids, lengths, starts, ends, marks):
  """Returns texts with a mark in place of spans, and spans after their marks.

  Args:
    ids: int32 [B, L].
    lengths: int32 [B].
    starts: int32 [B, S], ascending, then L + 1 where there are no more.
    ends: int32 [B, S], the same.
    marks: int32 [B, S], tokens.

  Returns:
    RaggedTensor int32 [B, (n)] each.
  """
  size = ids.shape[1]
  place = tf.broadcast_to(tf.range(size), tf.shape(ids))
  is_hidden = tf.searchsorted(starts, place, "right") > tf.searchsorted(
    ends, place, "right"
  )
  is_text, is_span = place < lengths[:, None], starts <= size
  # A mark comes before the token at its place.
  keys = tf.concat([2 * place + 1, 2 * starts], axis=1)
  tokens = tf.concat([ids, marks], axis=1)

  def joined(is_token):
    is_kept = tf.concat([is_text & is_token, is_span], axis=1)
    order = tf.argsort(tf.where(is_kept, keys, 2 * size + 2), axis=1)
    number = tf.reduce_sum(tf.cast(is_kept, tf.int32), axis=1)
    return tf.RaggedTensor.from_tensor(
      tf.gather(tokens, order, batch_dims=1), number
    )

  return joined(~is_hidden), joined(is_hidden)


def _poisson_shares(mean=MEAN_SPAN):
  """Returns float64, the shares of spans of 0, 1, 2, ... words."""
  weights = [mean**n / math.factorial(n) for n in range(_MOST_WORDS)]
  return np.array(weights) / sum(weights)


def _word_spans(num_words, numbers, shares, size_seed, place_seed):
  """Returns spans of words, drawn at random, that do not touch.

  Args:
    num_words: int32 [B], words of each row.
    numbers: int32 array [L + 1], how many to leave out of each number of words.
    shares: float array, probabilities of spans of 0, 1, 2, ... words.
    size_seed: int32 [2].
    place_seed: int32 [2].

  Returns:
    starts and ends, int32 [B, S] each, ascending, then L + 1.
  """
  most = max(int(numbers.max()), 1)
  number = tf.gather(numbers, num_words)[:, None]  # [B, 1]
  uniform = masked_tokens.uniform([tf.shape(num_words)[0], most], size_seed)
  bounds = np.cumsum(shares)[:-1].astype(np.float32)
  sizes = tf.searchsorted(bounds, tf.reshape(uniform, [-1]), side="right")
  sizes = tf.reshape(sizes, tf.shape(uniform))  # [B, S]
  before = tf.cumsum(sizes, axis=1, exclusive=True)
  # Each is in a gap of its own between the words that stay.
  gaps = num_words[:, None] - number + 1
  is_span = (before < number) & (tf.range(most) < tf.minimum(number, gaps))
  num_spans = tf.reduce_sum(tf.cast(is_span, tf.int32), axis=1)
  is_last = tf.range(most) == num_spans[:, None] - 1
  sizes = tf.where(is_last, number - before, sizes)
  gap, _ = masked_tokens.sample(gaps[:, 0], num_spans, most, place_seed)
  nowhere = len(numbers)
  starts = masked_tokens.ascending(tf.where(is_span, gap, nowhere)) + before
  return [tf.where(is_span, x, nowhere) for x in (starts, starts + sizes)]


def _bounds(total, number, most, seed):
  """Returns where parts of random lengths end, int32 [B, S].

  Args:
    total: int32 [B], the sum of the lengths, each of which is at least 1.
    number: int32 [B], of the parts; at most `total`.
    most: int, S.
    seed: int32 [2].
  """
  cuts, is_cut = masked_tokens.sample(
    tf.maximum(total - 1, 0), tf.maximum(number - 1, 0), most, seed
  )
  return masked_tokens.ascending(tf.where(is_cut, cuts + 1, total[:, None]))
