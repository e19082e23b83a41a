"""Encodes sentences as vectors, from Python."""

import os
import warnings

import keras
import numpy as np
import tensorflow as tf

from keras_bert_impl import files, heads, models, options, tokenizers
from keras_bert_impl.checkpoints import writing
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.checkpoints.formats import safetensors_format
from keras_bert_impl.checkpoints.naming import mappings
from keras_bert_impl.models.heads import embedding_model
from keras_bert_impl.sentences import folders, modules
from keras_bert_impl.serving.heads import text_vectors
from keras_bert_impl.tokenizers.graph import prompts


class SentenceEncoder:
  """Encodes sentences as vectors; reads and writes sentence-transformers.

    encoder = kb.SentenceEncoder.from_checkpoint("all-MiniLM-L6-v2")
    vectors = encoder.encode(["The cat sat.", "고양이가 앉았다."])  # [2, 384]

  Its model trains like any other: vectors change with it.

  Args:
    model: `EmbeddingModel`.
    tokenizer: of `tokenizers.load`.
    texts: `folders.Texts`: prompts, and how long texts may be.

  Attributes:
    model: as given, from ids to vectors.
    tokenizer: as given.
    texts: as given, with `max_seq_length`.
    embedding_size: int, D.
  """

  def __init__(self, model, tokenizer, texts=None):
    texts = texts or folders.Texts()
    self.model = model
    self.tokenizer = tokenizer
    self.texts = texts.limited_to(model.config)
    self.embedding_size = model.output["embeddings"].shape[-1]
    self._embed = tf.function(
      self._embed_batch,
      input_signature=[
        tf.TensorSpec([None], tf.string),
        tf.TensorSpec([], tf.string),
      ],
      autograph=False,
    )

  @classmethod
  def from_checkpoint(cls, path, dtype=None):
    """Loads a folder that sentence-transformers wrote, or any checkpoint.

    A checkpoint without modules.json gives the mean of all tokens, with a
    warning.

    Args:
      path: str, as of `models.from_checkpoint`.
      dtype: as of `TransformerEncoder`.

    Raises:
      FileNotFoundError: there is no checkpoint or vocabulary.
      ValueError: it is damaged, or has a module that is not known here.
    """
    folder = folders.read(path)
    if not folder.modules:
      warnings.warn(
        f"There is no {folders.MODULES_FILE} in {path}, which would say how"
        " sentences are pooled: their vectors are the mean of all tokens.",
        stacklevel=2,
      )
    model = load_model(folder, dtype)
    place = folder.transformer
    if not files.is_folder(place):
      place = os.path.dirname(place) or "."
    tokenizer = tokenizers.load(place, model.config.model_type)
    return cls(model, tokenizer, folder.texts)

  def encode(
    self,
    sentences,
    prompt_name=None,
    prompt=None,
    batch_size=32,
    normalize_embeddings=False,
  ):
    """Encodes sentences as vectors, those of similar length together.

    Args:
      sentences: list of N str, or one str.
      prompt_name: str, name of the prompt to put before each sentence; default:
        `texts.default_prompt_name`.
      prompt: str, the prompt itself.
      batch_size: int, sentences at once.
      normalize_embeddings: bool, whether to scale vectors to length 1, if the
        model does not.

    Returns:
      float32 array [N, D]; of one str, [D].

    Raises:
      ValueError: there is no such prompt, or a batch_size below 1.
    """
    options.check_numbers(options.POSITIVE, batch_size=batch_size)
    if isinstance(sentences, str):
      return self.encode(
        [sentences], prompt_name, prompt, batch_size, normalize_embeddings
      )[0]
    sentences = list(sentences)
    prompt = self.texts.prompt(prompt_name) if prompt is None else prompt
    vectors = np.zeros((len(sentences), self.embedding_size), np.float32)
    # The longest first: if they do not fit into memory, that shows at once.
    order = np.argsort([-len(text) for text in sentences], kind="stable")
    for start in range(0, len(sentences), batch_size):
      places = order[start : start + batch_size]
      batch = tf.constant([sentences[place] for place in places], tf.string)
      vectors[places] = self._embed(batch, prompt).numpy()
    if normalize_embeddings:
      vectors = keras.ops.convert_to_numpy(keras.ops.normalize(vectors))
    return vectors

  def similarity(self, a, b):
    """Returns the cosine of each vector of `a` with each of `b`.

      encoder.similarity(encoder.encode(queries), encoder.encode(documents))

    Args:
      a: float [N, D], as of `encode`; or one vector, [D].
      b: float [M, D], or [D].

    Returns:
      float32 array [N, M]; 0 for a vector of zeros.

    Raises:
      ValueError: these are no vectors, or of two lengths.

    Source: sentence-transformers, `SentenceTransformer.similarity`, by default.
    """
    a, b = _unit_rows("a", a), _unit_rows("b", b)
    if a.shape[1] != b.shape[1]:
      raise ValueError(
        f"a {list(a.shape)} and b {list(b.shape)} must have vectors of one"
        " length."
      )
    return a @ b.T

  def servable(self):
    """Returns the `EncoderServable` for `kb.export`, with its prompt."""
    return text_vectors.EncoderServable(
      self.model,
      self.tokenizer,
      self.texts.max_seq_length,
      prompt=self.texts.prompt(),
      do_lower_case=self.texts.do_lower_case,
    )

  def save(self, path):
    """Writes a folder that sentence-transformers reads.

    Args:
      path: str, a folder that is new or empty.

    Raises:
      ValueError: it is neither, or sentence-transformers has no such model.
    """
    encoder = self.model.encoder
    described = description.Description(
      encoder.config,
      heads.ENCODER,
      use_pooler="pooled_output" in encoder.output,
    )
    with files.new_folder(path) as folder:
      writing.write_safetensors(
        folder,
        mappings.Arrays({weight.path: weight for weight in encoder.weights}),
        described,
        safetensors_format.MAX_SHARD_SIZE,
      )
      self.tokenizer.save(folder)
      folders.write(folder, modules.write(folder, self.model), self.texts)

  def _embed_batch(self, sentences, prompt):
    """Returns the vectors float32 [B, D] of string [B], in graph ops."""
    inputs = prompts.encode(
      self.tokenizer,
      sentences,
      prompt,
      self.texts.max_seq_length,
      self.texts.do_lower_case,
      self.model.include_prompt,
    )
    return self.model(inputs, training=False)["embeddings"]


