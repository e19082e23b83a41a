"""Distils an encoder of sentences into a table of static embeddings.

Source: Tulkens and van Dongen 2024, Model2Vec; Arora et al. 2017 (SIF).
"""

import numpy as np
import tensorflow as tf

from keras_bert_impl import options
from keras_bert_impl.models.heads import static_embedding_model

WEIGHTINGS = ("sif", "zipf", None)
_SIF = 1e-4  # of model2vec


def distil(encoder, size, weighting, batch_size):
  """Returns a `StaticEmbeddingModel`; arguments as `StaticEncoder.distil`."""
  options.check_choice("weighting", weighting, WEIGHTINGS)
  options.check_numbers(options.POSITIVE, batch_size=batch_size)
  if size is not None:
    options.check_integers(f"[1, {encoder.embedding_size}]", size=size)
  _check_case(encoder)
  vocabulary = encoder.tokenizer.vocabulary
  ids = np.array(
    [
      index
      for index, token in enumerate(vocabulary.tokens)
      if index not in vocabulary.special_ids and not token.startswith("[unused")
    ],
    np.int32,
  )
  rows = _main_components(_vectors(encoder, ids, batch_size), size)
  rows *= token_weights(len(ids), weighting)[:, None]
  # Special tokens and [UNK] say nothing: their rows are zeros.
  table = np.zeros((vocabulary.size, rows.shape[1]), np.float32)
  table[ids] = rows
  model = static_embedding_model.StaticEmbeddingModel(*table.shape)
  model.table.assign(table)
  return model


def token_weights(num_tokens, weighting):
  """Returns the weights of tokens of which the first are the most frequent.

  A token of rank r is taken to have a frequency proportional to 1 / r (Zipf).

  Args:
    num_tokens: int, V.
    weighting: "zipf": log(1 + r); "sif": a / (a + frequency), a = 1e-4; or
      None: 1.

  Returns:
    float32 [V].
  """
  ranks = np.arange(1, num_tokens + 1)
  if weighting == "zipf":
    return np.log1p(ranks).astype(np.float32)
  if weighting is None:
    return np.ones(num_tokens, np.float32)
  frequencies = 1 / ranks
  frequencies /= np.sum(frequencies)
  return (_SIF / (_SIF + frequencies)).astype(np.float32)


def _vectors(encoder, ids, batch_size):
  """Returns the vector of each id between special tokens, float32 [N, D]."""

  @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
  def embed(batch):
    pieces = tf.RaggedTensor.from_tensor(batch[:, tf.newaxis])
    inputs = encoder.tokenizer.assemble(pieces)
    return encoder.model(inputs, training=False)["embeddings"]

  parts = [
    embed(tf.constant(ids[start : start + batch_size])).numpy()
    for start in range(0, len(ids), batch_size)
  ]
  return np.concatenate(parts)


def _main_components(vectors, size):
  """Returns vectors [N, D] projected on their principal components.

  Args:
    vectors: float32 [N, D].
    size: int, number of components; None for the vectors as they are, centred.

  Returns:
    float32 [N, size].
  """
  vectors = vectors - np.mean(vectors, axis=0)
  if size is None:
    return vectors
  # Those of the singular vectors of all rows, and quicker.
  _, axes = np.linalg.eigh(vectors.T @ vectors)
  return vectors @ axes[:, : -size - 1 : -1]


def _check_case(encoder):
  """Raises ValueError if texts are lower-cased by what no tokenizer.json says.

  Raises:
    ValueError: the encoder lower-cases texts and the tokenizer does not.
  """
  if not encoder.texts.do_lower_case:
    return
  upper, lower = encoder.tokenizer.normalize(tf.constant(["A", "a"])).numpy()
  if upper != lower:
    raise ValueError(
      "do_lower_case (True) of the encoder cannot be kept, as its tokenizer"
      " does not lower-case: load it with a tokenizer that does."
    )
