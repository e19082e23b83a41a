"""Servable of static embeddings: vectors of texts without a transformer."""

import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.kinds.embeddings.servables import vector_servable
from keras_bert_impl.tokenizers.graph import prompts


class StaticServable(vector_servable.VectorServable):
  """Embeds texts by the mean of the rows of their tokens.

  Args:
    model: `StaticEmbeddingModel`.
    tokenizer: as `Servable`.
    max_seq_length: int, most tokens of a text; None: all are read.
    normalize: bool, whether vectors have length 1; None for what the model
      does.
    do_lower_case: bool, whether to lower-case texts before the tokenizer.
    **compression: prompt, truncate_dim and precision, as of `VectorServable`.

  Raises:
    ValueError: as `VectorServable`.
  """

  takes_ids = False
  frames_texts = False

  def __init__(
    self,
    model,
    tokenizer,
    max_seq_length=None,
    normalize=None,
    do_lower_case=False,
    **compression,
  ):
    normalize = model.normalize if normalize is None else normalize
    super().__init__(model, tokenizer, max_seq_length, normalize, **compression)
    self.do_lower_case = do_lower_case

  @property
  def row_inputs(self):
    """Inputs of `answer_rows`; see `Servable`."""
    names = (features.INPUT_IDS, features.INPUT_MASK)
    return dict.fromkeys(names, ("batch", "length"))

  def answer_rows(self, rows):
    """Returns embeddings float32 [B, D], whole; see `Servable`."""
    [table] = self.model_weights
    mask = tf.cast(tf.expand_dims(rows[features.INPUT_MASK], -1), tf.float32)
    vectors = tf.cast(tf.gather(table, rows[features.INPUT_IDS]), tf.float32)
    total = tf.maximum(tf.reduce_sum(mask, axis=1), 1.0)
    vectors = tf.reduce_sum(vectors * mask, axis=1) / total
    if self.normalize:
      vectors = tf.math.l2_normalize(vectors, axis=1)
    return {"embeddings": vectors}

  def answer(self, text):
    """Encodes texts [B]; returns as `compress`."""
    pieces = prompts.tokenize(
      self.tokenizer, text, self.prompt, self.do_lower_case
    )
    [table] = self.model_weights
    pieces = pieces[:, : self.max_seq_length]
    return self.compress(embed(table, pieces, self.normalize))


def embed(table, pieces, normalize):
  """Returns the means of rows, float32 [B, D]; zeros of a text without tokens.

  Ops of TensorFlow that read each row once: no batch is padded.

  Args:
    table: float [V, D], tensor or variable.
    pieces: int32 RaggedTensor [B, (pieces)].
    normalize: bool, whether vectors get length 1.
  """
  ids = pieces.flat_values
  if table.dtype != tf.float32:
    table = tf.cast(tf.gather(table, ids), tf.float32)
    ids = tf.range(tf.size(ids))
  vectors = tf.sparse.segment_mean(
    table, ids, pieces.value_rowids(), num_segments=pieces.nrows()
  )
  if normalize:
    vectors = tf.math.l2_normalize(vectors, axis=1)
  return vectors
