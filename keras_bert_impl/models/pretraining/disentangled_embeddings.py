"""Gradient-disentangled embedding sharing: DeBERTaV3's two word tables.

With one word table, the losses of generator and discriminator pull it in two
directions. Here the discriminator's word table is the sum of the generator's
and of a table of its own, the delta. It uses what the generator learns, but its
gradient changes only the delta.

Source: He et al. 2023 (DeBERTaV3), section 3.2.
"""

import functools

from keras import ops

from keras_bert_impl.checkpoints.naming import names
from keras_bert_impl.layers.blocks import embeddings


def make(config, generator):
  """Returns new `Embeddings` for a discriminator.

  Args:
    config: `configs.EncoderConfig` of the discriminator.
    generator: `TransformerEncoder` whose word table they add to.
  """
  make_layer = functools.partial(
    _DisentangledEmbeddings, generator.embeddings.word_embeddings
  )
  return embeddings.of_config(config, generator.dtype_policy, make_layer)


class _DisentangledEmbeddings(embeddings.Embeddings):
  """`Embeddings` whose word table is another one plus the delta.

  Positions, segments and LayerNorm are its own. The models that contain it make
  it themselves when they are loaded.

  Args:
    shared_table: variable [V, E], which gets no gradient from here.
    **kwargs: of `Embeddings`.
  """

  def __init__(self, shared_table, **kwargs):
    super().__init__(**kwargs)
    self._shared_table = shared_table

  @property
  def word_embeddings(self):
    """The sum of both tables, a tensor [V, E]; assigning sets the delta."""
    shared = ops.convert_to_tensor(self._shared_table)
    delta = ops.convert_to_tensor(self._delta)
    return ops.stop_gradient(shared) + delta

  @word_embeddings.setter
  def word_embeddings(self, delta):
    self._delta = delta

  def _weight(self, name, *shape, autocast=True):
    if name != "word_embeddings":
      return super()._weight(name, *shape, autocast=autocast)
    own = names.DELTA.rpartition("/")[2]
    return self.add_weight(shape, "zeros", name=own, autocast=autocast)
