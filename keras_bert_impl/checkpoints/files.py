"""Looking at files and folders, local or of an object store (gs://...).

TensorFlow is imported for the latter only.
"""

import json
import os


def exists(path):
  """Whether there is a file or folder `path`."""
  return _gfile().exists(path) if "://" in path else os.path.exists(path)


def is_folder(path):
  """Whether `path` is an existing folder."""
  return _gfile().isdir(path) if "://" in path else os.path.isdir(path)


def list_folder(path):
  """Returns the sorted names in the folder `path`."""
  return sorted(_gfile().listdir(path) if "://" in path else os.listdir(path))


def read_json(path):
  """Returns the object in the JSON file `path`, dict.

  Raises:
    ValueError: it is no JSON file, or holds something else; names it.
  """
  with _gfile().GFile(path) if "://" in path else open(path, "rb") as file:
    content = file.read()
  try:
    values = json.loads(content)
  except ValueError as error:
    raise ValueError(f"{path} is not a JSON file: {error}.") from error
  if not isinstance(values, dict):
    raise ValueError(f"{path} must hold one JSON object.")
  return values


def _gfile():
  import tensorflow as tf

  return tf.io.gfile
