"""Files of a shard: its arrays and ids, written atomically, and read."""

import io
import json
import os

import numpy as np
import safetensors
import safetensors.numpy

from keras_bert_impl import files
from keras_bert_impl.kinds.embeddings.corpus import corpus_options

DAMAGED = (
  "is cut or changed: encode the corpus again as before, which writes only what"
  " is missing."
)
_IDS, _VECTORS = "ids", "vectors"
_IMPACT = 100  # by which a weight is multiplied, as in the papers of SPLADE


def name_of(kind, number, num_shards, suffix):
  """Returns the name of a file of a shard, str."""
  return f"{kind}-{number:05d}-of-{num_shards:05d}{suffix}"


def write(folder, place, file_format, ids, arrays, tokens):
  """Writes the files of a shard; returns their names, list of str.

  Args:
    folder: str.
    place: (int, the number of the shard; int, the number of shards).
    file_format: str, of `corpus_options.FORMATS`.
    ids: list of N str.
    arrays: {name: array}, as of `vector_forms.pack`.
    tokens: sequence of str, those of the vocabulary.
  """
  contents = {name_of(_IDS, *place, ".txt"): "".join(f"{x}\n" for x in ids)}
  if file_format == corpus_options.IMPACTS:
    name = name_of(_VECTORS, *place, ".jsonl")
    contents[name] = "".join(_impacts(ids, arrays, tokens))
  elif file_format == corpus_options.SAFETENSORS:
    name = name_of(_VECTORS, *place, ".safetensors")
    contents[name] = safetensors.numpy.save(arrays)
  else:
    for kind, array in arrays.items():
      contents[name_of(kind, *place, ".npy")] = _as_npy(array)
  for name, content in contents.items():
    files.write_atomically(os.path.join(folder, name), content)
  return [*contents]


def read_ids(folder, place):
  """Returns the ids of a shard, list of str."""
  path = os.path.join(folder, name_of(_IDS, *place, ".txt"))
  return files.read_text(path).split("\n")[:-1]


def read(folder, names):
  """Returns the arrays of a shard, {name: array}; those of local .npy mapped.

  Args:
    folder: str.
    names: list of str, as `write` returned them.

  Raises:
    ValueError: a file holds no such arrays.
  """
  arrays = {}
  for name in names:
    path = os.path.join(folder, name)
    kind, suffix = name.partition("-")[0], os.path.splitext(name)[1]
    if suffix == ".jsonl":
      raise ValueError(
        f"{path} holds impacts for Anserini: encode with file_format=npy to"
        " search here."
      )
    try:
      if suffix == ".npy":
        arrays[kind] = _read_npy(path)
      elif suffix == ".safetensors":
        arrays |= safetensors.numpy.load(files.read_bytes(path))
    except (ValueError, EOFError, safetensors.SafetensorError) as error:
      raise ValueError(f"{path} {DAMAGED}") from error
  return arrays


def _read_npy(path):
  if files.is_remote(path):
    return np.load(io.BytesIO(files.read_bytes(path)))
  return np.load(path, mmap_mode="r")


def _as_npy(array):
  file = io.BytesIO()
  np.save(file, array, allow_pickle=False)
  return file.getvalue()


def _impacts(ids, arrays, tokens):
  """Yields lines of JSON, as Anserini's JsonVectorCollection reads them."""
  offsets = arrays["offsets"]
  impacts = np.rint(arrays["vectors"].astype(np.float32) * _IMPACT).astype(int)
  for number, name in enumerate(ids):
    part = slice(offsets[number], offsets[number + 1])
    pairs = zip(arrays["indices"][part], impacts[part], strict=True)
    vector = {tokens[k]: int(x) for k, x in pairs if x and k < len(tokens)}
    line = {"id": name, "contents": "", "vector": vector}
    yield json.dumps(line, ensure_ascii=False) + "\n"
