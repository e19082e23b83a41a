"""Opens a checkpoint of any known format.

  folder or file of safetensors   config.json and tokenizer files beside it
  pytorch_model.bin, tf_model.h5  the same; the pickle is never run
  TensorFlow checkpoint           Google's release of BERT, ALBERT or ELECTRA,
                                  or the output_dir of a run of ours; its
                                  bert_config.json or albert_config.json;
                                  or BERT of the Model Garden
  model.weights.h5                a preset of KerasHub, config.json beside it
  .keras                          a model saved by Keras

Weights get our names (see `names`) instead of those in the file.
"""

import collections.abc
import dataclasses
import os

from keras_bert_impl.checkpoints import locating
from keras_bert_impl.checkpoints.descriptions import (
  config_json,
  google_config,
  vocab_size,
)
from keras_bert_impl.checkpoints.descriptions import (
  description as description_lib,
)
from keras_bert_impl.checkpoints.naming import names


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
    vocab_size.check_beside(self.description.config, self.path)
    return self.description

  def _check_layers(self):
    """Compares depths before a model of so many layers takes its time."""
    config = self.description.config
    groups = config.num_hidden_groups
    last = (
      f"{names.LAYER}{config.num_hidden_layers - 1}/"
      if groups is None
      else f"{names.GROUP}{groups - 1}/"
    )
    if not any(name.startswith(last) for name in self.tensors.shapes):
      raise ValueError(
        f"{last.rstrip('/')} is missing in checkpoint {self.path}: its"
        f" configuration has {config.num_hidden_layers} layers."
      )


def open_checkpoint(path):
  """Opens the `Checkpoint` at `path`.

  Args:
    path: str, a folder, a file or the prefix of a TensorFlow checkpoint, such
      as "bert_model.ckpt", TensorFlow's may be `gs://...`; or the name of a
      model, such as "klue/bert-base"; see `hub`.

  Raises:
    FileNotFoundError: there is none.
    ValueError: it is damaged, of an unknown kind, or its configuration does not
      fit its weights.
  """
  path, file_format = locating.find(os.fspath(path))
  folder = os.path.dirname(path)
  declared = config_json.find(folder)
  tensors, declared = file_format.open_weights(path, declared)
  if declared:
    declared = description_lib.complete(declared, tensors.shapes, folder)
  return Checkpoint(path, file_format.NAME, tensors, declared)
