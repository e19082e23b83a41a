"""Folders of static embeddings, of sentence-transformers or model2vec.

  modules.json             StaticEmbedding, and maybe Normalize
  config.json              of model2vec without modules.json: whether it
                           normalizes
  model.safetensors        embedding.weight [V, D]; of model2vec embeddings,
                           and maybe weights [V] of its rows
  tokenizer.json           which may limit the tokens of a text

The last two are in the folder itself or in 0_StaticEmbedding.
"""

import os

from keras_bert_impl import files
from keras_bert_impl.checkpoints import hub
from keras_bert_impl.checkpoints.formats import safetensors_format
from keras_bert_impl.checkpoints.naming import mappings
from keras_bert_impl.models.heads import static_embedding_model
from keras_bert_impl.sentences import folders, modules
from keras_bert_impl.tokenizers.formats import (
  tokenizer_json_writing,
  vocabulary_files,
)

_TABLE, _OF_MODEL2VEC = "embedding.weight", "embeddings"
_ROW_WEIGHTS, _MAPPING = "weights", "mapping"
_NONE = type(None)


def is_one(path):
  """Whether the folder `path` holds static embeddings."""
  if not files.is_folder(path):
    return False
  if folders.is_one(path):
    # Whatever is wrong with it, whoever reads it says so.
    listed = files.read_json(os.path.join(path, folders.MODULES_FILE), list)
    first = listed[0] if listed else None
    kind = first.get("type") if isinstance(first, dict) else None
    return str(kind).endswith(f".{folders.STATIC}")
  config = files.find_json(os.path.join(path, "config.json")) or {}
  return config.get("model_type") == "model2vec"


def read(path):
  """Returns the model of a folder, with its weights, and its `folders.Texts`.

  Args:
    path: str, a folder, or a name of the hub.

  Raises:
    FileNotFoundError: a file is missing.
    ValueError: it is another model, or damaged.
  """
  path = hub.local_path(path, weights=True)
  files.check_exists(path, "The folder of static embeddings")
  if not is_one(path):
    raise ValueError(
      f"{path} has no static embeddings: neither {folders.MODULES_FILE} begins"
      f" with {folders.STATIC}, nor is config.json that of model2vec. Open"
      " transformers with kb.SentenceEncoder, and make one of these with"
      " kb.StaticEncoder.distil."
    )
  place, normalize = _place(path)
  table = _read_table(place)
  model = static_embedding_model.StaticEmbeddingModel(*table.shape, normalize)
  model.table.assign(table)
  limit = _read_limit(vocabulary_of(path))
  return model, folders.Texts(limit, False, *folders.read_prompts(path))


def vocabulary_of(path):
  """Returns the path of the tokenizer.json of a folder."""
  return os.path.join(_place(path)[0], vocabulary_files.TOKENIZER_JSON)


def write(path, model, texts, vocabulary, options):
  """Writes a folder that sentence-transformers reads.

  Args:
    path: str, a folder that is there.
    model: `StaticEmbeddingModel`.
    texts: `folders.Texts`.
    vocabulary: `Vocabulary`, for tokenizer.json.
    options: those of its tokenizer.
  """
  arrays = mappings.Arrays({_TABLE: model.table})
  safetensors_format.write(path, arrays)
  content = tokenizer_json_writing.content(vocabulary, options)
  place = f"tokenizer.json of {vocabulary.origin}"
  values = files.parse_json(
    content if isinstance(content, str) else files.decode(content, place), place
  )
  # What the tokenizer of an encoder cuts, this one need not.
  values |= {"padding": None, "truncation": None}
  if texts.max_seq_length:
    values["truncation"] = {
      "direction": "Right",
      "max_length": texts.max_seq_length,
      "strategy": "LongestFirst",
      "stride": 0,
    }
  name = os.path.join(path, vocabulary_files.TOKENIZER_JSON)
  files.write_atomically(name, files.to_json(values))
  listed = [folders.Module(folders.STATIC, path)]
  if model.normalize:
    place = os.path.join(path, f"1_{folders.NORMALIZE}")
    os.mkdir(place)
    listed.append(folders.Module(folders.NORMALIZE, place))
  folders.write_modules(path, listed)
  folders.write_prompts(path, texts)


def _place(path):
  """Returns the folder of the table, and whether vectors get length 1."""
  if not folders.is_one(path):
    name = os.path.join(path, "config.json")
    values = files.read_json(name, types={"normalize": (bool, _NONE)})
    return path, bool(values.get("normalize"))
  first, *others = folders.read_modules(path)
  kinds = [module.kind for module in others]
  if kinds not in ([], [folders.NORMALIZE]):
    raise ValueError(
      f"{path}/{folders.MODULES_FILE} has the modules {', '.join(kinds)} after"
      f" {folders.STATIC}: only {folders.NORMALIZE} is known there."
    )
  return first.path, bool(kinds)


def _read_table(place):
  """Returns the table of a folder, float32 [V, D]."""
  tensors = modules.read_weights(place)
  name = _TABLE if _TABLE in tensors else _OF_MODEL2VEC
  shape = tensors.shapes.get(name, ())
  if len(shape) != 2 or _MAPPING in tensors:
    found = ", ".join(f"{k} {list(v)}" for k, v in tensors.shapes.items())
    raise ValueError(
      f"The weights in {place} ({found}) must be {_TABLE} [V, D], or"
      f" {_OF_MODEL2VEC} [V, D] of model2vec without a {_MAPPING}."
    )
  table = tensors[name]
  if _ROW_WEIGHTS in tensors:
    table *= tensors[_ROW_WEIGHTS][:, None]
  return table


def _read_limit(path):
  """Returns the most tokens that a tokenizer.json leaves of a text, or None."""
  types = {"truncation": (dict, _NONE)}
  truncation = files.read_json(path, types=types).get("truncation")
  if not truncation:
    return None
  place = f"truncation of {path}"
  direction = truncation.get("direction", "Right")
  if direction != "Right":
    raise ValueError(f"direction ({direction!r}) in {place} must be 'Right'.")
  return files.field(truncation, "max_length", int, place)
