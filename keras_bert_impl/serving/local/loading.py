"""Loads one version of a model: a SavedModel, or a file of LiteRT or ONNX."""

import importlib
import json
import pathlib

from keras_bert_impl.serving.local import signatures


def load(path, version, open_file=None):
  """Loads a version of a model.

  Args:
    path: str or Path, its directory.
    version: int.
    open_file: function of the directory of a file of LiteRT or ONNX, which
      returns its `signatures.Signature`s by name; None: there are SavedModels
      only.

  Returns:
    `signatures.LoadedModel`.

  Raises:
    ValueError: if it is no model that can be run; one line.
  """
  path = pathlib.Path(path)
  try:
    if open_file and (path / "model.json").exists():
      found = open_file(str(path))
      shown = {k: signatures.definition(x) for k, x in sorted(found.items())}
      information = _information(path / "model.json")
    else:
      information = _information(path / "assets.extra" / "model.json")
      found, shown = _saved_models().load(path)
    return signatures.LoadedModel(version, found, shown, information)
  # A broken file shows itself in errors of many kinds.
  except Exception as error:
    reason = next(iter(str(error).splitlines()), type(error).__name__)
    raise ValueError(
      f"{path} is no model that can be served: {reason}"
    ) from error


def _saved_models():
  """Returns the module of SavedModels; files are served without TensorFlow."""
  return importlib.import_module(f"{__package__}.saved_models")


def _information(path):
  if not path.exists():
    return {}
  try:
    information = json.loads(path.read_text(encoding="utf-8"))
  except (ValueError, RecursionError) as error:
    raise ValueError(f"{path.name} is not JSON ({error}).") from error
  # The only part that the server itself reads.
  name = "model_name"
  if not isinstance(information, dict) or not isinstance(
    information.get(name, ""), str
  ):
    raise ValueError(f"{path.name} must be an object whose {name} is a text.")
  return information
