"""Reads and writes TensorFlow 1 checkpoints, the format of Google's BERT.

`<prefix>.index` and `<prefix>.data-00000-of-00001`; names are plain strings,
not paths through an object graph, so that files of TensorFlow 1 and of this
module have the same layout. Those of the Model Garden are such paths; they are
read too. Prefixes may be `gs://` paths.
"""

import dataclasses

import tensorflow as tf

from keras_bert_impl import files
from keras_bert_impl.checkpoints.descriptions import description, google_config
from keras_bert_impl.checkpoints.formats import model_garden
from keras_bert_impl.checkpoints.naming import mappings, names

NAME = "tensorflow"

# Errors of TensorFlow for a damaged file; IndexError for one with a hole.
_FAULTS = (tf.errors.OpError, RuntimeError, IndexError)
_REMEDY = "copy it again, or give another checkpoint."


class UnreadableError(ValueError):
  """A checkpoint is missing or damaged."""


def write(prefix, tensors):
  """Writes a checkpoint.

  Args:
    prefix: str, path without suffix; missing folders are made.
    tensors: dict of name -> array, tensor or variable, at least one.

  Raises:
    ValueError: nothing to write.
    tf.errors.OpError: the file system refuses, for instance a full disk.
      `<prefix>.index` is renamed into place last: without it there is no
      checkpoint.
  """
  if not tensors:
    raise ValueError(f"There are no tensors to write to {prefix}.")
  prefix = str(prefix)
  folder = prefix.rpartition("/")[0]
  if folder:
    tf.io.gfile.makedirs(folder)
  with tf.device("cpu:0"):
    tf.raw_ops.SaveV2(
      prefix=prefix,
      tensor_names=list(tensors),
      shape_and_slices=[""] * len(tensors),
      tensors=[tf.convert_to_tensor(tensor) for tensor in tensors.values()],
    )


def open_weights(prefix, declared):
  """Opens the weights of a model, under our names, without optimizers' slots.

  Args:
    prefix: str, as for `read`.
    declared: `description.Description` of the files beside it, or None.

  Returns:
    (mapping of names -> arrays, with `shapes`; `Description`, or None).
    Google's configuration file wins over `declared`, which has head and labels
    too; without either the shapes of the weights may show the configuration.

  Raises:
    UnreadableError: as `read`.
    ValueError: the configuration file is not valid.
  """
  stored = read(prefix)
  config = google_config.find(files.Folder(prefix).parent)
  config = config or (declared and declared.config)
  tensors = model_garden.under_our_names(stored)
  if tensors is None:
    tensors = _under_our_names(stored)
    config = config or google_config.of_shapes(tensors.shapes)
  else:
    config = model_garden.config_of(stored, tensors, config)
  if config is None:
    return tensors, None
  declared = declared or description.undeclared(config)
  return tensors, dataclasses.replace(declared, config=config)


def _under_our_names(stored):
  """Returns the weights in a checkpoint of Google's or of ours."""
  origins = {
    names.from_google(name): name
    for name, shape in stored.shapes.items()
    # Counters are scalars; a slot is named below its weight.
    if shape and name.rpartition("/")[0] not in stored.shapes
  }
  return names.completed(mappings.Renamed(stored, origins))


class StoredTensors(mappings.Tensors):
  """Mapping of name -> numpy array, read on demand.

  Args:
    prefix: str, path without suffix.

  Raises:
    UnreadableError: there is none, or its index is damaged; names the prefix.
  """

  def __init__(self, prefix):
    self.prefix = str(prefix)
    if not files.exists(f"{self.prefix}.index"):
      raise UnreadableError(
        f"There is no checkpoint {self.prefix}: {self.prefix}.index does not "
        "exist. Give the common part of the file names, such as "
        "bert_model.ckpt."
      )
    try:
      self._reader = tf.compat.v1.train.NewCheckpointReader(self.prefix)
      shapes = self._reader.get_variable_to_shape_map()
    except _FAULTS as error:
      raise UnreadableError(
        f"{self.prefix}.index is damaged ({error}): {_REMEDY}"
      ) from error
    self.shapes = {name: tuple(shapes[name]) for name in sorted(shapes)}

  def __getitem__(self, name):
    """Reads one array.

    Raises:
      KeyError: no such name.
      UnreadableError: the data file is missing or damaged; names both.
    """
    if name not in self.shapes:
      raise KeyError(name)
    try:
      return self._reader.get_tensor(name)
    except _FAULTS as error:
      raise UnreadableError(
        f"Cannot read {name} of checkpoint {self.prefix} ({error}): {_REMEDY}"
      ) from error


read = StoredTensors
