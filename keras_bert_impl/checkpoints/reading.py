"""Opens a checkpoint of any known format.

  folder or file of safetensors   config.json and tokenizer files beside it
  pytorch_model.bin, tf_model.h5  the same; the pickle is never run
  TensorFlow checkpoint           Google's release of BERT, ALBERT or ELECTRA,
                                  or the output_dir of a run of ours; its
                                  bert_config.json or albert_config.json;
                                  or BERT of the Model Garden
  model.weights.h5                a preset of KerasHub, config.json beside it
  .keras                          a model saved by Keras

Weights get our names (see `names`) instead of those in the file. Low-rank
adapters, which runs and `.keras` files may hold, are merged into the kernels.
"""

import collections.abc
import dataclasses
import importlib

from keras_bert_impl import files
from keras_bert_impl.checkpoints import hub
from keras_bert_impl.checkpoints.descriptions import (
  config_json,
  google_config,
  keras_hub_config,
  vocab_size,
)
from keras_bert_impl.checkpoints.descriptions import (
  description as description_lib,
)
from keras_bert_impl.checkpoints.formats import peft_format, safetensors_format
from keras_bert_impl.checkpoints.naming import adapters

_TORCH = (".bin", ".pt", ".pth", ".pkl")
# {ending: module that reads it}; a TensorFlow checkpoint's prefix has none.
# The module is imported late: safetensors are read without TensorFlow.
_READERS = {
  ".safetensors": "safetensors_format",
  ".bin.index.json": "torch_format",
  ".index.json": "safetensors_format",
  # Before ".h5"; others of that end are no presets.
  keras_hub_config.WEIGHTS_FILE: "keras_hub_format",
  ".h5": "h5_format",
  ".keras": "keras_format",
  **dict.fromkeys(_TORCH, "torch_format"),
}
# In a folder of several, the first of these counts.
_FILE_NAMES = (
  safetensors_format.FILE_NAME,
  safetensors_format.INDEX_NAME,
  "pytorch_model.bin",
  "pytorch_model.bin.index.json",
  "tf_model.h5",
  keras_hub_config.WEIGHTS_FILE,
)
# Other files that are models, or say what those in folders below are.
_OTHER_MODELS = ("modules.json", "saved_model.pb", ".onnx", ".tflite")
# File of a search's results.
_RESULTS_FILE = "results.json"
_RESULT_TYPES = {"best": (dict, type(None))}


@dataclasses.dataclass(frozen=True)
class Checkpoint:
  """An open checkpoint: tensors and description.

  Attributes:
    path: str, of the file or the prefix of files that hold the weights.
    format: str, "safetensors", "torch", "h5", "keras_hub", "tensorflow" or
      "keras".
    tensors: mapping of our names -> arrays, with `shapes`; without the slots of
      optimizers.
    description: `description.Description`, or None if no file says what the
      encoder is and the weights do not show it; see `described`.
    folder: `files.Folder` of the configuration and tokenizer files.
  """

  path: str
  format: str
  tensors: collections.abc.Mapping
  description: description_lib.Description | None
  folder: files.Folder

  def described(self, allow_partial=False):
    """Returns the description.

    Args:
      allow_partial: bool, whether the encoder may lack weights that the
        description says, or have others.

    Raises:
      FileNotFoundError: there is none.
      ValueError: the vocabulary beside it has more tokens than the table rows,
        or there are fewer layers than it says.
    """
    if self.description is None:
      raise FileNotFoundError(
        f"There is no {' or '.join(google_config.file_names())}, nor "
        f"{config_json.FILE_NAME} beside {self.path}: it says what the weights "
        "are."
      )
    if not allow_partial:
      self._check_layers()
    vocab_size.check_beside(self.description.config, self.folder, self.path)
    return self.description

  def _check_layers(self):
    """Compares depths before a model of so many layers takes its time."""
    config = self.description.config
    last = f"bert/encoder/{config.last_block}"
    if not any(name.startswith(last + "/") for name in self.tensors.shapes):
      raise ValueError(
        f"{last} is missing in checkpoint {self.path}: its"
        f" configuration has {config.num_hidden_layers} layers."
      )


