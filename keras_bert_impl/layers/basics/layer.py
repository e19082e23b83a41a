"""Base class of layers, and what is inside of them: dense layers, LayerNorm.

Keras saves the dtype policy of each layer that it creates itself. Our layers
create dense layers and norms in `build`, with their own policy; this class
saves later changes of it, such as those of `quantize("int8")`.
"""

import inspect

import keras
from keras import ops

from keras_bert_impl import given_arrays
from keras_bert_impl.layers.basics import arguments as arguments_lib
from keras_bert_impl.layers.basics import dropout, kernels


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


def truncated_normal(stddev):
  """Returns a NEW truncated normal initializer, as google-research/bert has it.

  Each weight needs its own: one of Keras 3 returns the same values every time
  it is called, so that query, key and value kernels would be equal.
  """
  # Made in any case: it counts in the sequence of seeds.
  initializer = keras.initializers.TruncatedNormal(stddev=stddev)
  return _Unwritten() if given_arrays.AWAITED.get() else initializer


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class _Unwritten(keras.initializers.Zeros):
  """Zeros that take no memory before they are written."""

  def __call__(self, shape, dtype=None):
    """Returns the zeros."""
    return given_arrays.Given(given_arrays.zeros(shape, dtype))


class Layer(keras.layers.Layer):
  """A layer that derives its configuration from its constructor's arguments.

  Subclasses keep each argument as an attribute of the same name; `_keep` does.
  The layers that they create with the methods below keep their dtype policies
  when the outer layer is saved.
  """

  norm_bias = True  # Constructors may take it as an argument.

  def _keep(self, arguments):
    """Keeps the arguments of the constructor: `locals()` before any others.

    Raises:
      ValueError: one has a value that it cannot have.
    """
    arguments_lib.check(self, arguments)
    for name, value in arguments.items():
      is_property = isinstance(getattr(type(self), name, None), property)
      if name not in ("self", "kwargs", "__class__") and not is_property:
        setattr(self, name, value)

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
    inner = {
      name: value
      for name, value in config.items()
      if isinstance(value, dict) and "class_name" in value
    }
    # The layer builds them itself, where the paths of their weights begin.
    objects = {
      name: keras.saving.deserialize_keras_object(value | {"build_config": {}})
      for name, value in inner.items()
    }
    return super().from_config(config | objects)

  def _weight(self, name, *shape, autocast=True):
    """Returns a new weight of random numbers."""
    initial = truncated_normal(self.initializer_range)
    return self.add_weight(shape, initial, name=name, autocast=autocast)

  def _dense(
    self,
    units,
    input_shape,
    activation=None,
    name="dense",
    use_bias=True,
    is_gated=False,
  ):
    """Returns a built `Dense`; with gates two units are one output."""
    get = kernels.gated if is_gated else kernels.activation
    layer = Dense(
      units,
      get(activation),
      use_bias=use_bias,
      kernel_initializer=truncated_normal(self.initializer_range),
      dtype=self.dtype_policy,
      name=name,
    )
    layer.build(input_shape)
    return layer

  def _layer_norm(self, shape):
    """Returns a built `LayerNormalization`."""
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
    """Returns the argument of `build_from_config`, in plain types."""
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
