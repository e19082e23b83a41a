"""Tables of static embeddings, of sentence-transformers or model2vec.

model.safetensors  embedding.weight [V, D]; of model2vec embeddings, and maybe
                   weights [V] of its rows
tokenizer.json     which may limit the tokens of a text
"""

import os

from keras_bert_impl import files
from keras_bert_impl.checkpoints.formats import (
  safetensors_format,
  transformers_files,
)
from keras_bert_impl.checkpoints.naming import mappings
from keras_bert_impl.models.heads import static_embedding_model
from keras_bert_impl.sentences import folders, modules
from keras_bert_impl.tokenizers.formats import (
  tokenizer_json_writing,
  vocabulary_files,
)

[_TABLE] = transformers_files.STATIC.values()
_OF_MODEL2VEC = "embeddings"
_ROW_WEIGHTS, _MAPPING = "weights", "mapping"


def load(module, normalize, dtype=None):
  """Returns the `StaticEmbeddingModel` of a `folders.Module`.

  Args:
    module: `folders.Module`.
    normalize: bool, whether vectors get length 1.
    dtype: as `StaticEmbeddingModel`.

  Raises:
    FileNotFoundError: there is no table.
    ValueError: it is damaged, or of another form.
  """
  tensors = modules.read_weights(module.path)
  name = _TABLE if _TABLE in tensors else _OF_MODEL2VEC
  shape = tensors.shapes.get(name, ())
  if len(shape) != 2 or _MAPPING in tensors:
    found = ", ".join(f"{k} {list(v)}" for k, v in tensors.shapes.items())
    raise ValueError(
      f"The weights in {module.path} ({found}) must be {_TABLE} [V, D], or"
      f" {_OF_MODEL2VEC} [V, D] of model2vec without a {_MAPPING}."
    )
  table = tensors[name]
  if _ROW_WEIGHTS in tensors:
    table *= tensors[_ROW_WEIGHTS][:, None]
  model = static_embedding_model.StaticEmbeddingModel(*shape, normalize, dtype)
  model.table.assign(table)
  return model


def write(path, model, texts, vocabulary, options):
  """Writes table and tokenizer; returns the modules, tuple of `Module`.

  Args: as of `folder_models.write`.
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
    listed.append(modules.new_module(path, 1, folders.NORMALIZE))
  return tuple(listed)
