"""Heads: layers on top of the encoder, of all objectives."""

import dataclasses

import keras
from keras import ops

from keras_bert_impl.layers.basics import kernels
from keras_bert_impl.layers.basics import layer as base


@dataclasses.dataclass(eq=False, repr=False)
class _HeadTransformArguments(base.Arguments):
  units: int
  activation: base.Activation = "gelu"
  use_bias: bool = True
  norm_bias: bool = True
  layer_norm_eps: float = 1e-12
  initializer_range: float = 0.02


class HeadTransform(_HeadTransformArguments, base.Layer):
  """Dense layer with activation, then LayerNorm: the beginning of a head.

  Args:
    units: int, size of the outputs.
    activation: str, of the dense layer; see `kernels.activation`.
    use_bias: bool, whether the dense layer has a bias.
    norm_bias: bool, whether LayerNorm adds a bias.
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: google-research/bert, run_pretraining.py, get_masked_lm_output.
  """

  def build(self, hidden_shape):
    """Creates the weights."""
    self.dense = self._dense(
      self.units, hidden_shape, self.activation, use_bias=self.use_bias
    )
    self.layer_norm = self._layer_norm((*hidden_shape[:-1], self.units))

  def call(self, hidden):
    """Transforms vectors, float [..., H] -> [..., units]."""
    return self.layer_norm(self.dense(hidden))


@dataclasses.dataclass(eq=False, repr=False)
class _MaskedLanguageModelHeadArguments(base.Arguments):
  activation: base.Activation = "gelu"
  layer_norm_eps: float = 1e-12
  initializer_range: float = 0.02
  use_bias: bool = True
  norm_bias: bool = True
  use_output_bias: bool = True
  tie_word_embeddings: bool = True
  use_transform: bool = True
  output_size: int | None = None
  input_scale: float = 1.0


class MaskedLanguageModelHead(_MaskedLanguageModelHeadArguments, base.Layer):
  """Masked language model head: logits of the vocabulary at masked positions.

  The output matrix is the word embedding table (tied weights), or one of its
  own; the layer owns the transformation before it and the bias after it.

  Args:
    activation: str, of the transformation.
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    use_bias: bool, whether the transformation's dense layer has a bias.
    norm_bias: bool, whether the transformation's LayerNorm adds a bias.
    use_output_bias: bool, whether there is a bias after the output matrix.
    tie_word_embeddings: bool, whether that matrix is the table.
    use_transform: bool, whether there is the transformation.
    output_size: int, width of a matrix that is not the table; None: E.
    input_scale: float, by which the hidden states are multiplied.
    **kwargs: of `keras.layers.Layer`.

  Source: google-research/bert, run_pretraining.py, get_masked_lm_output.
  """

  # Keras may pass positions as floats; bfloat16 would round them.
  of_keras = {"autocast": False}

  def build(
    self, hidden_shape, embedding_table_shape, masked_lm_positions_shape=None
  ):
    """Creates the weights."""
    vocab_size, table_width = embedding_table_shape
    width, self.transform = self.output_size or table_width, None
    if self.use_transform:
      self.transform = self._inner(HeadTransform, "transform", units=width)
      self.transform.build((None, hidden_shape[-1]))
    self.output_weights = _own_table(self, (vocab_size, width))
    self.output_bias = None
    if self.use_output_bias:
      self.output_bias = self._zeros("output_bias", vocab_size, autocast=False)

  def call(self, hidden, masked_lm_positions, embedding_table):
    """Scores the word pieces.

    Args:
      hidden: float [B, L, H].
      masked_lm_positions: int [B, P], in [0, L). None: all of them, P = L.
      embedding_table: float [V, E], the second output of `Embeddings`.

    Returns:
      Logits, float32 [B, P, V].
    """
    if masked_lm_positions is None:
      batch, num_predictions, size = ops.shape(hidden)
      masked = ops.reshape(hidden, (-1, size))
    else:
      batch, num_predictions = ops.shape(masked_lm_positions)
      masked = gather_positions(hidden, masked_lm_positions)  # [B * P, H]
    if self.input_scale != 1.0:
      masked = masked * self.input_scale
    if self.transform is not None:
      masked = self.transform(masked)  # [B * P, E]
    is_step = masked_lm_positions is None and hidden.shape[1] == 1
    logits = _score_words(self, masked, embedding_table, is_step)
    if self.output_bias is not None:
      logits = logits + self.output_bias
    return ops.reshape(
      logits, (batch, num_predictions, embedding_table.shape[0])
    )


