"""Coreference model: which spans of a document are mentions, and of what.

Source: Joshi et al. 2019, independent segments, without higher orders of
inference; Lee et al. 2018, section 4, from coarse to fine. Differs from these:
spans are those of words, represented by a dense layer of start, end, head and
width; embeddings of distance, speaker and genre are added to the layer that
compares two spans; dropout is that of the spans that are kept; of spans that
cross both may be.

Axes: B documents, L ids and places for words, M ids of a segment, W widths, K
spans that are kept, C antecedents of each, I units.
"""

import dataclasses
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bert_impl.kinds.coreference import coreference_rows
from keras_bert_impl.layers.basics import kernels, layer
from keras_bert_impl.layers.heads import spans
from keras_bert_impl.models.encoders import encoder_choice, encoder_model
from keras_bert_impl.models.heads import head_model

HEAD = "coreference"
NONE = coreference_rows.NONE
_NEVER = -1e9  # Score of what cannot be.
_NO_ANTECEDENT = 0.0
# Lower bounds of the buckets of distances, in spans and in segments.
_DISTANCES = (1, 2, 3, 4, 5, 8, 16, 32, 64)
# Halvings of a chain of antecedents: 2 to that power spans are enough.
_HALVINGS = 16


class CoreferenceModel(head_model.HeadModel):
  """Encoder of segments and `CoreferenceHead`, with the outputs of this.

  Besides the encoder's it has the inputs of `coreference_rows.WORD_INPUTS`,
  int32 [B, L], and `genre_ids`, int32 [B].

  Args:
    config: `configs.EncoderConfig`.
    segment_length: int, M: the encoder reads rows of as many ids.
    head: {argument of `CoreferenceHead`: value}, but for segment_length and
      initializer_range; None leaves all as they are by default.
    use_clusters: bool, for training: whether there is an input `span_clusters`,
      int32 [B, L, W], and the outputs of losses.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.
  """

  heads = (HEAD,)

  def __init__(
    self,
    config,
    segment_length,
    head=None,
    use_clusters=False,
    dtype=None,
    name="coreference_model",
  ):
    arguments = dict(locals())
    encoder = encoder_choice.make(config, dtype, use_pooler=False)
    resolver = CoreferenceHead(
      segment_length,
      initializer_range=config.initializer_range,
      dtype=encoder.dtype_policy,
      name="coreference",
      **head or {},
    )
    names = (*encoder.input, *coreference_rows.WORD_INPUTS)
    shapes = dict.fromkeys(names, (None,))
    shapes[coreference_rows.GENRE_IDS] = ()
    if use_clusters:
      shapes[coreference_rows.SPAN_CLUSTERS] = (None, resolver.max_span_width)
    inputs = {
      name: encoder_model.make_input(name, shape)
      for name, shape in shapes.items()
    }
    segments = _Segments(segment_length)
    hidden = encoder({name: segments(inputs[name]) for name in encoder.input})
    hidden = _Joined(dtype=encoder.dtype_policy)(
      hidden["sequence_output"], inputs[coreference_rows.WORD_STARTS]
    )
    hidden = head_model.dropout(encoder, None)(hidden)
    own = [x for name, x in inputs.items() if name not in encoder.input]
    super().__init__(encoder, inputs, resolver(hidden, *own), arguments)
    self.segment_length = segment_length


class _Segments(keras.layers.Layer):
  """[B, L] -> [B * S, M], the last segment filled up with zeros."""

  def __init__(self, segment_length, **kwargs):
    super().__init__(**kwargs)
    self.segment_length = segment_length

  def call(self, ids):
    missing = -ops.shape(ids)[1] % self.segment_length
    ids = ops.pad(ids, [[0, 0], [0, missing]])
    return ops.reshape(ids, (-1, self.segment_length))

  def compute_output_spec(self, ids):
    return keras.KerasTensor((None, self.segment_length), ids.dtype)


class _Joined(keras.layers.Layer):
  """[B * S, M, H] -> [B, S * M, H] of `words` [B, L]."""

  def call(self, hidden, words):
    shape = (ops.shape(words)[0], -1, hidden.shape[-1])
    return ops.reshape(hidden, shape)

  def compute_output_spec(self, hidden, words):
    return keras.KerasTensor((None, None, hidden.shape[-1]), hidden.dtype)


