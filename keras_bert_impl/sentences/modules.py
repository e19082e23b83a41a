"""Modules of sentence-transformers, as Keras layers and back.

1_Pooling/config.json   the modes of `layers.Pooling`
2_Dense/                config.json and weights of a dense layer
3_Normalize/            nothing of interest: vectors get length 1
1_SpladePooling/        config.json alone, of sparse vectors
1_Dense/                the projection of vectors of tokens
"""

import os

import keras

from keras_bert_impl import files
from keras_bert_impl.checkpoints.formats import safetensors_format, torch_format
from keras_bert_impl.checkpoints.naming import mappings
from keras_bert_impl.layers.heads import pooling
from keras_bert_impl.sentences import folders

_CONFIG = "config.json"
# Old versions have a key for each mode, and join the vectors in this order.
_FLAGS = {
  "pooling_mode_cls_token": "cls",
  "pooling_mode_max_tokens": "max",
  "pooling_mode_mean_tokens": "mean",
  "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
  "pooling_mode_weightedmean_tokens": "weightedmean",
  "pooling_mode_lasttoken": "lasttoken",
}
# {our activation: theirs}.
_ACTIVATIONS = {
  "linear": "torch.nn.modules.linear.Identity",
  "tanh": "torch.nn.modules.activation.Tanh",
  "relu": "torch.nn.modules.activation.ReLU",
  "gelu": "torch.nn.modules.activation.GELU",
  "sigmoid": "torch.nn.modules.activation.Sigmoid",
  "silu": "torch.nn.modules.activation.SiLU",
}
_KERNEL, _BIAS = "linear.weight", "linear.bias"
_SPLADE = {"pooling_strategy": "max", "activation_function": "relu"}
_VECTORS = ("sentence_embedding", "token_embeddings", None)
_NONE = type(None)


def read(modules, size):
  """Returns what `EmbeddingModel` is made of besides an encoder.

  Args:
    modules: tuple of `folders.Module`, the pooling first; or empty.
    size: int, H of the encoder.

  Returns:
    (modes: tuple of str, include_prompt: bool, list of Keras layers).

  Raises:
    FileNotFoundError, ValueError: as `read_layer`.
  """
  if not modules:
    return ("mean",), True, []
  pooling, *others = modules
  modes, include_prompt = read_pooling(pooling)
  size, layers = len(modes) * size, []
  for index, module in enumerate(others, start=2):
    layers.append(read_layer(module, size, f"{module.kind}_{index}".lower()))
    size = layers[-1].compute_output_shape((None, size))[-1]
  return modes, include_prompt, layers


def read_pooling(module):
  """Returns the modes of a pooling, tuple of str, and `include_prompt`.

  Args:
    module: `folders.Module`.

  Raises:
    ValueError: an unknown mode.
  """
  path = os.path.join(module.path, _CONFIG)
  types = dict.fromkeys(_FLAGS, bool)
  types |= {"pooling_mode": (str, list), "include_prompt": bool}
  values = files.read_json(path, types=types)
  flagged = [mode for flag, mode in _FLAGS.items() if values.get(flag)]
  modes = values.get("pooling_mode", flagged) or ["mean"]
  modes = (modes,) if isinstance(modes, str) else tuple(modes)
  for mode in modes:
    if mode not in pooling.MODES:
      raise ValueError(
        f"pooling_mode ({mode!r}) in {path} must be one of"
        f" {', '.join(pooling.MODES)}."
      )
  return modes, values.get("include_prompt", True)


def read_layer(module, size, name):
  """Returns the Keras layer of a module after the pooling, with its weights.

  Args:
    module: `folders.Module`.
    size: int, of the vectors that it gets.
    name: str, of the layer.

  Raises:
    FileNotFoundError: it has no weights.
    ValueError: it is damaged, or does what no layer here does.
  """
  path = os.path.join(module.path, _CONFIG)
  values = files.find_json(path) or {}
  for key in ("module_input_name", "module_output_name"):
    if values.get(key) not in _VECTORS:
      raise ValueError(
        f"{key} ({values[key]!r}) in {path} must be {_VECTORS[0]!r} or"
        f" {_VECTORS[1]!r}: others are not supported."
      )
  if module.kind == folders.NORMALIZE:
    return keras.layers.UnitNormalization(dtype="float32", name=name)
  return _read_dense(module, values, size, name)


def check_splade(module):
  """Checks that a pooling is that of `SparseEmbeddingModel`.

  Args:
    module: `folders.Module`.

  Raises:
    ValueError: it is another one.
  """
  path = os.path.join(module.path, _CONFIG)
  values = _SPLADE | files.read_json(path)
  for key, known in _SPLADE.items():
    if values[key] != known:
      raise ValueError(
        f"{key} ({values[key]!r}) in {path} must be {known!r}: others are not"
        " supported."
      )


def write_splade(folder):
  """Writes the pooling of `SparseEmbeddingModel`; returns its modules.

  Args:
    folder: str.

  Returns:
    tuple of `folders.Module`.
  """
  module = new_module(folder, 1, folders.SPLADE_POOLING)
  files.write_json(os.path.join(module.path, _CONFIG), _SPLADE)
  return (module,)