def open_checkpoint(path):
  """Opens the `Checkpoint` at `path`.

  Args:
    path: str, a folder, a file or the prefix of a TensorFlow checkpoint, such
      as "bert_model.ckpt", TensorFlow's may be `gs://...`; the name of a model,
      such as "klue/bert-base", see `hub`; or a `files.Folder`.

  Raises:
    FileNotFoundError: there is none.
    ValueError: it is damaged, of an unknown kind, or its configuration or
      adapter does not fit its weights.
  """
  opened = hub.opened(path, weights=True)
  path = _find(opened)
  folder = opened.of_file(path)
  readers = (name for end, name in _READERS.items() if path.endswith(end))
  name = next(readers, "tf_format")
  file_format = importlib.import_module(f"{__package__}.formats.{name}")
  declared = config_json.find(folder)
  tensors, declared = file_format.open_weights(path, declared)
  if folder.adapter and declared.task is None:
    beside = folder.join(folder.adapter)
    tensors = peft_format.added(tensors, beside, declared)
  tensors = adapters.merged(tensors)
  if declared:
    declared = description_lib.complete(declared, tensors.shapes, folder)
  return Checkpoint(path, file_format.NAME, tensors, declared, folder)


def holds_model(path):
  """Returns whether a folder, if it is one, has the weights of a model."""
  folder = files.Folder(path)
  if any(name.endswith(_OTHER_MODELS) for name in folder.names):
    return True
  try:
    return _find_weights(folder) is not None
  except (FileNotFoundError, ValueError):  # Several, or one below is lost.
    return True


def _find(folder):
  """Finds the file, or prefix of files, in a folder, or that is no folder."""
  if folder.is_there:
    return _find_in_folder(folder)
  path = folder.path
  prefix = path.removesuffix(".index")
  if files.exists(f"{prefix}.index"):
    return prefix
  if not files.exists(path):
    raise FileNotFoundError(
      f"There is no checkpoint {path}: no file or folder of that name, and no "
      f"{path}.index."
    )
  if not path.endswith(tuple(_READERS)):
    raise ValueError(
      f"{path} is not a checkpoint of a known kind: .safetensors, .bin, "
      ".h5, .keras, or the prefix of a TensorFlow checkpoint, such as "
      "bert_model.ckpt."
    )
  return path


def _find_in_folder(folder):
  if found := _find_weights(folder):
    return found
  best = best_run(folder)
  raise FileNotFoundError(
    f"Folder {folder} holds the runs of a search: give its best run, {best}."
    if best
    else f"Folder {folder} holds no checkpoint: no safetensors, torch, "
    "TensorFlow or Keras file."
  )


def _find_weights(folder):
  """Finds the file, or prefix of files, in a folder; None without one."""
  for name in _FILE_NAMES:
    if name in folder.names:
      return folder.join(name)
  if "checkpoint" in folder.names and (newest := _newest(folder)):
    return newest
  for ending in (".safetensors", ".index", ".keras", *_TORCH, ".h5"):
    found = [name for name in folder.names if name.endswith(ending)]
    if len(found) > 1:
      raise ValueError(
        f"{folder} holds several checkpoints ({', '.join(found)}): name one."
      )
    if found:
      return folder.join(found[0].removesuffix(".index"))
  if hub.OLD_TRANSFORMER in folder.names:
    return _find(files.Folder(folder.join(hub.OLD_TRANSFORMER)))
  return None


def best_run(folder):
  """Returns the folder of the best run of a search, or None for another folder.

  Args:
    folder: `files.Folder`.

  Raises:
    ValueError: the file that says so is damaged.
  """
  results = folder.find_json(_RESULTS_FILE, types=_RESULT_TYPES) or {}
  best = results.get("best")
  if not best:
    return None
  # By name: the whole folder may have moved.
  place = f"best in {folder.join(_RESULTS_FILE)}"
  return folder.join("runs", files.field(best, "name", str, place))


def _newest(folder):
  """Returns the prefix that the state file names last, None if it is gone.

  Raises:
    ValueError: the state file is damaged; names it.
  """
  import tensorflow as tf

  try:
    return tf.train.latest_checkpoint(folder.path)
  except ValueError as error:
    raise ValueError(
      f"{folder.join('checkpoint')} is damaged ({error}): name one of"
      " the folder's checkpoints, or remove that file."
    ) from error