class StatesAt(base.Layer):
  """The hidden states of some positions of each row.

  Args:
    **kwargs: of `keras.layers.Layer`.
  """

  def __init__(self, **kwargs):
    super().__init__(autocast=False, **kwargs)

  def call(self, hidden, positions):
    """Gathers float [B, L, H] at int [B, P], in [0, L), to [B, P, H]."""
    found = gather_positions(hidden, positions)
    return ops.reshape(found, (*ops.shape(positions), hidden.shape[-1]))


@dataclasses.dataclass(eq=False, repr=False)
class _VocabularyHeadArguments(base.Arguments):
  tie_word_embeddings: bool = True
  initializer_range: float = 0.02


class VocabularyHead(_VocabularyHeadArguments, base.Layer):
  """Language model head without transformation: the tied table, and a bias.

  Args:
    tie_word_embeddings: bool, whether the output matrix is the table.
    initializer_range: float, standard deviation of a matrix that is not.
    **kwargs: of `keras.layers.Layer`.

  Source: zihangdai/xlnet, modeling.py, lm_loss.
  """

  of_keras = {"autocast": False}

  def build(self, hidden_shape, embedding_table_shape):
    """Creates the weights."""
    self.output_weights = _own_table(self, embedding_table_shape)
    self.output_bias = self._zeros("output_bias", embedding_table_shape[0])

  def call(self, hidden, embedding_table):
    """Scores word pieces: [B, P, H] and [V, H] -> logits, float32 [B, P, V]."""
    batch, length, size = ops.shape(hidden)
    rows = ops.cast(ops.reshape(hidden, (-1, size)), self.compute_dtype)
    logits = _score_words(self, rows, embedding_table)
    logits = logits + self.output_bias
    return ops.reshape(logits, (batch, length, embedding_table.shape[0]))


@dataclasses.dataclass(eq=False, repr=False)
class _SpanBoundaryHeadArguments(base.Arguments):
  max_span_length: int = 20
  position_embedding_size: int = 200
  layer_norm_eps: float = 1e-12
  initializer_range: float = 0.02


class SpanBoundaryHead(_SpanBoundaryHeadArguments, base.Layer):
  """Span boundary head: predicts masked tokens from the span's two neighbours.

  Two dense layers, each with GELU and LayerNorm, on the hidden states of the
  two outer tokens and an embedding of the place in the span; the output matrix
  is the word embedding table, as in `MaskedLanguageModelHead`.

  Args:
    max_span_length: int, rows of the table of places; later places share the
      last row.
    position_embedding_size: int, width of that table.
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: Joshi et al. 2020, section 3.2; the width of 200 is that of the
  released code.
  """

  # Ids stay as they are, as in MaskedLanguageModelHead.
  of_keras = {"autocast": False}

  def build(
    self,
    hidden_shape,
    masked_lm_positions_shape,
    span_boundaries_shape,
    embedding_table_shape,
  ):
    """Creates the weights."""
    vocab_size, table_width = embedding_table_shape
    hidden_size = hidden_shape[-1]
    self.position_embeddings = self._weight(
      "position_embeddings",
      self.max_span_length,
      self.position_embedding_size,
      autocast=False,
    )
    width = 2 * hidden_size + self.position_embedding_size
    self.transforms = []
    for name, size in (("inner", hidden_size), ("outer", table_width)):
      with keras.name_scope(name):
        self.transforms += (
          self._dense(size, (None, width), "gelu"),
          self._layer_norm((None, size)),
        )
      width = size
    self.output_bias = self._zeros("output_bias", vocab_size, autocast=False)

  def call(self, hidden, masked_lm_positions, span_boundaries, embedding_table):
    """Scores the word pieces.

    Args:
      hidden: float [B, L, H].
      masked_lm_positions: int [B, P], in [0, L).
      span_boundaries: int [B, P, 2], positions of the tokens left and right of
        the prediction's span, in [0, L).
      embedding_table: float [V, E], the second output of `Embeddings`.

    Returns:
      Logits, float32 [B, P, V].
    """
    batch, num_predictions = ops.shape(masked_lm_positions)
    left, right = span_boundaries[:, :, 0], span_boundaries[:, :, 1]
    place = ops.cast(masked_lm_positions - left - 1, "int32")
    place = ops.clip(ops.reshape(place, (-1,)), 0, self.max_span_length - 1)
    places = ops.take(self.position_embeddings, place, axis=0)
    x = ops.concatenate(
      [
        gather_positions(hidden, left),
        gather_positions(hidden, right),
        ops.cast(places, hidden.dtype),
      ],
      axis=-1,
    )  # [B * P, 2 H + 200]
    for layer in self.transforms:
      x = layer(x)
    logits = _score_words(self, x, embedding_table)
    logits = logits + self.output_bias
    return ops.reshape(
      logits, (batch, num_predictions, embedding_table.shape[0])
    )


