"""The files bert_config.json and albert_config.json of an encoder.

Google's releases have them; our runs write the first, with more keys.
"""

from etils import epy

from keras_bert_impl import families, files
from keras_bert_impl.checkpoints.descriptions import (
  description as description_lib,
)
from keras_bert_impl.checkpoints.naming import names
from keras_bert_impl.families import family as family_lib

# Keras, which takes seconds to import, is for those who build models.
with epy.lazy_imports():
  from keras_bert_impl import configs

FILE_NAME = "bert_config.json"


def file_names():
  """Returns the names of configuration files in Google's releases."""
  layouts = (family.google for family in families.FAMILIES.values())
  return [*dict.fromkeys(google.config_file for google in layouts if google)]


def find(folder):
  """Reads the `EncoderConfig` in the first such file of a folder, or None.

  Args:
    folder: `files.Folder`.

  Raises:
    ValueError: as `from_dict`.
  """
  for name in file_names():
    values = folder.find_json(name)
    if values is not None:
      return from_dict(values, folder.join(name))
  return None


def read(path):
  """Reads the `EncoderConfig` of the file `path`; see `from_dict`.

  Raises:
    FileNotFoundError: there is no such file.
    ValueError: it is not JSON, or as `from_dict`.
  """
  values = files.read_json(path, name="Configuration file")
  return from_dict(values, path)


def from_dict(values, origin):
  """Returns the `EncoderConfig` in a bert_config.json or albert_config.json.

  Args:
    values: dict, written by Google or by `EncoderConfig.to_json_file`.
    origin: str, the file, for messages.

  Raises:
    ValueError: an unknown key, or a value that is not allowed.
  """
  for family in families.FAMILIES.values():
    if "model_type" in values or not family.google:
      continue
    if not values.keys().isdisjoint(family.google.marks):
      values = _from_google(values, family, origin)
  return configs.EncoderConfig.from_dict(values, origin)


def to_dict(description):
  """Returns the content of the configuration file of Google's code.

  Raises:
    ValueError: Google's code has no such model.
  """
  config = description.config.explicit()
  google = config.family.google
  if not google:
    raise ValueError(
      f"{config.family.class_stem} has no format of Google's: it was never "
      "released in one. Use safetensors or keras."
    )
  fields = {*config.family.config_keys, *google.own_fields}
  fields -= {"layer_norm_eps", "tie_word_embeddings"}
  values = {field: getattr(config, field) for field in fields}
  values |= google.constants
  for theirs, ours in google.activations.items():
    if config.hidden_act == ours:
      values["hidden_act"] = theirs
  description_lib.check_expressed(
    description, from_dict(values, "it"), "Google's code"
  )
  return dict(sorted(values.items()))


def of_shapes(shapes):
  """Infers the configuration of an encoder from the shapes of its weights.

  For releases without a file that says it.

  Args:
    shapes: dict of our names -> tuple of int.

  Returns:
    `EncoderConfig`, or None if these are weights of no such family.
  """
  for family in families.FAMILIES.values():
    beginnings = family.google.only_weights if family.google else ()
    if any(name.startswith(beginnings) for name in shapes):
      try:
        return configs.EncoderConfig(
          model_type=family.name,
          **family.implied,
          **fields_of_shapes(shapes, family.google.head_size),
        )
      except KeyError:
        return None
  return None


def fields_of_shapes(shapes, head_size):
  """Infers fields of `EncoderConfig` from the shapes of weights.

  Args:
    shapes: as for `of_shapes`.
    head_size: int, of each attention head.

  Raises:
    KeyError: a weight is missing.
  """
  kernel = "bert/encoder/layer_0/intermediate/dense/kernel"
  hidden_size, intermediate_size = shapes[kernel]
  return {
    **configs.EncoderConfig.fields_of_tables(
      shapes[names.WORD_EMBEDDINGS],
      shapes[names.POSITION_EMBEDDINGS],
      shapes["bert/embeddings/token_type_embeddings"],
    ),
    "hidden_size": hidden_size,
    "num_hidden_layers": sum(
      name.startswith("bert/") and name.endswith("self/query/kernel")
      for name in shapes
    ),
    "num_attention_heads": max(1, hidden_size // head_size),
    "intermediate_size": intermediate_size,
  }


def _from_google(values, family, origin):
  """Returns the fields of `EncoderConfig` in a configuration of Google's."""
  google = family.google
  kept = google.constants.keys() & family.config_keys.keys()
  fixed = family.fixed | {key: google.constants[key] for key in kept}
  family_lib.check_fixed(values, fixed, origin)
  values = {k: v for k, v in values.items() if k not in google.constants}
  activation = values.get("hidden_act")
  if activation in google.activations:
    values["hidden_act"] = google.activations[activation]
  return family.defaults | values | {"model_type": family.name}
