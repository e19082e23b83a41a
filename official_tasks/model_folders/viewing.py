"""Opens trained models to look at: their attention and more."""

import os

from etils import epy

from official_tasks.model_folders import files as model_files
from official_tasks.model_folders import trained as trained_models

with epy.lazy_imports():
  from keras_bert_impl import tokenizers, visualization
  from tfrecords.labelled import classification_data

# More cells than these nobody can tell apart.
MOST_TOKENS = 128


def open_viewer(config, checkpoint_dir, head=None, layers=None, length=None):
  """Returns the `visualization.Viewer` of a checkpoint.

  Args:
    config: `model_files.ModelFilesConfig`.
    checkpoint_dir: str, as of `trained_models.load`, or a name of the hub.
    head: one of `heads.SERVED`, or None for what the model was trained for.
    layers: list of int, those to show, from 1; None for all.
    length: int, most tokens of a text or pair; None for `MOST_TOKENS`, or those
      of the model if they are fewer.

  Raises:
    FileNotFoundError: there is no checkpoint, or no vocabulary.
    ValueError: they do not fit together, or the model has no attention.
  """
  path = trained_models.find_folder(checkpoint_dir)
  trained = trained_models.load(path, head)
  files = model_files.find(config, trained.path, length or 1)
  longest = files.encoder_config.longest_input or MOST_TOKENS
  return visualization.Viewer(
    trained.model,
    trained.head,
    tokenizers.load(files.vocabulary_path, **vars(files.tokenizer_options)),
    length or min(longest, MOST_TOKENS),
    _labels(trained.recorded),
    layers,
    os.path.basename(checkpoint_dir.rstrip("/")),
  )


def _labels(recorded):
  """Returns the names of a model's classes, list of str, or None."""
  labels = recorded.get("labels")
  if not labels:
    return None
  names = classification_data.label_names(recorded.get("task_name")) or {}
  return [names.get(label, label) for label in labels]