def _own_table(layer, shape):
  """Returns the new output matrix [V, E] of a head, None if it is the table."""
  if layer.tie_word_embeddings:
    return None
  return layer._weight("output_weights", *shape, autocast=False)


def _score_words(layer, x, embedding_table, is_few=False):
  """[N, E] against the table [V, E], or the head's -> float32 [N, V]."""
  own = getattr(layer, "output_weights", None)
  table = embedding_table if own is None else own
  scores = kernels.score_rows(x, ops.cast(table, layer.compute_dtype), is_few)
  return ops.cast(scores, "float32")


def gather_positions(hidden, positions):
  """[B, L, H] at [B, P] -> [B * P, H].

  One gather of rows: `take_along_axis` would broadcast the positions over H.
  """
  batch, length, size = ops.shape(hidden)
  first_row = ops.arange(batch, dtype="int32")[:, None] * length
  rows = ops.reshape(ops.cast(positions, "int32") + first_row, (-1,))
  return ops.take(ops.reshape(hidden, (-1, size)), rows, axis=0)


@dataclasses.dataclass(eq=False, repr=False)
class _ClassificationHeadArguments(base.Arguments):
  num_classes: int
  initializer_range: float = 0.02
  use_bias: bool = True


class ClassificationHead(_ClassificationHeadArguments, base.Layer):
  """Classification head: logits of C classes for each vector.

  It serves next sentence, sentence order, labels of sequences or tokens, and
  start and end of an answer. Its matrix is [C, H], as in Google's checkpoints.

  Args:
    num_classes: int, C.
    initializer_range: float, standard deviation.
    use_bias: bool, whether there is a bias.
    **kwargs: of `keras.layers.Layer`.

  Source: google-research/bert, run_pretraining.py, run_classifier.py and
  run_squad.py.
  """

  supports_masking = True

  def build(self, hidden_shape):
    """Creates the weights."""
    self.output_weights = self._weight(
      "output_weights", self.num_classes, hidden_shape[-1]
    )
    self.output_bias = None
    if self.use_bias:
      self.output_bias = self._zeros("output_bias", self.num_classes)

  def call(self, hidden):
    """[..., H] -> logits, float32 [..., C]."""
    logits = ops.matmul(hidden, ops.transpose(self.output_weights))
    if self.output_bias is not None:
      logits = logits + self.output_bias
    return ops.cast(logits, "float32")


@dataclasses.dataclass(eq=False, repr=False)
class _DiscriminatorHeadArguments(base.Arguments):
  activation: base.Activation = "gelu"
  initializer_range: float = 0.02


class DiscriminatorHead(_DiscriminatorHeadArguments, base.Layer):
  """ELECTRA's discriminator head: one logit for each token, was it replaced?

  Args:
    activation: str, of the hidden layer.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: Clark et al. 2020, section 2; google-research/electra,
  run_pretraining.py, _get_discriminator_output.
  """

  def build(self, hidden_shape):
    """Creates the weights."""
    self.dense = self._dense(hidden_shape[-1], hidden_shape, self.activation)
    self.output_dense = self._dense(1, hidden_shape, name="dense_1")

  def call(self, hidden):
    """[B, L, H] -> logits, float32 [B, L]; above 0 means replaced."""
    logits = self.output_dense(self.dense(hidden))
    return ops.cast(ops.squeeze(logits, axis=-1), "float32")
