"""A bidirectional LSTM over padded sequences."""

import dataclasses

import keras
from keras import ops

from keras_bert_impl.layers.basics import layer


@dataclasses.dataclass(eq=False, repr=False)
class _BiLSTMArguments(layer.Arguments):
  width: int


class BiLSTM(_BiLSTMArguments, layer.Layer):
  """One bidirectional LSTM layer; the outputs are concatenated.

  Padding does not change the other outputs; its own are zeros.

  Args:
    width: int, size of the state in each direction.
    **kwargs: of `keras.layers.Layer`.
  """

  # Keras 3.12 passes no shapes for arguments whose names end in "mask".
  def build(self, hidden_shape, input_mask_shape=None):
    """Creates the weights."""
    lstm = keras.layers.LSTM(
      self.width, return_sequences=True, dtype=self.dtype_policy, name="lstm"
    )
    self.lstm = keras.layers.Bidirectional(
      lstm, dtype=self.dtype_policy, name="bidirectional"
    )
    self.lstm.build(hidden_shape)

  def call(self, hidden, input_mask):
    """Reads the sequences.

    Args:
      hidden: float [B, L, H].
      input_mask: int [B, L], 1 for tokens and 0 for padding, which must be on
        the right.

    Returns:
      float [B, L, 2 * width].
    """
    mask = ops.cast(input_mask, "bool")
    # A row of padding alone makes one step, or cuDNN would refuse it.
    is_first = ops.arange(ops.shape(mask)[1]) == 0
    output = self.lstm(hidden, mask=ops.logical_or(mask, is_first))
    return output * ops.cast(mask, output.dtype)[:, :, None]

  def compute_output_spec(self, hidden, input_mask):
    """Returns the shape and dtype of `call`."""
    shape = (*hidden.shape[:-1], 2 * self.width)
    return keras.KerasTensor(shape, self.compute_dtype)
