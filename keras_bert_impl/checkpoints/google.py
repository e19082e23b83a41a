"""Google's BERT checkpoints, both ways.

The paths of this library's variables are the names in those checkpoints, so
that there is nothing to rename.
"""

from keras_bert_impl.checkpoints import tf_format


def load_weights(model, prefix, may_be_missing=()):
  """Assigns the weights of `model` from a checkpoint, by path.

  Whatever else the file holds (Adam's slots, `global_step`, other heads) is
  left alone. Nothing is assigned unless everything fits.

  Args:
    model: built `keras.Model` or layer.
    prefix: str, path without suffix.
    may_be_missing: tuple of str, beginnings of paths, such as "cls/", that
      keep their values if the file lacks them.

  Returns:
    List of the paths that kept their values.

  Raises:
    ValueError: no such checkpoint, or it lacks weights or has them in another
      shape; names them all.
  """
  checkpoint = tf_format.read(prefix)
  weights = {weight.path: weight for weight in model.weights}
  missing = [path for path in weights if path not in checkpoint]
  kept = [path for path in missing if path.startswith(tuple(may_be_missing))]
  problems = [
    f"{path}: not in the checkpoint" for path in missing if path not in kept
  ]
  for path, weight in weights.items():
    shape = checkpoint.shapes.get(path)
    if shape is not None and shape != tuple(weight.shape):
      problems.append(
        f"{path}: {list(shape)} in the checkpoint, {list(weight.shape)} in the "
        "model"
      )
  if problems:
    listed = "\n  ".join(problems)
    raise ValueError(
      f"Checkpoint {prefix} does not fit the model; check bert_config.json:\n"
      f"  {listed}"
    )
  for path, weight in weights.items():
    if path not in kept:
      weight.assign(checkpoint[path])
  return kept


def save_weights(model, prefix):
  """Writes the weights of `model` under their paths; see `tf_format.write`."""
  tf_format.write(prefix, {weight.path: weight for weight in model.weights})
