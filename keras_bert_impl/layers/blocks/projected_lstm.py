"""Layers of ELMo: LSTMs with projections, one in each direction."""

import dataclasses

import keras
from keras import ops

from keras_bert_impl.layers.attention import (
  buckets,
  disentangled,
  window,
)
from keras_bert_impl.layers.basics import layer, parts
from keras_bert_impl.layers.blocks import embeddings, transformer_block

# Limit of cell and output; Jozefowicz et al. 2016, allenai/bilm-tf.
_LARGEST = 3.0


@dataclasses.dataclass(frozen=True)
class RecurrentConfig(parts.Part):
  """ELMo's kind of encoder, instead of positions.

  `models.ElmoEncoder`: LSTMs with I units in either direction.
  """

  KIND = "recurrent"
  EXCLUDES = (
    buckets.BucketsConfig,
    disentangled.DisentangledConfig,
    window.WindowConfig,
    transformer_block.BlockConfig,
  )

  @classmethod
  def check(cls, config):
    """Raises ValueError if it is not of both directions, or sizes differ."""
    embeddings.check_one_width(config, cls.needs())
    config.check_direction("both", f"with {cls.needs()}")

  @property
  def is_recurrent(self):
    """Whether the encoder is a `models.ElmoEncoder`."""
    return RecurrentConfig.is_used(self)


@dataclasses.dataclass(eq=False, repr=False)
class _ProjectedLSTMArguments(layer.Arguments):
  units: int
  projection_size: int
  is_reversed: bool = False
  initializer_range: float = 0.02


class ProjectedLSTM(_ProjectedLSTMArguments, layer.Layer):
  """An LSTM whose output is a projection of its state, which it reads again.

  Padding changes no other output; its own are zeros. It computes in float32
  under any dtype policy, because its state accumulates over the tokens.

  Args:
    units: int, I, size of the cell.
    projection_size: int, H, of the output.
    is_reversed: bool, whether it reads rows from the right to the left.
    initializer_range: float, standard deviation of the matrices.
    **kwargs: of `keras.layers.Layer`.

  Source: Sak et al. 2014, section 2; Peters et al. 2018, section 3.4.
  """

  of_keras = {"dtype": "float32"}

  # Keras 3.12 passes no shapes for arguments whose names end in "mask".
  def build(self, hidden_shape, input_mask_shape=None):
    """Creates the weights."""
    self.gates = self._dense(4 * self.units, hidden_shape, name="gates")
    cell = _Cell(
      self.units, self.projection_size, self.initializer_range, name="cell"
    )
    self.lstm = keras.layers.RNN(
      cell,
      return_sequences=True,
      go_backwards=self.is_reversed,
      dtype="float32",
      name="lstm",
    )
    self.lstm.build((*hidden_shape[:-1], 4 * self.units))

  def call(self, hidden, input_mask):
    """Reads float [B, L, E] of int [B, L], 1 for tokens; float32 [B, L, H]."""
    mask = ops.cast(input_mask, "bool")
    output = self.lstm(self.gates(hidden), mask=mask)
    if self.is_reversed:  # Keras returns them in the order of reading.
      output = ops.flip(output, axis=1)
    return output * ops.cast(mask, output.dtype)[:, :, None]


class _Cell(keras.layers.Layer):
  """A step of `ProjectedLSTM`, on what the gates read of the input."""

  def __init__(self, units, projection_size, initializer_range, **kwargs):
    super().__init__(dtype="float32", **kwargs)
    self.units = units
    self.output_size = projection_size
    self.state_size = [projection_size, units]
    self.initializer_range = initializer_range

  def build(self, input_shape):
    initializer = layer.truncated_normal(self.initializer_range)
    self.kernel = self.add_weight(
      name="kernel",
      shape=(self.output_size, 4 * self.units),
      initializer=initializer,
    )
    self.projection = self.add_weight(
      name="projection",
      shape=(self.units, self.output_size),
      initializer=initializer,
    )

  def call(self, gates, states, training=False):
    output, cell = states
    gates = gates + ops.matmul(output, self.kernel)  # [B, 4 I]
    enter, forget, leave, new = ops.split(gates, 4, axis=-1)
    # It begins by forgetting little.
    cell = ops.sigmoid(forget + 1.0) * cell + ops.sigmoid(enter) * ops.tanh(new)
    cell = ops.clip(cell, -_LARGEST, _LARGEST)
    output = ops.matmul(ops.sigmoid(leave) * ops.tanh(cell), self.projection)
    output = ops.clip(output, -_LARGEST, _LARGEST)
    return output, [output, cell]


@dataclasses.dataclass(eq=False, repr=False)
class _BidirectionalBlockArguments(layer.Arguments):
  units: int
  is_residual: bool = True
  dropout_rate: float = 0.1
  initializer_range: float = 0.02


class BidirectionalBlock(_BidirectionalBlockArguments, layer.Layer):
  """A layer of ELMo: an LSTM in each direction, perhaps added to its input.

  Args:
    units: int, I, size of the cells.
    is_residual: bool, whether inputs are added to the outputs.
    dropout_rate: float in [0, 1), of the outputs.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: Peters et al. 2018, sections 3.1 and 3.4.
  """

  def build(self, forward_shape, backward_shape, input_mask_shape=None):
    """Creates the weights."""
    self.lstms, self.dropouts = [], []
    for is_reversed, name in enumerate(("left_to_right", "right_to_left")):
      lstm = self._inner(
        ProjectedLSTM,
        name,
        projection_size=forward_shape[-1],
        is_reversed=bool(is_reversed),
      )
      lstm.build(forward_shape)
      self.lstms.append(lstm)
      with keras.name_scope(name):
        dropout = self._dropout(forward_shape, self.dropout_rate)
      self.dropouts.append(dropout)

  def call(self, forward, backward, input_mask, training=False):
    """Reads float [B, L, H] in each direction; returns both, float [B, L, H].

    Args:
      forward: float [B, L, H], what is read from left to right.
      backward: float [B, L, H], what is read from right to left.
      input_mask: int [B, L], 1 for tokens and 0 for padding, on the right.
      training: bool.
    """
    outputs = []
    for hidden, lstm, dropout in zip(
      (forward, backward), self.lstms, self.dropouts, strict=True
    ):
      output = ops.cast(lstm(hidden, input_mask), self.compute_dtype)
      output = dropout(output, training=training)
      outputs.append(hidden + output if self.is_residual else output)
    return tuple(outputs)

  def compute_output_spec(self, forward, backward, input_mask, training=False):
    """Returns the shapes and dtypes of `call`."""
    return tuple(
      keras.KerasTensor(x.shape, self.compute_dtype)
      for x in (forward, backward)
    )
