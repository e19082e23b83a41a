"""Looking at files and folders, local or of an object store (gs://...).

TensorFlow is imported for the latter only.
"""

import contextlib
import json
import os
import shutil


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
  try:
    values = json.loads(_read(path))
  except ValueError as error:
    raise ValueError(f"{path} is not a JSON file: {error}.") from error
  if not isinstance(values, dict):
    raise ValueError(f"{path} must hold one JSON object.")
  return values


def count_lines(path):
  """Returns the number of lines of a text file, empty ones at its end aside."""
  return len(_read(path).rstrip().split(b"\n"))


def count_pieces(path):
  """Returns the number of pieces of a SentencePiece model.

  Raises:
    ValueError: it is damaged, or no such model.
  """
  import sentencepiece  # Late: the other kinds do without.

  try:
    model = sentencepiece.SentencePieceProcessor()
    model.load_from_serialized_proto(_read(path))
    return model.get_piece_size()
  except RuntimeError as error:
    raise ValueError(
      f"{path} is damaged, or no SentencePiece model."
    ) from error


@contextlib.contextmanager
def new_folder(path):
  """Context of a local folder that appears at `path` when it is complete.

  Yields:
    str, the folder to write into, which becomes `path` at the end; after an
    error nothing is left of it.

  Raises:
    ValueError: `path` exists and is not an empty folder, or is not local.
  """
  path = os.fspath(path).rstrip("/")
  if "://" in path:
    raise ValueError(f"{path} must be a local folder: copy it from there.")
  if exists(path) and not (is_folder(path) and not list_folder(path)):
    raise ValueError(f"{path} exists already: choose another folder.")
  os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
  temporary = f"{path}.tmp-{os.getpid()}"
  os.mkdir(temporary)
  try:
    yield temporary
    os.replace(temporary, path)
  finally:
    shutil.rmtree(temporary, ignore_errors=True)


def _read(path):
  opened = _gfile().GFile(path, "rb") if "://" in path else open(path, "rb")
  with opened as file:
    return file.read()


def _gfile():
  import tensorflow as tf

  return tf.io.gfile
