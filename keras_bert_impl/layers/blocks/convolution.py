"""Convolution beside the first block of an encoder."""

import dataclasses

from keras import ops

from keras_bert_impl.layers.basics import (
  kernels,
  layer,
  parts,
)


@dataclasses.dataclass(frozen=True)
class ConvolutionConfig(parts.Part):
  """Fields of the convolution (DeBERTa's second version).

  Attributes:
    conv_kernel_size: odd, tokens of the convolution beside layer 0; 0 for none.
    conv_groups: groups that the convolution divides H into.
    conv_act: its activation, one of `parts.ACTIVATIONS`.
  """

  conv_kernel_size: int = parts.field(0, shows=True)
  conv_groups: int = parts.field(1, "[1, inf)", shows=True)
  conv_act: str = parts.field("tanh", choices=parts.ACTIVATIONS)

  SWITCH = "clears_padding"

  @classmethod
  def check(cls, config):
    """Raises ValueError if there is no middle, or groups are uneven."""
    size, groups = config.conv_kernel_size, config.conv_groups
    if size and size % 2 == 0:
      raise ValueError(f"conv_kernel_size ({size}) must be odd, or 0 for none.")
    if config.hidden_size % groups:
      raise ValueError(
        f"hidden_size ({config.hidden_size}) must be a multiple of conv_groups "
        f"({groups})."
      )


def of_config(config, dtype, use_sequence_ids):
  """Returns a new `TokenConvolution` beside the first block.

  Raises:
    ValueError: it would join the texts of a row.
  """
  if use_sequence_ids:
    raise ValueError(
      f"conv_kernel_size ({config.conv_kernel_size}) must be 0 with "
      "use_sequence_ids=True: a convolution would join the texts of a row."
    )
  return TokenConvolution(
    config.conv_kernel_size,
    config.conv_groups,
    config.conv_act,
    config.dropout_rate,
    config.layer_norm_eps,
    config.initializer_range,
    dtype=dtype,
    name="conv",
  )


@dataclasses.dataclass(eq=False, repr=False)
class _TokenConvolutionArguments(layer.Arguments):
  kernel_size: int = 3
  groups: int = 1
  activation: layer.Activation = "tanh"
  dropout_rate: float = 0.1
  layer_norm_eps: float = 1e-7
  initializer_range: float = 0.02


class TokenConvolution(_TokenConvolutionArguments, layer.Layer):
  """Convolution of neighbouring tokens, added to the output of a block.

  Args:
    kernel_size: int, K, an odd number of tokens.
    groups: int, parts of H, each of which sees only its own.
    activation: str, see `kernels.activation`.
    dropout_rate: float in [0, 1), before the activation.
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: microsoft/DeBERTa (version 2), bert.py, ConvLayer.
  """

  def build(self, hidden_shape, **other_shapes):
    """Creates the weights."""
    size = hidden_shape[-1]
    self.kernel = self._weight(
      "kernel", self.kernel_size, size // self.groups, size
    )
    self.bias = self._zeros("bias", size)
    self.dropout = self._dropout(hidden_shape, self.dropout_rate)
    self.layer_norm = self._layer_norm(hidden_shape)

  def call(self, hidden, output, input_mask, training=False):
    """Adds the convolution of a block's input to its output.

    Args:
      hidden: float [B, L, H], the input.
      output: float [B, L, H].
      input_mask: int [B, L], 1 for a token and 0 for padding.
      training: bool.

    Returns:
      float [B, L, H], 0 at padding.
    """
    mask = ops.expand_dims(ops.cast(input_mask, hidden.dtype), -1)
    found = self._convolve(hidden) * mask
    found = kernels.activation(self.activation)(
      self.dropout(found, training=training)
    )
    return self.layer_norm(output + found, training=training) * mask

  def _convolve(self, hidden):
    """[B, L, H] -> [B, L, H]: one product, of the tokens of each window."""
    batch, length, size = ops.shape(hidden)
    count, groups = self.kernel_size, self.groups
    padded = ops.pad(hidden, [[0, 0], [count // 2, count // 2], [0, 0]])
    windows = ops.stack(
      [padded[:, start : start + length] for start in range(count)], axis=2
    )  # [B, L, K, H]
    part = (groups, size // groups)
    windows = ops.reshape(windows, (batch, length, count, *part))
    kernel = ops.reshape(self.kernel, (count, size // groups, *part))
    found = ops.einsum("blkgi,kigo->blgo", windows, kernel)
    return ops.reshape(found, (batch, length, size)) + self.bias
