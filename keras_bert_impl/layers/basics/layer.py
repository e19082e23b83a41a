"""Base class of layers, and the dense layer and LayerNorm inside of them.

Keras saves the dtype policy of each layer that it creates itself. Our layers
create dense layers and norms in `build`, with their own policy; this class
saves later changes of it, such as those of `quantize("int8")`.
"""

import inspect

import keras
from keras import ops

from keras_bert_impl.layers.basics import (
  activations,
  dropout,
  initializers,
  kernels,
)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class Dense(keras.layers.Dense):
  """`keras.layers.Dense` that sees [B, L, H] as a matrix [B * L, H].

  So did the original (modeling.py, reshape_to_matrix): kernels for the product
  of two matrices are faster, and take bias and GELU along; see `kernels`.
  """

  def call(self, inputs, training=None):
    """Returns the outputs [..., units] for `inputs` [..., H].

    With a gated activation they are [..., units / 2].
    """
    shape = ops.shape(inputs)
    x = ops.reshape(inputs, (-1, shape[-1])) if len(shape) > 2 else inputs
    x = ops.matmul(x, self.kernel)
    x = kernels.finish(x, self.bias, self.activation, training)
    return ops.reshape(x, (*shape[:-1], x.shape[-1])) if len(shape) > 2 else x

  def quantize(self, mode=None, type_check=True, **kwargs):
    """Quantizes the weights, as `keras.layers.Dense.quantize`."""
    # Keras refuses subclasses, because their call may compute something else.
    del type_check
    super().quantize(mode, type_check=False, **kwargs)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class LayerNormalization(keras.layers.LayerNormalization):
  """`keras.layers.LayerNormalization` over the last axis; see `kernels`."""

  def call(self, inputs, training=None):
    """Returns the normalized `inputs` [..., H]."""
    fast = kernels.layer_norm(
      inputs, self.gamma, self.beta, self.epsilon, training
    )
    return super().call(inputs) if fast is None else fast


def identity(x, training=None):
  """Returns `x`: what is computed where a layer is absent."""
  del training
  return x


class Layer(keras.layers.Layer):
  """A layer that derives its configuration from its constructor's arguments.

  Subclasses keep each argument as an attribute of the same name. The layers
  that they create with the methods below keep their dtype policies when the
  outer layer is saved.
  """

  norm_bias = True  # Constructors may take it as an argument.

  def get_config(self):
    """Returns the arguments of the constructor; objects in plain types."""
    arguments = inspect.signature(type(self).__init__).parameters
    own = arguments.keys() - {"self", "kwargs"}
    values = {name: getattr(self, name) for name in arguments if name in own}
    return {
      **super().get_config(),
      **{
        name: keras.saving.serialize_keras_object(value)
        if hasattr(value, "get_config")
        else value
        for name, value in values.items()
      },
    }

  @classmethod
  def from_config(cls, config):
    """Returns a layer of the configuration that `get_config` returned."""
    return super().from_config(
      {
        name: keras.saving.deserialize_keras_object(value)
        if isinstance(value, dict) and "class_name" in value
        else value
        for name, value in config.items()
      }
    )

  @property
  def _inherited(self):
    """Arguments that inner layers take over from this one, dict."""
    return {
      "initializer_range": self.initializer_range,
      "dtype": self.dtype_policy,
    }

  def _dense(
    self,
    units,
    input_shape,
    activation=None,
    name="dense",
    use_bias=True,
    is_gated=False,
    stddev=None,
  ):
    """Returns a built `Dense`.

    Args:
      units: int, columns of the kernel; with gates two for each output.
      input_shape: tuple.
      activation: str or None, as in `activations.get`.
      name: str.
      use_bias: bool.
      is_gated: bool, whether the activation is `activations.gated`.
      stddev: float, of the kernel; None means `initializer_range`.
    """
    get = activations.gated if is_gated else activations.get
    layer = Dense(
      units,
      get(activation),
      use_bias=use_bias,
      kernel_initializer=initializers.truncated_normal(
        self.initializer_range if stddev is None else stddev
      ),
      dtype=self.dtype_policy,
      name=name,
    )
    layer.build(input_shape)
    return layer

  def _layer_norm(self, shape, is_there=True):
    """Returns a built `LayerNormalization`, or `identity`."""
    if not is_there:
      return identity
    layer = LayerNormalization(
      epsilon=self.layer_norm_eps,
      center=self.norm_bias,
      dtype=self.dtype_policy,
      name="LayerNorm",
    )
    layer.build(shape)
    return layer

  def _dropout(self, shape, rate, has_rows=True):
    """Returns a built `Dropout`."""
    layer = dropout.Dropout(
      rate, has_rows, dtype=self.dtype_policy, name="dropout"
    )
    layer.build(shape)
    return layer

  def get_build_config(self):
    """Returns what `build_from_config` needs, in plain types."""
    config = super().get_build_config()
    policies = inner_policies(self)
    if config and policies:
      return {**config, "inner_policies": policies}
    return config

  def build_from_config(self, config):
    """Builds the layer as it was saved."""
    super().build_from_config(config)
    restore_inner_policies(self, config.get("inner_policies", {}))


def inner_policies(layer):
  """Returns the dtype policies of inner layers that differ from the outer one.

  Args:
    layer: `keras.Layer`, or a model.

  Returns:
    {number of an inner layer, as str: dict in plain types}.
  """
  own = keras.dtype_policies.serialize(layer.dtype_policy)
  policies = {}
  for number, inner in enumerate(_inner_layers(layer)):
    policy = keras.dtype_policies.serialize(inner.dtype_policy)
    if policy != own:
      policies[str(number)] = {
        "dtype": policy,
        "quantization_config": keras.saving.serialize_keras_object(
          getattr(inner, "quantization_config", None)
        ),
      }
  return policies


def restore_inner_policies(layer, policies):
  """Restores the dtype policies of the layers inside a built layer.

  Args:
    layer: `keras.Layer`.
    policies: as `inner_policies` returned them.
  """
  inner_layers = _inner_layers(layer)
  for number, saved in policies.items():
    inner = inner_layers[int(number)]
    policy = keras.dtype_policies.deserialize(saved["dtype"])
    if policy.quantization_mode is not None:
      inner.quantize(
        policy.quantization_mode,
        config=keras.saving.deserialize_keras_object(
          saved["quantization_config"]
        ),
      )
    else:
      inner.dtype_policy = policy


def _inner_layers(layer):
  return layer._flatten_layers(include_self=False)
