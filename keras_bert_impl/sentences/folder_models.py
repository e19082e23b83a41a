"""Models of the folders of sentence-transformers, and back."""

from keras_bert_impl import heads, models
from keras_bert_impl.checkpoints import writing
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.checkpoints.formats import safetensors_format
from keras_bert_impl.checkpoints.naming import mappings
from keras_bert_impl.models.heads import embedding_model
from keras_bert_impl.sentences import folders, modules


def load(folder, dtype=None):
  """Returns the `EmbeddingModel` of a `folders.Folder`, with its weights.

  Raises:
    FileNotFoundError: weights are missing.
    ValueError: they are damaged, or not of a known kind.
  """
  encoder = models.from_checkpoint(folder.transformer, dtype=dtype)
  if "pooled_output" in encoder.output:
    # Nothing reads it: neither loss nor weight decay are to change it.
    encoder.get_layer("pooler").trainable = False
  modes, include_prompt, layers = modules.read(
    folder.modules, encoder.config.hidden_size
  )
  return embedding_model.EmbeddingModel(encoder, modes, layers, include_prompt)


def write(path, model, texts):
  """Writes weights and modules into a folder; the tokenizer is not its own.

  Args:
    path: str, a folder that is there.
    model: `EmbeddingModel`.
    texts: `folders.Texts`.

  Raises:
    ValueError: sentence-transformers has no such model.
  """
  encoder = model.encoder
  described = description.Description(
    encoder.config, heads.ENCODER, use_pooler="pooled_output" in encoder.output
  )
  writing.write_safetensors(
    path,
    mappings.Arrays({weight.path: weight for weight in encoder.weights}),
    described,
    safetensors_format.MAX_SHARD_SIZE,
  )
  folders.write(path, modules.write(path, model), texts)
