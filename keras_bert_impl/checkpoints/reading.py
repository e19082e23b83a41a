"""Opens a checkpoint of any known format.

  folder or file of safetensors   config.json and tokenizer files beside it
  TensorFlow checkpoint           Google's release of BERT, ALBERT or ELECTRA,
                                  or the output_dir of a run of ours; its
                                  bert_config.json or albert_config.json
  .keras                          a model saved by Keras

Weights get our names (see `names`) instead of those in the file.
"""

import collections.abc
import dataclasses
import os

from keras_bert_impl import configs, families, files, heads
from keras_bert_impl.checkpoints import (
  assignment,
  mappings,
  names,
  safetensors_format,
)
from keras_bert_impl.checkpoints import description as description_lib

SAFETENSORS, TENSORFLOW, KERAS = "safetensors", "tensorflow", "keras"
CONFIG_NAME = "config.json"
BERT_CONFIG_NAME = "bert_config.json"

# Whoever opens a pickle runs what its author wrote into it.
_PICKLES = (".bin", ".pt", ".pth", ".pkl")


@dataclasses.dataclass(frozen=True)
class Checkpoint:
  """An open checkpoint: tensors and description.

  Attributes:
    path: str, of the file or the prefix of files that hold the weights.
    format: SAFETENSORS, TENSORFLOW or KERAS.
    tensors: mapping of our names -> arrays, with `shapes`; without the slots of
      optimizers.
    description: `description.Description`, or None if no file says what the
      encoder is and the weights do not show it; see `described`.
  """

  path: str
  format: str
  tensors: collections.abc.Mapping
  description: description_lib.Description | None

  @property
  def folder(self):
    """Folder of the configuration and tokenizer files."""
    return os.path.dirname(self.path) or "."

  def described(self, allow_partial=False):
    """Returns the description.

    Args:
      allow_partial: bool, whether the encoder may lack weights that the
        description says, or have others.

    Raises:
      FileNotFoundError: there is none.
      ValueError: the vocabulary beside it has more tokens than the table rows,
        or the matrices of the encoder have other shapes than it says.
    """
    if self.description is None:
      raise FileNotFoundError(
        f"There is no {' or '.join(_google_config_names())}, nor {CONFIG_NAME} "
        f"beside {self.path}: it says what the weights are."
      )
    if not allow_partial:
      self._check_encoder()
    config = self.description.config
    path, num_tokens = _count_tokens(self.folder, config.family)
    if num_tokens:
      description_lib.check_vocab_size(config, num_tokens, path, self.path)
    return self.description

  def _check_encoder(self):
    """Compares sizes before a model of these sizes takes memory."""
    assignment.check_shapes(
      names.encoder_matrices(self.description.config),
      self.tensors,
      self.path,
    )


def open_checkpoint(path):
  """Opens the `Checkpoint` at `path`.

  Args:
    path: str, a folder, a file or the prefix of a TensorFlow checkpoint, such
      as "bert_model.ckpt"; TensorFlow's may be `gs://...`.

  Raises:
    FileNotFoundError: there is none.
    ValueError: it is damaged, of an unknown kind, or its configuration does not
      fit its weights.
  """
  path = os.fspath(path)
  found = _find(path)
  if found.endswith(_PICKLES):
    raise ValueError(
      f"{found} is a pickle, which could run any program when opened and "
      "never is here. Convert it where you trust it: "
      "transformers.AutoModel.from_pretrained(folder)"
      ".save_pretrained(new_folder) writes safetensors."
    )
  if found.endswith(".keras"):
    return _open_keras(found)
  if found.endswith((".safetensors", ".json")):
    return _open_safetensors(found)
  return _open_tensorflow(found)


def _find(path):
  """Finds the file, or prefix of files, of `path`."""
  if files.is_folder(path):
    return _find_in_folder(path)
  prefix = path.removesuffix(".index")
  if files.exists(f"{prefix}.index"):
    return prefix
  if not files.exists(path):
    raise FileNotFoundError(
      f"There is no checkpoint {path}: no file or folder of that name, and no "
      f"{path}.index."
    )
  if not path.endswith((".safetensors", ".index.json", ".keras", *_PICKLES)):
    raise ValueError(
      f"{path} is not a checkpoint of a known kind: .safetensors, .keras, or"
      " the prefix of a TensorFlow checkpoint, such as bert_model.ckpt."
    )
  return path


def _find_in_folder(folder):
  content = files.list_folder(folder)
  for name in (safetensors_format.FILE_NAME, safetensors_format.INDEX_NAME):
    if name in content:
      return os.path.join(folder, name)
  if "checkpoint" in content and (newest := _newest(folder)):
    return newest
  for ending in (".safetensors", ".index", ".keras", *_PICKLES):
    found = [name for name in content if name.endswith(ending)]
    if len(found) > 1:
      raise ValueError(
        f"{folder} holds several checkpoints ({', '.join(found)}): name one."
      )
    if found:
      return os.path.join(folder, found[0].removesuffix(".index"))
  hint = (
    " Of a search, name the folder of its best run."
    if "runs" in content
    else ""
  )
  raise FileNotFoundError(
    f"Folder {folder} holds no checkpoint: no safetensors, TensorFlow or Keras "
    f"file.{hint}"
  )


