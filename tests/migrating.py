"""Runs the code of docs/migrating.md: of other libraries, and ours.

    TF_USE_LEGACY_KERAS=1 python -m tests.migrating FOLDER OUTPUT

in an environment with transformers 4 and its TensorFlow models runs the first
block of each section in FOLDER and pickles what it has computed.
It imports nothing of this project. `tests/compare_migrating.py` compares.
"""

import collections.abc
import json
import os
import pathlib
import pickle
import re
import sys

import numpy as np

ROOT = pathlib.Path(__file__).parents[1]
PAGE = ROOT / "docs/migrating.md"
_SECTION = re.compile(r"^### (.*)$", re.M)
_BLOCK = re.compile(r"```python\n(.*?)```", re.S)
_PART = re.compile(r"^## (.*)$", re.M)
# The first code of the last cell of a row.
_RIGHT = re.compile(r"^\|.*\| [^`|]*`([^`|]*)`[^|]* \|$", re.M)
OTHERS = (
  *("Generating text", "KerasHub", "Model Garden", "google-research/bert"),
  *("sentence-transformers", "bert-for-tf2"),
)


def sections():
  """Returns {heading: (their code, ours)} of the page."""
  _, *parts = _SECTION.split(PAGE.read_text("utf-8"))
  found = {}
  for heading, text in zip(parts[::2], parts[1::2], strict=True):
    theirs, ours = _BLOCK.findall(text)
    found[heading] = (theirs, ours)
  return found


def right_columns():
  """Returns {library: what is on the right of its table, as a program}."""
  _, *parts = _PART.split(PAGE.read_text("utf-8"))
  parts = dict(zip(parts[::2], parts[1::2], strict=True))
  return {name: "\n".join(_RIGHT.findall(parts[name])) for name in OTHERS}


def run(code, prelude="import tensorflow as tf"):
  """Runs code; returns {variable: plain value} of the values that it sets."""
  values = {}
  exec(prelude, values)
  exec(code, values)
  plain = {name: _plain(x) for name, x in values.items() if name[0] != "_"}
  return {name: x for name, x in plain.items() if x is not None}


def differences(value, other, place):
  """Yields (place, how far apart) of two plain values, inf if unlike."""
  if isinstance(value, dict) and isinstance(other, dict):
    for key in value.keys() & other.keys():
      yield from differences(value[key], other[key], f"{place}.{key}")
  elif isinstance(value, list) and isinstance(other, list):
    if len(value) != len(other):
      yield place, np.inf
    for number, pair in enumerate(zip(value, other, strict=False)):
      yield from differences(*pair, f"{place}[{number}]")
  elif isinstance(value, str) or isinstance(other, str):
    yield place, 0.0 if value == other else np.inf
  else:
    value, other = np.asarray(value), np.asarray(other)
    is_alike = value.shape == other.shape
    # Of no elements, there is no greatest.
    far = np.abs(value - other).max(initial=0.0) if is_alike else np.inf
    yield place, float(far)


def _plain(value):
  """Returns a value of arrays, str, numbers, lists and dicts; or None."""
  if isinstance(value, str | int | float):
    return value
  if isinstance(value, bytes):
    return value.decode()
  if isinstance(value, list | tuple):
    items = [_plain(item) for item in value]
    return None if any(item is None for item in items) else items
  if isinstance(value, dict):
    return {key: _plain(item) for key, item in value.items()}
  if isinstance(value, type | collections.abc.Mapping):
    return None
  if hasattr(value, "to_list"):  # ragged
    return _plain(value.to_list())
  try:
    array = np.asarray(value)
  except Exception:  # a symbolic tensor
    return None
  if array.dtype.kind in "OSU":
    return None if array.ndim == 0 else _plain(array.tolist())
  return array


def main(folder, output, *others):
  """Runs the blocks of transformers, and writes {heading: variables}.

  Args:
    folder: str, folder of the models.
    output: str, file to write.
    *others: str, other folders of models: if there are any, all models are
      first written anew, as tf_model.h5.
  """
  for other in others:
    for path in (
      *pathlib.Path(folder).iterdir(),
      *pathlib.Path(other).iterdir(),
    ):
      _to_h5(path)
  codes = {heading: theirs for heading, (theirs, _) in sections().items()}
  found = {}
  output = os.path.abspath(output)
  os.chdir(folder)
  for heading, code in codes.items():
    try:
      found[heading] = run(code)
    except Exception as error:
      found[heading] = {"error": repr(error)}
  with open(output, "wb") as file:
    pickle.dump(found, file)


def _to_h5(path):
  """Writes a model of safetensors as tf_model.h5 in its place."""
  import transformers  # It is not where the tests run.

  config = json.loads((path / "config.json").read_text())
  [name] = config["architectures"]
  model = getattr(transformers, f"TF{name}").from_pretrained(path)
  model.save_pretrained(path, safe_serialization=False)
  (path / "model.safetensors").unlink()


if __name__ == "__main__":
  main(*sys.argv[1:])
