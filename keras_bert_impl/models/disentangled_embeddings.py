"""Gradient-disentangled embedding sharing: DeBERTaV3's two word tables.

A generator and a discriminator with one word table pull it in two directions.
Here the discriminator sees the sum of the generator's table and of one that is
only its own: it has what the generator learns, and does not disturb it.

Source: He et al. 2023 (DeBERTaV3), section 3.2.
"""

from keras import ops

from keras_bert_impl.checkpoints import names
from keras_bert_impl.layers import embeddings
from keras_bert_impl.models import encoder_layers


def make(config, generator):
  """Returns the embeddings of a discriminator.

  Args:
    config: `configs.EncoderConfig` of the discriminator.
    generator: `TransformerEncoder`, whose word table it looks at.
  """
  plain = encoder_layers.embeddings(config, generator.dtype_policy)
  table = generator.embeddings.word_embeddings
  return _DisentangledEmbeddings(table, **plain.get_config())


class _DisentangledEmbeddings(embeddings.Embeddings):
  """`Embeddings` whose words are the sum of another's and of a difference.

  Positions, segments and LayerNorm are its own. The models on it are saved by
  their own configuration, so that it needs none.

  Args:
    shared_table: variable [V, E], which gets no gradient from here.
    **kwargs: of `Embeddings`.
  """

  def __init__(self, shared_table, **kwargs):
    super().__init__(**kwargs)
    self._shared_table = shared_table

  @property
  def word_embeddings(self):
    """The table that is seen, a tensor; what is assigned is the difference."""
    shared = ops.convert_to_tensor(self._shared_table)
    delta = ops.convert_to_tensor(self._delta)
    return ops.stop_gradient(shared) + delta

  @word_embeddings.setter
  def word_embeddings(self, delta):
    self._delta = delta

  def _add_table(self, name, num_rows):
    if name != "word_embeddings":
      return super()._add_table(name, num_rows)
    return self.add_weight(
      name=names.DELTA.rpartition("/")[2],
      shape=(num_rows, self.embedding_size),
      initializer="zeros",
      autocast=False,
    )