def _newest(folder):
  """Returns the prefix that the state file names last, None if it is gone."""
  import tensorflow as tf

  return tf.train.latest_checkpoint(folder)


def _open_safetensors(path):
  folder = os.path.dirname(path)
  declared = _declared(folder)
  if declared is None:
    raise FileNotFoundError(
      f"There is no {CONFIG_NAME} beside {path}: it says what the weights are."
    )
  stored = safetensors_format.read(path)
  origins = {}
  for name in stored:
    ours = names.from_transformers(name, declared.config.family)
    if ours is not None:
      origins.setdefault(ours, name)
  transposed = {name for name in origins if names.is_transposed(name)}
  tensors = mappings.Renamed(stored, origins, transposed)
  description = description_lib.complete(declared, tensors.shapes, folder)
  return Checkpoint(path, SAFETENSORS, tensors, description)


def _open_tensorflow(prefix):
  # Late: safetensors must be readable without TensorFlow.
  from keras_bert_impl.checkpoints import tf_format

  stored = tf_format.read(prefix)
  origins = {
    names.from_google(name): name
    for name, shape in stored.shapes.items()
    # Counters are scalars; a slot is named below its weight.
    if shape and name.rpartition("/")[0] not in stored.shapes
  }
  tensors = mappings.Renamed(stored, origins)
  description = _describe(os.path.dirname(prefix), tensors.shapes)
  return Checkpoint(prefix, TENSORFLOW, tensors, description)


def _describe(folder, shapes):
  """Returns the `Description` of a TensorFlow checkpoint in `folder`, or None.

  Head and labels are as a config.json says, if there is one too.
  """
  declared = _declared(folder)
  config = (
    _google_config(folder)
    or (declared and declared.config)
    or description_lib.config_of_shapes(shapes)
  )
  if config is None:
    return None
  declared = declared or description_lib.Description(config)
  declared = dataclasses.replace(declared, config=config)
  return description_lib.complete(declared, shapes, folder)


def _google_config(folder):
  """Returns the `EncoderConfig` in the first file of Google's, or None."""
  for name in _google_config_names():
    config = _parse(folder, name, description_lib.from_bert_config)
    if config:
      return config
  return None


def _google_config_names():
  """Returns the names of configuration files in Google's releases."""
  layouts = (family.google for family in families.FAMILIES.values())
  return [*dict.fromkeys(google.config_file for google in layouts if google)]


def _open_keras(path):
  import keras

  try:
    model = keras.saving.load_model(path, compile=False)
  except (ValueError, TypeError, KeyError, OSError) as error:
    reason = str(error).strip().partition("\n")[0]
    raise ValueError(
      f"{path} is damaged, or not a model of this library: {reason}"
    ) from error
  if not isinstance(getattr(model, "config", None), configs.EncoderConfig):
    raise ValueError(f"{path} holds no model of this library.")
  if any(layer.quantization_mode for layer in model._flatten_layers()):
    raise ValueError(
      f"{path} is quantized: its weights are no longer those of the "
      "architecture. Give the model that it was made from."
    )
  folder = os.path.dirname(path)
  tensors = mappings.Arrays({weight.path: weight for weight in model.weights})
  declared = _declared(folder) or description_lib.Description(model.config)
  declared = dataclasses.replace(declared, config=model.config)
  # The only class of models that its weights do not show.
  if type(model).__name__ == "MultipleChoice":
    declared = dataclasses.replace(declared, head=heads.MULTIPLE_CHOICE)
  description = description_lib.complete(declared, tensors.shapes, folder)
  return Checkpoint(path, KERAS, tensors, description)


def _count_tokens(folder, family):
  """Returns (path, number of tokens) of the vocabulary in `folder`."""
  path = os.path.join(folder, "vocab.json")
  ids = files.find_json(path)
  if ids is not None:
    return path, len(ids)
  for name in files.list_folder(folder):
    if name.endswith(".model"):
      path = os.path.join(folder, name)
      pieces = files.parse_pieces(files.read_bytes(path), path)
      return path, len(family.piece_tokens(pieces))
  path = os.path.join(folder, "vocab.txt")
  return path, files.count_lines(path) if files.exists(path) else 0


def _declared(folder):
  return _parse(folder, CONFIG_NAME, description_lib.from_config_json)


def _parse(folder, name, parse):
  """Parses a JSON file by `parse`; returns None without the file."""
  path = os.path.join(folder, name)
  values = files.find_json(path)
  return None if values is None else parse(values, path)
