"""Base class of servables that answer a text with one vector."""

import tensorflow as tf

from keras_bert_impl import choices, heads
from keras_bert_impl import options as options_lib
from keras_bert_impl.kinds.embeddings.tasks import embedding_options
from keras_bert_impl.serving import servables

_MOST = 127  # of int8; -128 stays unused, so that both signs are alike
_BITS = 8


class VectorServable(servables.Servable):
  """Embeds texts: one vector for each, whole or compressed. Abstract.

  Args:
    model: as `Servable`, with the output "embeddings", float32 [B, D].
    tokenizer: as `Servable`.
    max_seq_length: as `Servable`.
    normalize: bool, whether the model's vectors have length 1.
    prompt: str, text to put before each text.
    truncate_dim: int, K, the first numbers of each vector to keep, then of
      length 1 again if `normalize`; None for all. Source: Kusupati et al. 2022,
      Matryoshka Representation Learning.
    precision: one of `choices.PRECISIONS`.

  Raises:
    ValueError: as `Servable`, or truncate_dim is above D.
  """

  head = heads.ENCODER
  options = options_lib.names(embedding_options.VectorServing)

  reads_prompts = True
  unpredicted = "an encoder without a head predicts nothing"

  def __init__(
    self,
    model,
    tokenizer,
    max_seq_length,
    normalize,
    prompt="",
    truncate_dim=None,
    precision=choices.FLOAT32,
  ):
    super().__init__(model, tokenizer, max_seq_length)
    options_lib.check_choice("precision", precision, choices.PRECISIONS)
    size = model.output["embeddings"].shape[-1]
    if truncate_dim is not None:
      options_lib.check_integers(f"[1, {size}]", truncate_dim=truncate_dim)
    self.normalize = normalize
    self.prompt = prompt
    self.truncate_dim = truncate_dim
    self.precision = precision

  def compress(self, vectors):
    """Returns the outputs that vectors are answered as.

    Args:
      vectors: float32 [B, D].

    Returns:
      {"embeddings": float32 [B, K]}; of "int8" {"embeddings": int8 [B, K],
      "scales": float32 [B]}, which multiplied are the vectors within half a
      scale; of "binary" {"embeddings": uint8 [B, K / 8]}: whether each number
      is above 0, eight in a byte, the first in its highest bit, as
      `np.packbits` and the precision "ubinary" of sentence-transformers.
    """
    if self.truncate_dim:
      vectors = vectors[:, : self.truncate_dim]
      if self.normalize:
        vectors = tf.math.l2_normalize(vectors, axis=1)
    return _OF_PRECISION[self.precision](vectors)

  def describe(self):
    """Returns as `Servable`, without what leaves vectors as they are."""
    described = super().describe()
    usual = {"prompt": "", "truncate_dim": None, "precision": choices.FLOAT32}
    return {k: x for k, x in described.items() if usual.get(k, self) != x}


def _as_float32(vectors):
  return {"embeddings": vectors}


def _as_int8(vectors):
  largest = tf.reduce_max(tf.abs(vectors), axis=1, keepdims=True)
  scales = tf.where(largest > 0, largest, 1) / _MOST
  return {
    "embeddings": tf.cast(tf.round(vectors / scales), tf.int8),
    "scales": scales[:, 0],
  }


def _as_bits(vectors):
  missing = -vectors.shape[1] % _BITS
  bits = tf.pad(tf.cast(vectors > 0, tf.int32), [[0, 0], [0, missing]])
  bits = tf.reshape(bits, [-1, bits.shape[1] // _BITS, _BITS])
  powers = tf.constant([1 << bit for bit in reversed(range(_BITS))])
  return {"embeddings": tf.cast(tf.reduce_sum(bits * powers, axis=2), tf.uint8)}


_OF_PRECISION = {
  choices.FLOAT32: _as_float32,
  choices.INT8: _as_int8,
  choices.BINARY: _as_bits,
}
