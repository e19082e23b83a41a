"""Types of spans: entities that may stand inside of others.

Each span of words, up to a width, has a type or none. Axes: B sentences, L ids,
W widths, C types and none, which is the first.

Source: Sohrab and Miwa 2018; the vectors of spans are those of `spans`.
"""

import dataclasses

from keras import ops

from keras_bert_impl.kinds.tags import span_rows, token_classification
from keras_bert_impl.layers.basics import layer
from keras_bert_impl.layers.heads import spans
from keras_bert_impl.models.encoders import encoder_choice, encoder_model
from keras_bert_impl.models.heads import head_model

HEAD = "span_classification"
_NEVER = -1e9  # Logit of a type of what is no span.


@dataclasses.dataclass(frozen=True)
class SpanClassificationTask(token_classification.TokenClassificationTask):
  """Types of spans, by a softmax over these and none.

  Attributes:
    max_span_width: int, W.
    span_units: as `SpanHead`.
  """

  max_span_width: int = 10
  span_units: int = 256

  head = HEAD
  has_standard_head = False

  def build_model(self):
    """Returns a `SpanClassifier` with fresh weights."""
    return SpanClassifier(
      self.config, len(self.labels), self.max_span_width, self.span_units
    )


class SpanClassifier(head_model.HeadModel):
  """Encoder and types of spans: `logits` [B, L, W, C], see `SpanHead`.

  Besides the encoder's it has the input `word_starts`, int32 [B, L].

  Args:
    config: `configs.EncoderConfig`.
    num_classes: int, C.
    max_span_width: int, W.
    span_units: as `SpanHead`.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.
  """

  heads = (HEAD,)

  def __init__(
    self,
    config,
    num_classes,
    max_span_width,
    span_units,
    dtype=None,
    name="span_classifier",
  ):
    arguments = dict(locals())
    encoder = encoder_choice.make(config, dtype, use_pooler=False)
    words = encoder_model.make_input(span_rows.WORD_STARTS)
    head = SpanHead(
      num_classes,
      max_span_width,
      span_units,
      config.initializer_range,
      dtype=encoder.dtype_policy,
      name="span_head",
    )
    hidden = head_model.dropout(encoder, None)(encoder.hidden_states[-1])
    inputs = encoder.input | {span_rows.WORD_STARTS: words}
    outputs = {"logits": head(hidden, words)}
    super().__init__(encoder, inputs, outputs, arguments)


@dataclasses.dataclass(eq=False, repr=False)
class _SpanHeadArguments(layer.Arguments):
  num_classes: int
  max_span_width: int
  units: int
  initializer_range: float = 0.02


class SpanHead(_SpanHeadArguments, layer.Layer):
  """Scores the types of all spans of words, which it reads at first pieces.

  Args:
    num_classes: int, C.
    max_span_width: int, W, words of the longest span.
    units: int, of the vectors of spans.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.
  """

  def build(self, hidden_shape, word_starts_shape):
    """Creates the weights."""
    self.spans = self._inner(spans.SpanRepresentation, name="spans")
    self.spans.build(hidden_shape, hidden_shape)
    shape = (None, None, None, self.units)
    self.classifier = self._dense(self.num_classes, shape, name="classifier")

  def call(self, hidden, word_starts):
    """Returns the logits of all spans.

    Args:
      hidden: float [B, L, H].
      word_starts: int32 [B, L], 1 where a word begins, else 0.

    Returns:
      float32 [B, L, W, C], of the spans that begin with the word at a place and
      have 1, 2, ... W words; beyond the last word they are none.
    """
    last = ops.shape(word_starts)[1] - 1
    places = ops.where(word_starts > 0, ops.arange(last + 1), last)
    words = spans.at(hidden, ops.sort(places, axis=1))
    logits = self.spans.map_spans(
      self.spans.project(words, words),
      lambda x: self.classifier(ops.relu(x)),
      self.num_classes,
    )
    # From the axis of words to that of ids.
    numbers = ops.cumsum(word_starts, axis=1)[:, :, None, None] - 1
    places = ops.maximum(numbers, 0)
    logits = ops.take_along_axis(ops.cast(logits, "float32"), places, axis=1)
    ends = numbers + ops.arange(self.max_span_width)[:, None]
    is_beyond = ends >= ops.sum(word_starts, axis=1)[:, None, None, None]
    is_type = ops.arange(self.num_classes) > 0
    return ops.where(is_beyond & is_type, _NEVER, logits)
