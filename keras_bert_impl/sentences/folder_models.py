"""Models of the folders of sentence-transformers, and back."""

import dataclasses

from keras_bert_impl import heads, models
from keras_bert_impl.checkpoints import assignment, reading, writing
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.checkpoints.formats import safetensors_format
from keras_bert_impl.checkpoints.naming import mappings
from keras_bert_impl.models import checkpoint_loading
from keras_bert_impl.models.heads import (
  embedding_model,
  multi_vector_embedding_model,
)
from keras_bert_impl.sentences import folders, modules, static_folders
from keras_bert_impl.tokenizers.formats import tokenizer_json_writing


def load(folder, dtype=None):
  """Returns the model of a `folders.Folder`, with its weights.

  Returns:
    `EmbeddingModel`, `SparseEmbeddingModel`, `MultiVectorEmbeddingModel` or
    `StaticEmbeddingModel`.

  Raises:
    FileNotFoundError: weights are missing.
    ValueError: they are damaged, or not of a known kind.
  """
  return _LOADERS[folder.head](folder, dtype)


def _load_static(folder, dtype):
  table, *others = folder.modules
  return static_folders.load(table, bool(others), dtype)


def _load_dense(folder, dtype):
  encoder = models.from_checkpoint(folder.transformer, dtype=dtype)
  if "pooled_output" in encoder.output:
    # Nothing reads it: neither loss nor weight decay are to change it.
    encoder.get_layer("pooler").trainable = False
  modes, include_prompt, layers = modules.read(
    folder.modules, encoder.config.hidden_size
  )
  return embedding_model.EmbeddingModel(encoder, modes, layers, include_prompt)


def load_sparse(folder, dtype=None):
  """Returns the `SparseEmbeddingModel` of a folder or any checkpoint.

  Args:
    folder: `folders.Folder`.
    dtype: as `TransformerEncoder`.

  Raises:
    ValueError: as `load`; or it has no masked-LM head.
  """
  if folder.head == heads.SPARSE:
    modules.check_splade(*folder.modules)
  checkpoint = reading.open_checkpoint(folder.transformer)
  described = checkpoint.described()
  if described.head not in (heads.FILL_MASK, heads.PRETRAINING):
    raise ValueError(
      f"{checkpoint.path} has no head that fills masks, of which sparse vectors"
      " are made: choose another checkpoint."
    )
  described = dataclasses.replace(described, head=heads.SPARSE)
  model, _ = checkpoint_loading.load(checkpoint, described, dtype=dtype)
  return model


def load_late(folder, dtype=None):
  """Returns the `MultiVectorEmbeddingModel` of a folder or any checkpoint.

  Args:
    folder: `folders.Folder`.
    dtype: as `TransformerEncoder`.

  Raises:
    ValueError: as `load`. A warning says where there is no projection.
  """
  if folder.head != heads.LATE:
    return models.MultiVectorEmbeddingModel.from_checkpoint(
      folder.transformer, dtype
    )
  checkpoint = reading.open_checkpoint(folder.transformer)
  config = checkpoint.described().config
  kernel = modules.read_projection(*folder.modules, config.hidden_size)
  model = models.MultiVectorEmbeddingModel(config, kernel.shape[1], dtype)
  own = {multi_vector_embedding_model.PROJECTION: kernel}
  assignment.assign(
    {weight.path: weight for weight in model.weights},
    mappings.completed(checkpoint.tensors, own),
    checkpoint.path,
  )
  return model


_LOADERS = {
  heads.ENCODER: _load_dense,
  heads.SPARSE: load_sparse,
  heads.LATE: load_late,
  heads.STATIC: _load_static,
}


def write(path, model, texts, vocabulary, options):
  """Writes weights, tokenizer and modules into a folder.

  Args:
    path: str, a folder that is there.
    model: as of `load`.
    texts: `folders.Texts`.
    vocabulary: `Vocabulary`.
    options: those of its tokenizer.

  Raises:
    ValueError: sentence-transformers has no such model.
  """
  if isinstance(model, models.StaticEmbeddingModel):
    listed = static_folders.write(path, model, texts, vocabulary, options)
  else:
    listed = _write_encoder(path, model)
    tokenizer_json_writing.save(path, vocabulary, options)
  folders.write(path, listed, texts)


def _write_encoder(path, model):
  """Writes the weights of an encoder; returns the modules after it."""
  is_sparse = heads.SPARSE in model.heads
  stored = model if is_sparse else model.encoder
  described = description.Description(
    model.config,
    heads.FILL_MASK if is_sparse else heads.ENCODER,
    use_pooler="pooled_output" in model.encoder.output,
  )
  writing.write_safetensors(
    path,
    mappings.Arrays({weight.path: weight for weight in stored.weights}),
    described,
    safetensors_format.MAX_SHARD_SIZE,
  )
  if heads.LATE in model.heads:
    return modules.write_projection(path, model)
  return modules.write_splade(path) if is_sparse else modules.write(path, model)
