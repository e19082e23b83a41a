"""Base class of layers, and what is inside of them: dense layers, LayerNorm.

Keras saves the dtype policy of each layer that it creates itself. Our layers
create dense layers and norms in `build`, with their own policy; this class
saves later changes of it, such as those of `quantize("int8")`.
"""

import inspect

import keras
from keras import ops

from keras_bert_impl import calls, given_arrays
from keras_bert_impl.layers.basics import dropout, kernels, parts


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
    if self.lora_enabled:
      x = self._adapted_product(x)
    else:
      x = ops.matmul(x, self.kernel)
    x = kernels.finish(x, self.bias, self.activation, training)
    return ops.reshape(x, (*shape[:-1], x.shape[-1])) if len(shape) > 2 else x

  def _adapted_product(self, x):
    """Returns the product [N, units] of `x` [N, H] and kernel, with adapters.

    Differs from Keras, which adds the adapters to the kernel first: apart, no
    gradient of the frozen kernel is computed.
    """
    low_rank = ops.matmul(ops.matmul(x, self.lora_kernel_a), self.lora_kernel_b)
    return ops.matmul(x, self._kernel) + low_rank * self._lora_scale

  @property
  def _lora_scale(self):
    return self.lora_alpha / self.lora_rank

  def enable_lora(self, rank, lora_alpha=None, **kwargs):
    """Adds low-rank adapters, as `keras.layers.Dense.enable_lora`.

    The path of their weights is that of the layer with `lora_kernel_a` [H, R],
    `lora_kernel_b` [R, units] and `lora_scale` [1], which is alpha / R: a file
    of the weights says all that is needed to merge them.

    Source: Hu et al. 2021; the first values are those of its code.
    """
    # Uniform within 1 / sqrt(H).
    initializer = keras.initializers.VarianceScaling(1 / 3, "fan_in", "uniform")
    super().enable_lora(
      rank, lora_alpha, **{"a_initializer": initializer, **kwargs}
    )
    self._tracker.unlock()
    self.lora_scale = self.add_weight(
      (1,),
      keras.initializers.Constant(self._lora_scale),
      "float32",
      trainable=False,
      name="lora_scale",
    )
    self._tracker.lock()

  def merge_lora(self):
    """Adds the adapters to the kernel and removes them."""
    product = ops.matmul(self.lora_kernel_a, self.lora_kernel_b)
    self._kernel.assign_add(product * self._lora_scale)
    # Functions that were traced before go on to add what is zero now.
    self.lora_kernel_b.assign(ops.zeros(self.lora_kernel_b.shape))
    self._tracker.unlock()
    for name in ("lora_kernel_a", "lora_kernel_b", "lora_scale"):
      self._untrack_variable(getattr(self, name))
    self._tracker.lock()
    self.lora_enabled, self.lora_rank, self.lora_alpha = False, None, None

  def quantize(self, mode=None, type_check=True, **kwargs):
    """Quantizes the weights, as `keras.layers.Dense.quantize`."""
    if self.lora_enabled:
      raise ValueError(
        f"{self.path} has low-rank adapters: merge them with kb.merge_lora"
        " before quantize."
      )
    # Keras refuses subclasses, because their call may compute something else.
    del type_check
    super().quantize(mode, type_check=False, **kwargs)

  def save_own_variables(self, store):
    """Saves the weights; adapters apart, where Keras would merge them."""
    if not self.lora_enabled:
      super().save_own_variables(store)
      return
    for number, variable in enumerate(self._saved()):
      store[str(number)] = variable

  def load_own_variables(self, store):
    """Loads the weights, as `save_own_variables` saved them.

    Raises:
      ValueError: those of a layer without adapters, or with others.
    """
    if not self.lora_enabled:
      super().load_own_variables(store)
      return
    variables = self._saved()
    if len(store.keys()) != len(variables):
      raise ValueError(
        f"{self.path} has low-rank adapters, which the file lacks: load its"
        " weights before kb.lora."
      )
    for number, variable in enumerate(variables):
      variable.assign(store[str(number)])

  def _saved(self):
    bias = () if self.bias is None else (self.bias,)
    adapters = (self.lora_kernel_a, self.lora_kernel_b, self.lora_scale)
    return (self._kernel, *bias, *adapters)


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


def _is_activation(value):
  try:
    kernels.activation(value)
  except (TypeError, ValueError):
    return False
  return True