def read_projection(module, size):
  """Returns the matrix of a projection of tokens, float32 [H, D].

  Args:
    module: `folders.Module`.
    size: int, H.

  Raises:
    FileNotFoundError, ValueError: as `read_layer`; or it is not linear.
  """
  layer = read_layer(module, size, "linear")
  if (
    layer.use_bias or keras.activations.serialize(layer.activation) != "linear"
  ):
    raise ValueError(
      f"{module.path} must be linear, without bias or activation function, for"
      " late interaction."
    )
  return layer.kernel.numpy()


def write_projection(folder, model):
  """Writes that of a `MultiVectorEmbeddingModel`, as `write`."""
  module = new_module(folder, 1, folders.DENSE)
  _write_dense(module, model.get_layer("linear"))
  return (module,)


def write(folder, model):
  """Writes the pooling and the final layers of a model.

  Args:
    folder: str.
    model: `EmbeddingModel`.

  Returns:
    tuple of `folders.Module`.

  Raises:
    ValueError: sentence-transformers has no such pooling or layer.
  """
  modules = [new_module(folder, 1, folders.POOLING)]
  _write_pooling(modules[0], model)
  for index, layer in enumerate(model.final_layers, start=2):
    if isinstance(layer, keras.layers.Dense):
      modules.append(new_module(folder, index, folders.DENSE))
      _write_dense(modules[-1], layer)
    elif isinstance(layer, keras.layers.UnitNormalization):
      modules.append(new_module(folder, index, folders.NORMALIZE))
    else:
      raise ValueError(
        f"{layer.name} ({type(layer).__name__}) has no place in a folder of"
        " sentence-transformers: Dense and UnitNormalization have."
      )
  return tuple(modules)


def new_module(folder, index, kind):
  """Makes the folder of a module; returns the `folders.Module`."""
  path = os.path.join(folder, f"{index}_{kind}")
  os.mkdir(path)
  return folders.Module(kind, path)


def _write_pooling(module, model):
  """Writes the configuration of a pooling so that old versions read it too."""
  for mode in model.pooling:
    if mode not in pooling.MODES:
      raise ValueError(
        f"pooling ({mode!r}) has no place in a folder of sentence-transformers."
      )
  values = {
    "word_embedding_dimension": model.config.hidden_size,
    **{flag: mode in model.pooling for flag, mode in _FLAGS.items()},
    "include_prompt": model.include_prompt,
  }
  in_order = [mode for mode in _FLAGS.values() if mode in model.pooling]
  if in_order != [*model.pooling]:
    values["pooling_mode"] = [*model.pooling]
  files.write_json(os.path.join(module.path, _CONFIG), values)


def _read_dense(module, values, size, name):
  path = os.path.join(module.path, _CONFIG)
  types = {"activation_function": str, "bias": bool, "use_residual": bool}
  files.check_fields(values, types, path)
  if values.get("use_residual"):
    raise ValueError(f"use_residual (True) in {path} is not supported.")
  theirs = values.get("activation_function", _ACTIVATIONS["tanh"])
  by_name = {theirs: ours for ours, theirs in _ACTIVATIONS.items()}
  if theirs not in by_name:
    raise ValueError(
      f"activation_function ({theirs!r}) in {path} must be one of"
      f" {', '.join(by_name)}."
    )
  use_bias = values.get("bias", True)
  tensors = read_weights(module.path)
  names = {_KERNEL, *[_BIAS] * use_bias}
  if tensors.keys() != names:
    raise ValueError(
      f"{module.path} has the weights {', '.join(tensors)}, but its"
      f" {_CONFIG} asks for {', '.join(sorted(names))}."
    )
  shape = tensors.shapes[_KERNEL]
  if len(shape) != 2 or shape[1] != size:
    raise ValueError(
      f"{_KERNEL} in {module.path} has shape {list(shape)}, but gets vectors"
      f" of {size}."
    )
  layer = keras.layers.Dense(
    shape[0], by_name[theirs], use_bias, dtype="float32", name=name
  )
  layer.build((None, size))
  layer.kernel.assign(tensors[_KERNEL].T)
  if use_bias:
    layer.bias.assign(tensors[_BIAS])
  return layer


def read_weights(folder):
  """Returns the tensors of a module, a mapping of name -> float32 array.

  Raises:
    FileNotFoundError: there are none.
    ValueError: they are damaged.
  """
  pickled = os.path.join(folder, torch_format.FILE_NAME)
  path = os.path.join(folder, safetensors_format.FILE_NAME)
  if files.exists(pickled) and not files.exists(path):
    return torch_format.read(pickled)
  return safetensors_format.read(path)


def _write_dense(module, layer):
  activation = keras.activations.serialize(layer.activation)
  if activation not in _ACTIVATIONS:
    raise ValueError(
      f"activation ({activation!r}) of {layer.name} has no place in a folder of"
      f" sentence-transformers: {', '.join(_ACTIVATIONS)} have."
    )
  size, units = layer.kernel.shape
  files.write_json(
    os.path.join(module.path, _CONFIG),
    {
      "in_features": size,
      "out_features": units,
      "bias": layer.use_bias,
      "activation_function": _ACTIVATIONS[activation],
    },
  )
  arrays = {"kernel": layer.kernel}
  origins = {_KERNEL: "kernel"}
  if layer.use_bias:
    arrays["bias"] = layer.bias
    origins[_BIAS] = "bias"
  tensors = mappings.Renamed(mappings.Arrays(arrays), origins, {_KERNEL})
  safetensors_format.write(module.path, tensors)