def _unit_rows(name, vectors):
  """Returns vectors float32 [N, D] of length 1; zeros stay zeros."""
  try:
    rows = np.atleast_2d(np.asarray(vectors, np.float32))
  except (TypeError, ValueError):
    rows = None
  if rows is None or rows.ndim != 2:
    raise ValueError(
      f"{name} must be vectors [N, D] or one vector [D], of encode(sentences)."
    )
  lengths = np.linalg.norm(rows, axis=1, keepdims=True)
  return rows / np.maximum(lengths, 1e-12)


def load_model(folder, dtype=None):
  """Returns the `EmbeddingModel` of a `folders.Folder`, with its weights.

  Raises:
    FileNotFoundError: weights are missing.
    ValueError: they are damaged, or not of a known kind.
  """
  encoder = models.from_checkpoint(folder.transformer, dtype=dtype)
  if "pooled_output" in encoder.output:
    # Nothing reads it: neither loss nor weight decay are to change it.
    encoder.get_layer("pooler").trainable = False
  if not folder.modules:
    return embedding_model.EmbeddingModel(encoder)
  pooling, *others = folder.modules
  modes, include_prompt = modules.read_pooling(pooling)
  size, final_layers = len(modes) * encoder.config.hidden_size, []
  for index, module in enumerate(others, start=2):
    name = f"{module.kind}_{index}".lower()
    layer = modules.read_layer(module, size, name)
    final_layers.append(layer)
    size = layer.compute_output_shape((None, size))[-1]
  return embedding_model.EmbeddingModel(
    encoder, modes, final_layers, include_prompt
  )