_RULES = calls.RULES | {
  "activation": calls.Rule(
    _is_activation,
    f"the name of one, such as {', '.join(parts.ACTIVATIONS)}, or a function",
  ),
  "kind": calls.Rule(calls.has("attend"), "an object such as a FullAttention"),
  "options": calls.Rule(
    calls.has("norm_first"), "an object such as a BlockConfig"
  ),
}


class Layer(keras.layers.Layer):
  """A layer that derives its configuration from its constructor's arguments.

  Subclasses keep each argument as an attribute of the same name; `_keep` does.
  The layers that they create with the methods below keep their dtype policies
  when the outer layer is saved.
  """

  def __init_subclass__(cls, **named):
    super().__init_subclass__(**named)
    if cls.__module__.startswith("keras_bert_impl."):
      calls.check_methods(cls, ["__init__"], _RULES)

  norm_bias = True  # Constructors may take it as an argument.

  def __new__(cls, *args, **kwargs):
    """Notes which arguments are given, for `get_config`."""
    layer = super().__new__(cls, *args, **kwargs)
    layer._given = _given(cls, args, kwargs)
    return layer

  def _keep(self, arguments):
    """Keeps the arguments of the constructor: `locals()` before any others."""
    owner = arguments.get("__class__", type(self))
    for name in _parameters(owner)[0]:
      is_property = isinstance(getattr(type(self), name, None), property)
      if not is_property:
        setattr(self, name, arguments[name])

  def get_config(self):
    """Returns the arguments of the constructor; objects in plain types."""
    values = {name: getattr(self, name) for name in self._given}
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
    return config and {**config, **inner_state(self)}

  def build_from_config(self, config):
    """Builds the layer as it was saved."""
    config = dict(config)
    state = pop_inner_state(config)
    super().build_from_config(config)
    restore_inner_state(self, state)


def _parameters(layer_class):
  """Returns {name: `inspect.Parameter`} of a class' own constructor.

  Returns:
    dict, without `self` and what takes any others; and whether there is
    something that takes any by name.
  """
  _, *found = inspect.signature(layer_class.__init__).parameters.values()
  named = {
    p.name: p for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
  }
  return named, any(p.kind == p.VAR_KEYWORD for p in found)


def _given(layer_class, args, kwargs):
  """Returns the names of the arguments that make a layer again, tuple of str.

  They are those of its class; and, where that passes others on, those of its
  base classes below `Layer` that were given.

  Args:
    layer_class: class of the layer.
    args: tuple, given by place.
    kwargs: dict, given by name.
  """
  names, passes_on = {}, True
  for owner in layer_class.__mro__[: layer_class.__mro__.index(Layer)]:
    if "__init__" in vars(owner) and passes_on:
      own, passes_on = _parameters(owner)
      places = [n for n, p in own.items() if p.kind != p.KEYWORD_ONLY]
      by_place = places[: len(args)]
      taken = own if not names else kwargs.keys() | by_place
      names |= {name: None for name in own if name in taken}
      args = args[len(by_place) :]
  return tuple(names)


def inner_state(layer):
  """Returns what has become of the layers inside of a built layer.

  Args:
    layer: `keras.Layer`, or a model.

  Returns:
    dict in plain types, without what is as after `build`: "inner_policies", as
    the function of that name; "adapters", {number of a dense layer, as str:
    [rank, alpha]}; "frozen", the numbers of the weights that are not trained.
  """
  adapters = {
    str(number): [inner.lora_rank, inner.lora_alpha]
    for number, inner in enumerate(_inner_layers(layer))
    if isinstance(inner, Dense) and inner.lora_enabled
  }
  state = {
    "inner_policies": inner_policies(layer),
    "adapters": adapters,
    "frozen": [n for n, w in enumerate(layer.weights) if not w.trainable],
  }
  return {name: value for name, value in state.items() if value}


def pop_inner_state(config):
  """Removes from a dict what `inner_state` added, and returns it."""
  names = ("inner_policies", "adapters", "frozen")
  return {name: config.pop(name) for name in names if name in config}


def restore_inner_state(layer, state):
  """Restores what `inner_state` returned, in a built layer or a model."""
  restore_inner_policies(layer, state.get("inner_policies", {}))
  inner_layers = _inner_layers(layer)
  for number, (rank, alpha) in state.get("adapters", {}).items():
    inner_layers[int(number)].enable_lora(rank, alpha)
  weights = layer.weights
  for number in state.get("frozen", ()):
    weights[number].trainable = False


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
