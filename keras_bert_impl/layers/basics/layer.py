"""Base class of layers, and what is inside of them: dense layers, LayerNorm.

Keras saves the dtype policy of each layer that it creates itself. Our layers
create dense layers and norms in `build`, with their own policy; this class
saves later changes of it, such as those of `quantize("int8")`.
"""

import dataclasses
import inspect
import typing
from collections.abc import Callable

import keras
import numpy as np
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
    return ops.matmul(x, self._own_kernel) + low_rank * self._lora_scale

  @property
  def _own_kernel(self):
    return self._kernel  # Keras' `kernel` has the adapters added.

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
    self._tracker.unlock()  # Else Keras refuses weights after `build`.
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
    self._own_kernel.assign_add(product * self._lora_scale)
    # Functions that were traced before go on to add what is zero now.
    self.lora_kernel_b.assign(ops.zeros(self.lora_kernel_b.shape))
    for name in ("lora_kernel_a", "lora_kernel_b", "lora_scale"):
      # Keras removes weights in no other way.
      self._untrack_variable(getattr(self, name))
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
    return (self._own_kernel, *bias, *adapters)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class LayerNormalization(keras.layers.LayerNormalization):
  """`keras.layers.LayerNormalization` over the last axis; see `kernels`."""

  def call(self, inputs, training=None):
    """Returns the normalized `inputs` [..., H]."""
    fast = kernels.layer_norm(
      inputs, self.gamma, self.beta, self.epsilon, training
    )
    return super().call(inputs) if fast is None else fast


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class RMSNormalization(keras.layers.Layer):
  """LayerNorm without mean and bias: each row over its root mean square.

  Args:
    epsilon: float, added to the mean of squares.
    **kwargs: of `keras.layers.Layer`.

  Source: Zhang and Sennrich 2019.
  """

  def __init__(self, epsilon=1e-6, **kwargs):
    super().__init__(**kwargs)
    self.epsilon = epsilon

  def build(self, shape):
    """Creates the weight, under LayerNorm's name."""
    self.gamma = self.add_weight(
      (shape[-1],), "ones", name="gamma", autocast=False
    )

  def call(self, inputs, training=None):
    """Returns the normalized `inputs` [..., H]."""
    return kernels.rms_norm(inputs, self.gamma, self.epsilon, training)

  def compute_output_spec(self, inputs, training=None):
    """Returns the shape and dtype of `call`."""
    return keras.KerasTensor(inputs.shape, self.compute_dtype)

  def get_config(self):
    """Returns the arguments of the constructor."""
    return {**super().get_config(), "epsilon": self.epsilon}


def norm(norm_type, epsilon, norm_bias, dtype):
  """Returns a new layer of `parts.NORMS`, for the end or beginning of a half.

  Args:
    norm_type: str, "layer_norm" or "rms_norm".
    epsilon: float.
    norm_bias: bool, whether LayerNorm adds a bias.
    dtype: a dtype policy.
  """
  options = {"epsilon": epsilon, "dtype": dtype, "name": "LayerNorm"}
  if norm_type == "rms_norm":
    return RMSNormalization(**options)
  return LayerNormalization(center=norm_bias, **options)


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


Activation = str | Callable[..., typing.Any]  # see `kernels.activation`


@dataclasses.dataclass(eq=False, repr=False)
class Arguments:
  """Base class of the arguments of a layer's constructor, which are its fields.

    @dataclasses.dataclass(eq=False, repr=False)
    class _PoolerArguments(layer.Arguments):
      dropout_rate: float = 0.0

    class Pooler(_PoolerArguments, layer.Layer):

  A class of its own, because of one that derives from Keras' layer, whose bases
  depend on the backend, type checkers know no constructor.
  """

  if typing.TYPE_CHECKING:  # What `keras.layers.Layer` takes besides.
    _: dataclasses.KW_ONLY
    name: str = ""
    dtype: typing.Any = None
    trainable: bool = True
    activity_regularizer: typing.Any = None


