"""Files of `transformers`, whatever their form.

Names of parameters, and an index, `*.index.json`, of a checkpoint of several
files.
"""

import dataclasses
import pathlib

from keras_bert_impl import files
from keras_bert_impl.checkpoints.descriptions import config_json
from keras_bert_impl.checkpoints.naming import adapters, columns, names

# The only weights without a configuration: {our name: theirs}.
STATIC = {"static_embeddings/embeddings": "embedding.weight"}


def open_weights(read, path, declared):
  """Opens the weights of a model of `transformers`, under our names.

  Args:
    read: function of a path that returns `stored_tensors.StoredTensors` under
      `transformers`' names.
    path: str, as for `read`.
    declared: `description.Description` of the files beside it, or None.

  Returns:
    (mapping of names -> arrays, with `shapes`; `declared`).

  Raises:
    FileNotFoundError: nothing is declared: names differ between families.
    ValueError: as `read`; or encoder and decoder have other tables of words.
  """
  stored = read(path)
  if declared is None and [*stored] == [*STATIC.values()]:
    return stored.renamed(STATIC, set()), None
  config_json.check_declared(declared, path)
  origins, family = {}, declared.config.family
  # An output matrix with a bias of its own reads no other.
  for name in sorted(stored, key=lambda name: ".decoder." not in name):
    ours = names.from_transformers(name, family, declared.head)
    if ours == names.WORD_EMBEDDINGS and ours in origins:
      _check_same_tables(stored, name, origins[ours], path)
    if ours is not None:
      origins.setdefault(ours, name)
  decoder, table = map(origins.get, (names.DECODER, names.WORD_EMBEDDINGS))
  if decoder and declared.config.tie_word_embeddings:
    # Old files hold a copy. What differs counts, whatever the configuration
    # says, as in transformers 5, `PreTrainedModel.tie_weights`.
    if table and stored.differ(decoder, table):
      own = dataclasses.replace(declared.config, tie_word_embeddings=False)
      declared = dataclasses.replace(declared, config=own)
    else:
      del origins[names.DECODER]
  transposed = {name for name in origins if names.is_transposed(name, family)}
  tensors = adapters.of_task(
    stored.renamed(origins, transposed), stored, origins, transposed, declared
  )
  return columns.to_ours(tensors, declared.config), declared


def _check_same_tables(stored, name, other, path):
  """Raises ValueError if encoder and decoder have tables of their own."""
  if stored.differ(name, other):
    raise ValueError(
      f"{other} and {name} in {path} differ: encoder and decoder must share the"
      " table of words."
    )


def weight_files(path):
  """Returns the paths of a checkpoint's files, list.

  Args:
    path: path of its only file, or of its index: {"weight_map": {name: file}}.

  Raises:
    ValueError: the index is damaged, or points outside its folder.
    FileNotFoundError: there is no such file, or one of the index is missing.
  """
  path = pathlib.Path(path)
  paths = _indexed(path) if path.suffix == ".json" else [path]
  for path in paths:
    if not path.is_file():
      raise FileNotFoundError(f"There is no file {path}.")
  return paths


def _indexed(index_path):
  """Returns the files of an index, in its folder."""
  index = files.read_json(index_path)
  weight_map = files.field(index, "weight_map", dict, index_path)
  files.check_fields(weight_map, dict.fromkeys(weight_map, str), index_path)
  file_names = sorted(set(weight_map.values()))
  return [pathlib.Path(files.beside(index_path, name)) for name in file_names]
