"""Summary of a row of hidden states in one vector, with a dense layer."""

import dataclasses

from keras import ops

from keras_bert_impl.layers.basics import kernels, layer

_READ = {
  "first": lambda hidden: hidden[:, 0],
  "last": lambda hidden: hidden[:, -1],
  "mean": lambda hidden: ops.mean(hidden, axis=1),
  "cls_index": lambda hidden: hidden[:, -1],
}
TYPES = tuple(_READ)


@dataclasses.dataclass(eq=False, repr=False)
class _SequenceSummaryArguments(layer.Arguments):
  summary_type: str = "last"
  use_projection: bool = True
  activation: layer.Activation = "tanh"
  dropout_rate: float = 0.1
  initializer_range: float = 0.02


class SequenceSummary(_SequenceSummaryArguments, layer.Layer):
  """Reads one place of a row, whatever stands there: dropout, dense layer.

  Unlike `Pooler` it knows no mask: rows are padded on the other side.

  Args:
    summary_type: "first", "last" or "cls_index", of the token there, or "mean"
      of the row.
    use_projection: bool, whether there is a dense layer.
    activation: str, after it; see `kernels.activation`.
    dropout_rate: float in [0, 1), before it.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Raises:
    ValueError: an unknown summary_type.

  Source: zihangdai/xlnet, modeling.py, summarize_sequence.
  """

  def __post_init__(self):
    if self.summary_type not in _READ:
      raise ValueError(
        f"summary_type ({self.summary_type!r}) of {self.name} must be one of "
        f"{[*_READ]}."
      )

  def build(self, hidden_shape):
    """Creates the weights."""
    batch, _, hidden_size = hidden_shape
    shape = (batch, hidden_size)
    self.dropout = self._dropout(shape, self.dropout_rate)
    if self.use_projection:
      self.dense = self._dense(hidden_size, shape, self.activation)

  def call(self, hidden, training=False):
    """Summarizes [B, L, H] in [B, H]."""
    summary = _READ[self.summary_type](hidden)
    summary = self.dropout(summary, training=training)
    if self.use_projection:
      return self.dense(summary)
    return kernels.activation(self.activation)(summary)

  def compute_mask(self, inputs, previous_mask):
    """Returns None: a vector has no positions to mask."""
    return None
