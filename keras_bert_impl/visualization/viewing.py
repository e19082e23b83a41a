"""Opens trained models to look at: their attention and more."""

import os

from etils import epy

from keras_bert_impl.model_folders import trained_models

with epy.lazy_imports():
  from keras_bert_impl import kinds, visualization
  from keras_bert_impl.models.heads import static_embedding_model

# More cells than these nobody can tell apart.
MOST_TOKENS = 128


def open_viewer(config, checkpoint_dir, head=None, layers=None, length=None):
  """Returns the `visualization.Viewer` of a checkpoint.

  Args:
    config: `files.ModelFilesConfig`.
    checkpoint_dir: str, as of `trained_models.open_with_tokenizer`.
    head: one of `heads.SERVED`, or None for what the model was trained for.
    layers: list of int, those to show: 1 is the first and -1 the last; None for
      all.
    length: int, most tokens of a text or pair; None for `MOST_TOKENS`, or those
      of the model if they are fewer.

  Raises:
    FileNotFoundError: there is no checkpoint, or no vocabulary.
    ValueError: they do not fit together, or the model has no attention.
  """
  trained, tokenizer, encoder_config = trained_models.open_with_tokenizer(
    config, checkpoint_dir, kinds.all_kinds(), head, length
  )
  if isinstance(encoder_config, static_embedding_model.StaticConfig):
    raise ValueError(
      f"{checkpoint_dir} has static embeddings, which have no attention."
    )
  servable_class = kinds.servables()[trained.head]
  longest = encoder_config.longest_input or MOST_TOKENS
  return visualization.Viewer(
    trained.model,
    trained.head,
    tokenizer,
    length or min(longest, MOST_TOKENS),
    _labels(servable_class, trained.recorded),
    layers,
    os.path.basename(checkpoint_dir.rstrip("/")),
    trained.recorded,
  )


def _labels(servable_class, recorded):
  """Returns the names of a model's classes, list of str, or None."""
  labels = recorded.get("labels")
  if not labels:
    return None
  names = servable_class.of_training(recorded).get("label_names", {})
  return [names.get(label, label) for label in labels]