@dataclasses.dataclass(eq=False, repr=False)
class _CoreferenceHeadArguments(layer.Arguments):
  segment_length: int
  num_genres: int = 0
  max_span_width: int = 10
  top_span_ratio: float = 0.4
  max_antecedents: int = 50
  units: int = 1000
  dropout_rate: float = 0.3
  keep_singletons: bool = False
  initializer_range: float = 0.02


class CoreferenceHead(_CoreferenceHeadArguments, layer.Layer):
  """Finds mentions, the likeliest antecedent of each, and so their clusters.

  Args:
    segment_length: int, M.
    num_genres: int, those that training knows.
    max_span_width: int, W, words of the longest mention.
    top_span_ratio: float in (0, 1], spans that are kept, per word.
    max_antecedents: int, C, spans that a span is compared with closely: the
      best by a bilinear score.
    units: int, I, of the representation of spans and of what compares two.
    dropout_rate: float in [0, 1), of these.
    keep_singletons: bool, whether a mention alone is a cluster: then a span is
      one where its probability is above 1/2.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.
  """

  def build(self, hidden_shape, **others):
    """Creates the weights."""
    units, shape = self.units, (None, None, self.units)
    self.spans = self._inner(spans.SpanRepresentation, name="spans")
    self.spans.build(hidden_shape, hidden_shape)
    self.dropout = self._dropout(shape, self.dropout_rate)
    self.mention = self._dense(1, shape, name="mention")
    self.coarse = self._dense(units, shape, name="coarse")
    self.of_span = self._dense(units, shape, name="span")
    self.of_antecedent = self._dense(
      units, shape, name="antecedent", use_bias=False
    )
    self.of_both = self._dense(units, shape, name="both", use_bias=False)
    self.pair = self._dense(1, shape, name="pair")
    self.tables = {
      name: self._weight(f"{name}_embeddings", size, units)
      for name, size in (
        ("distance", len(_DISTANCES) + 1),
        ("segment_distance", len(_DISTANCES) + 1),
        ("speaker", 3),  # unknown, another, the same
        ("genre", self.num_genres + 1),
      )
    }

  def call(
    self,
    hidden,
    word_starts,
    word_ends,
    word_limits,
    word_speakers,
    genre_ids,
    span_clusters=None,
    *,
    training=False,
  ):
    """Finds the clusters of documents.

    Args:
      hidden: float [B, S * M, H].
      word_starts: int32 [B, L], as in `coreference_rows`; the same of all that
        follow.
      word_ends: int32 [B, L].
      word_limits: int32 [B, L].
      word_speakers: int32 [B, L].
      genre_ids: int32 [B].
      span_clusters: int32 [B, L, W], or None.
      training: bool.

    Returns:
      span_starts, span_ends int32 [B, L], the first and the last word of the
      spans that are kept, in their order, NONE beyond them; clusters int32
      [B, L], the number among these spans of the first mention of the cluster
      of each, NONE of what is in no cluster; span_scores float32 [B, L], the
      probability that a span is a mention or, in a cluster of several, that the
      antecedent is right. With span_clusters also mention_losses and
      antecedent_losses, float32 [B, L], of each word the summed loss of the
      spans from it, and of each kept span.
    """
    words = self.spans.project(
      spans.at(hidden, word_starts), spans.at(hidden, word_ends)
    )
    mentions = self.spans.map_spans(
      words, lambda x: self.mention(ops.relu(x)), 1
    )
    mentions = ops.cast(ops.squeeze(mentions, 3), "float32")  # [B, L, W]
    length = ops.shape(word_starts)[1]
    widths = ops.arange(self.max_span_width, dtype="int32")
    lasts = ops.expand_dims(ops.arange(length, dtype="int32"), 1) + widths
    is_span = lasts <= ops.expand_dims(word_limits, 2)  # [B, L, W]
    kept = self._keep(mentions, is_span, word_starts)
    vectors = self.spans.at(words, kept.starts, kept.ends)
    vectors = self.dropout(vectors, training=training)  # [B, K, I]
    speakers = ops.take_along_axis(word_speakers, kept.starts, axis=1)
    places = ops.take_along_axis(word_starts, kept.starts, axis=1)
    segments = places // self.segment_length
    antecedents, scores = self._compare(
      vectors, kept, speakers, segments, genre_ids
    )
    outputs = self._clusters(kept, antecedents, scores)
    if span_clusters is not None:
      gold = ops.reshape(span_clusters, (-1, length * self.max_span_width))
      gold = ops.take_along_axis(gold, kept.index, axis=1)
      outputs |= {
        "mention_losses": _mention_losses(mentions, is_span, span_clusters),
        "antecedent_losses": _antecedent_losses(
          kept.is_kept, antecedents, scores, gold
        ),
      }
    missing = length - ops.shape(kept.index)[1]
    return {
      name: ops.pad(
        x,
        [[0, 0], [0, 0 if name == "mention_losses" else missing]],
        constant_values=0.0 if name.endswith(("losses", "scores")) else NONE,
      )
      for name, x in outputs.items()
    }

  def _keep(self, mentions, is_span, word_starts):
    """Returns the `_Kept` spans, the best ones in the order of the text.

    How many these are depends on the words of the row, not on its padding.
    """
    size = ops.shape(word_starts)[1] * self.max_span_width
    scores = ops.where(is_span, ops.stop_gradient(mentions), _NEVER)
    num_words = ops.sum(ops.cast(word_starts >= 0, "int32"), axis=1)
    number = self._number(ops.shape(word_starts)[1])
    scores, index = ops.top_k(ops.reshape(scores, (-1, size)), number)
    places = ops.arange(number, dtype="int32")
    is_kept = places < ops.expand_dims(self._number(num_words), 1)
    is_kept = ops.logical_and(is_kept, scores > _NEVER / 2)
    index = ops.sort(ops.where(is_kept, ops.cast(index, "int32"), size), axis=1)
    is_kept = index < size
    index = ops.where(is_kept, index, 0)
    starts = index // self.max_span_width
    scores = ops.take_along_axis(
      ops.reshape(mentions, (-1, size)), index, axis=1
    )
    ends = starts + index % self.max_span_width
    return _Kept(index, starts, ends, is_kept, scores)

  def _number(self, num_words):
    """Returns how many spans of so many words are kept, rounded up."""
    return -(-num_words * round(1000 * self.top_span_ratio) // 1000)

  def _compare(self, vectors, kept, speakers, segments, genre_ids):
    """Scores the likely antecedents of each span.

    Args:
      vectors: float [B, K, I].
      kept: `_Kept`.
      speakers: int32 [B, K].
      segments: int32 [B, K].
      genre_ids: int32 [B].

    Returns:
      int32 [B, K, C], their numbers; float32 [B, K, C], `_NEVER` where there
      are fewer.
    """
    coarse = ops.matmul(self.coarse(vectors), ops.swapaxes(vectors, 1, 2))
    coarse = ops.cast(coarse, "float32")  # [B, K, K]
    coarse += ops.expand_dims(kept.scores, 2) + ops.expand_dims(kept.scores, 1)
    places = ops.arange(ops.shape(vectors)[1], dtype="int32")
    allowed = ops.expand_dims(places, 1) > ops.expand_dims(places, 0)
    allowed = ops.logical_and(allowed, ops.expand_dims(kept.is_kept, 2))
    coarse = ops.where(allowed, coarse, _NEVER)
    # So that there are C columns, however few spans there are.
    room = [[0, 0], [0, 0], [0, self.max_antecedents]]
    coarse = ops.pad(coarse, room, constant_values=_NEVER)
    coarse, antecedents = ops.top_k(coarse, self.max_antecedents)
    is_one = coarse > _NEVER / 2
    antecedents = ops.where(is_one, ops.cast(antecedents, "int32"), 0)
    of_span = self.of_span(vectors) + ops.expand_dims(
      ops.take(self.tables["genre"], genre_ids, axis=0), 1
    )
    of_antecedent = self.of_antecedent(vectors)

    def score(some):
      """Returns float32 [B, K] of an antecedent of each, int32 [B, K]."""
      hidden = of_span + spans.at(of_antecedent, some)
      hidden += self.of_both(vectors * spans.at(vectors, some))
      there = ops.take_along_axis(speakers, some, axis=1)
      is_known = ops.logical_and(speakers > 0, there > 0)
      speaker = 1 + ops.cast(speakers == there, "int32")
      between = segments - ops.take_along_axis(segments, some, axis=1)
      for name, numbers in (
        ("speaker", ops.where(is_known, speaker, 0)),
        ("distance", _bucket(places - some)),
        ("segment_distance", _bucket(between)),
      ):
        hidden += ops.take(self.tables[name], numbers, axis=0)
      scores = self.pair(ops.relu(hidden))
      return ops.cast(ops.squeeze(scores, 2), "float32")

    # In turn, as all at once would take C times the memory.
    fine = kernels.map_in_turn(
      score, ops.transpose(antecedents, (2, 0, 1)), "float32"
    )
    scores = coarse + ops.transpose(fine, (1, 2, 0))
    return antecedents, ops.where(is_one, scores, _NEVER)

  def _clusters(self, kept, antecedents, scores):
    """Returns the outputs but the losses; arguments are as `_compare`."""
    best = ops.expand_dims(ops.argmax(scores, axis=2), 2)
    best_scores = ops.squeeze(ops.take_along_axis(scores, best, axis=2), 2)
    antecedent = ops.squeeze(ops.take_along_axis(antecedents, best, axis=2), 2)
    has_one = best_scores > _NO_ANTECEDENT
    places = ops.arange(ops.shape(kept.index)[1], dtype="int32")
    roots = ops.where(has_one, antecedent, places)
    for _ in range(_HALVINGS):
      roots = ops.take_along_axis(roots, roots, axis=1)
    together = ops.expand_dims(roots, 2) == ops.expand_dims(roots, 1)
    is_found = ops.sum(ops.cast(together, "int32"), axis=2) > 1
    # Places beyond the spans stand alone, as none has an antecedent.
    is_mention = kept.scores > 0
    if self.keep_singletons:
      is_found = ops.logical_or(is_found, is_mention)
    is_found = ops.logical_and(is_found, kept.is_kept)
    of_links = ops.where(has_one, best_scores, kept.scores)
    return {
      "span_starts": ops.where(kept.is_kept, kept.starts, NONE),
      "span_ends": ops.where(kept.is_kept, kept.ends, NONE),
      "clusters": ops.where(is_found, roots, NONE),
      "span_scores": ops.where(kept.is_kept, ops.sigmoid(of_links), 0.0),
    }


class _Kept(NamedTuple):
  """Spans that may be mentions, [B, K] each, in the order of the text.

  Attributes:
    index: int32, number among all spans, L * W.
    starts: int32, the first word.
    ends: int32, the last word.
    is_kept: bool, False of what only fills up the row.
    scores: float32, logits of being a mention.
  """

  index: Any
  starts: Any
  ends: Any
  is_kept: Any
  scores: Any


def _bucket(distances):
  """Returns the bucket of distances, int32 [...] below 10."""
  bounds = ops.convert_to_tensor(_DISTANCES, "int32")
  reached = ops.expand_dims(distances, -1) >= bounds
  return ops.sum(ops.cast(reached, "int32"), axis=-1)


def _mention_losses(mentions, is_span, span_clusters):
  """Returns minus the logarithms of being a mention or none, float32 [B, L]."""
  signs = ops.where(span_clusters >= 0, -1.0, 1.0)
  losses = ops.softplus(signs * mentions)
  return ops.sum(ops.where(is_span, losses, 0.0), axis=2)


def _antecedent_losses(is_kept, antecedents, scores, gold):
  """Returns minus the logarithm of all right antecedents, float32 [B, K].

  Without one in the cluster, the right one is none.

  Args:
    is_kept: bool [B, K].
    antecedents: int32 [B, K, C].
    scores: float32 [B, K, C].
    gold: int32 [B, K], numbers of clusters, NONE of what is no mention.
  """
  here = ops.expand_dims(gold, 2)
  there = ops.squeeze(spans.at(here, antecedents), 3)
  is_right = ops.logical_and(here >= 0, here == there)
  is_right = ops.logical_and(is_right, scores > _NEVER / 2)
  has_none = ops.logical_not(ops.any(is_right, axis=2, keepdims=True))
  none = ops.full_like(scores[:, :, :1], _NO_ANTECEDENT)
  every = ops.concatenate([none, scores], axis=2)
  right = ops.concatenate([has_none, is_right], axis=2)
  right = ops.where(right, every, _NEVER)
  losses = ops.logsumexp(every, axis=2) - ops.logsumexp(right, axis=2)
  return ops.where(is_kept, losses, 0.0)