class Layer(keras.layers.Layer):
  """A layer whose constructor and configuration are made of its `Arguments`.

  The constructor checks them by their names, keeps them as attributes, and ends
  with `__post_init__`, to which it hands those that are properties instead. So
  it is where a class has `Arguments` among its bases. A user's subclass may
  have a constructor of its own instead, which keeps the arguments it names.

  The layers that are created with the methods below keep their dtype policies
  when the outer layer is saved.
  """

  of_keras = {}  # Arguments of `keras.layers.Layer` that are always the same.
  # Constructors may take them as arguments.
  norm_type, norm_bias = "layer_norm", True
  _constructor, _given = keras.layers.Layer.__init__, ()

  def __init_subclass__(cls, **named):
    super().__init_subclass__(**named)
    if cls.__module__.startswith(calls.PACKAGE):  # Users register their own.
      keras.saving.register_keras_serializable("keras_bert_impl")(cls)
    for base in cls.__bases__:
      if issubclass(base, Arguments) and not issubclass(base, Layer):
        cls.__init__ = cls._constructor = _constructor(base)
        cls._given = tuple(_parameters(base)[0])

  def __new__(cls, *args, **kwargs):
    """Notes which arguments are given to a user's class, for `get_config`."""
    layer = super().__new__(cls, *args, **kwargs)
    if cls.__init__ is not cls._constructor:
      layer._given = _given(cls, args, kwargs)
    return layer

  def __post_init__(self):
    """Checks the arguments together, and makes what they stand for."""

  def get_config(self):
    """Returns the arguments of the constructor; objects in plain types."""
    config = super().get_config()
    for name in self._given:
      value = getattr(self, name)
      if hasattr(value, "get_config"):
        value = keras.saving.serialize_keras_object(value)
      config[name] = value
    return config

  @classmethod
  def from_config(cls, config):
    """Returns a layer of the configuration that `get_config` returned."""
    config = dict(config)
    for name, value in config.items():
      if isinstance(value, dict) and "class_name" in value:
        # The layer builds it itself, where the paths of its weights begin.
        inner = value | {"build_config": {}}
        config[name] = keras.saving.deserialize_keras_object(inner)
    return super().from_config(config)

  def _inner(self, layer_class, name=None, **arguments):
    """Returns a new layer for inside of this one.

    Args:
      layer_class: subclass of `Layer`.
      name: str.
      **arguments: of its constructor; others that this layer has too, by their
        names, are as here.
    """
    for key in set(layer_class._given) & set(type(self)._given) - {*arguments}:
      arguments[key] = getattr(self, key)
    return layer_class(**arguments, dtype=self.dtype_policy, name=name)

  def _weight(self, name, *shape, autocast=True):
    """Returns a new weight of random numbers."""
    initial = truncated_normal(self.initializer_range)
    return self.add_weight(shape, initial, name=name, autocast=autocast)

  def _zeros(self, name, *shape, autocast=True):
    """Returns a new weight of zeros."""
    return self.add_weight(shape, "zeros", name=name, autocast=autocast)

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
    """Returns a built `LayerNormalization` or `RMSNormalization`."""
    layer = norm(
      self.norm_type, self.layer_norm_eps, self.norm_bias, self.dtype_policy
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


def _constructor(arguments):
  """Returns the constructor of a layer, given the class of its `Arguments`."""
  own = inspect.signature(arguments.__init__)
  others = inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)
  signature = own.replace(parameters=[*own.parameters.values(), others])
  is_ours = arguments.__module__.startswith(calls.PACKAGE)
  rules = _RULES if is_ours else {}  # Names of others mean what they like.
  for owner in arguments.__mro__:
    for name in own.parameters.keys() & vars(owner).keys():
      delattr(owner, name)  # On torch a default would hide a layer.

  def __init__(self, *args, **kwargs):
    bound = calls.bind(__init__, signature, rules, (self, *args), kwargs)
    bound.apply_defaults()
    given, made = bound.arguments, {}
    del given["self"]
    super(Layer, self).__init__(**given.pop("kwargs") | self.of_keras)
    for name, value in given.items():
      if isinstance(getattr(type(self), name, None), property):
        made[name] = value
      else:
        setattr(self, name, value)
    self.__post_init__(**made)

  __init__.__signature__ = signature
  return __init__


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
    is_layer = issubclass(owner, Layer)
    if is_layer and "__init__" in vars(owner) and passes_on:
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
    for number, inner in enumerate(inner_layers(layer))
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
  inside = inner_layers(layer)
  for number, (rank, alpha) in state.get("adapters", {}).items():
    inside[int(number)].enable_lora(rank, alpha)
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
  for number, inner in enumerate(inner_layers(layer)):
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
  inside = inner_layers(layer)
  for number, saved in policies.items():
    inner = inside[int(number)]
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


def inner_layers(layer):
  """Returns all layers inside of a layer or a model, list."""
  # Keras tells those that are inside of layers nowhere else.
  return layer._flatten_layers(include_self=False)


_REMEDIES = {
  "input_mask": "0 is padding, 1 a token and 2 a global token.",
}


def check_ids(name, ids, size):
  """Raises ValueError unless ids, int, are in [0, size).

  A look-up of others gives rows of other tokens, zeros or NaN, depending on
  the device. Nothing is checked while a step is traced: ids have no values yet.
  """
  try:
    values = np.asarray(ids)
  # Traced by TensorFlow or JAX, or partly on another machine.
  except (RuntimeError, TypeError):
    return
  wrong = values[(values < 0) | (values >= size)]
  if wrong.size:
    remedy = _REMEDIES.get(name, "tokenize with the model's own vocabulary.")
    raise ValueError(
      f"{name} ({wrong[0]}) must be from 0 to {size - 1}: {remedy}"
    )
