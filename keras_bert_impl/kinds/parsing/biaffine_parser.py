"""Biaffine dependency parser: a tree of the words of each row.

Source: Dozat and Manning 2017, on a transformer instead of a BiLSTM, of which
it reads the first piece of each word. Differs from it: dropout masks are drawn
for each word, not for the row; [CLS] is the root.
"""

import dataclasses

import keras
from keras import ops

from keras_bert_impl.kinds.parsing import parsing_rows, trees
from keras_bert_impl.layers.basics import layer
from keras_bert_impl.models.encoders import encoder_choice, encoder_model
from keras_bert_impl.models.heads import head_model

HEAD = "dependency_parsing"
_NEVER = -1e9  # Logit of what cannot be a head.


class BiaffineParser(head_model.HeadModel):
  """Encoder and parser; its outputs are those of `BiaffineHead`.

  Besides the encoder's it has the input `node_places`, int32 [B, L].

  Args:
    config: `configs.EncoderConfig`.
    num_relations: int, C.
    arc_width: as `BiaffineHead`.
    relation_width: as `BiaffineHead`.
    parser_dropout: as `BiaffineHead`.
    use_head_ids: bool, for training: whether there is an input `head_ids`,
      int32 [B, L], and the output `gold_head_logits`.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.
  """

  heads = (HEAD,)

  def __init__(
    self,
    config,
    num_relations,
    arc_width=500,
    relation_width=100,
    parser_dropout=0.33,
    use_head_ids=False,
    dtype=None,
    name="biaffine_parser",
  ):
    arguments = dict(locals())
    encoder = encoder_choice.make(config, dtype, use_pooler=False)
    names = [parsing_rows.NODE_PLACES]
    names += [parsing_rows.HEAD_IDS] * use_head_ids
    own = {name: encoder_model.make_input(name) for name in names}
    head = BiaffineHead(
      num_relations,
      arc_width,
      relation_width,
      parser_dropout,
      config.initializer_range,
      dtype=encoder.dtype_policy,
      name="parser",
    )
    hidden = head_model.dropout(encoder, None)(encoder.hidden_states[-1])
    outputs = head(hidden, *own.values())
    super().__init__(encoder, encoder.input | own, outputs, arguments)


@dataclasses.dataclass(eq=False, repr=False)
class _BiaffineHeadArguments(layer.Arguments):
  num_relations: int
  arc_width: int = 500
  relation_width: int = 100
  dropout_rate: float = 0.33
  initializer_range: float = 0.02


class BiaffineHead(_BiaffineHeadArguments, layer.Layer):
  """Scores heads and relations, and finds the best tree.

  Args:
    num_relations: int, C.
    arc_width: int, units of the layers of dependents and of heads, of arcs.
    relation_width: int, the same of relations.
    dropout_rate: float in [0, 1), of these layers.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.
  """

  def build(self, hidden_shape, node_places_shape, head_ids_shape=None):
    """Creates the weights."""
    arc, relation = self.arc_width, self.relation_width
    self.sides = {}
    for name, width in (("arc", arc), ("relation", relation)):
      for side in ("dependent", "head"):
        with keras.name_scope(f"{name}_{side}"):
          self.sides[name, side] = (
            self._dense(width, hidden_shape, "relu"),
            self._dropout((None, None, width), self.dropout_rate),
          )
    # With a row for the bias: how likely a word is a head by itself.
    self.arc_weights = self._table("arc_weights", arc + 1, arc)
    self.relation_weights = self._table(
      "relation_weights", relation + 1, self.num_relations * (relation + 1)
    )

  def _table(self, name, *shape):
    return self.add_weight(name=name, shape=shape, initializer="zeros")

  def call(self, hidden, node_places, head_ids=None, *, training=False):
    """Finds the tree of each row.

    Args:
      hidden: float [B, L, H].
      node_places: int32 [B, L], as `parsing_rows.NODE_PLACES`: axes of nodes
        are as long as the row, the root first.
      head_ids: int32 [B, L], the true heads; or None.
      training: bool.

    Returns:
      arc_logits float32 [B, L, L], of each node its possible heads; heads int32
      [B, L], those of the best tree; logits float32 [B, L, C], of the relations
      to these; head_scores float32 [B, L], the probabilities of the heads. With
      head_ids also gold_head_logits float32 [B, L, C], of the relations to the
      true heads.
    """
    is_node = node_places >= 0
    places = ops.expand_dims(ops.maximum(node_places, 0), 2)
    nodes = ops.take_along_axis(hidden, places, axis=1)  # [B, L, H]

    def read(name, side):
      dense, dropout = self.sides[name, side]
      return dropout(dense(nodes), training=training)

    arcs = ops.matmul(_with_one(read("arc", "dependent")), self.arc_weights)
    arcs = ops.matmul(arcs, ops.swapaxes(read("arc", "head"), 1, 2))
    arcs = ops.where(
      ops.expand_dims(is_node, 1), ops.cast(arcs, "float32"), _NEVER
    )
    heads = trees.decode(ops.stop_gradient(arcs), is_node)
    chosen = ops.take_along_axis(
      ops.softmax(arcs), ops.expand_dims(heads, 2), axis=2
    )
    dependents = ops.matmul(
      _with_one(read("relation", "dependent")), self.relation_weights
    )
    size = self.relation_width + 1
    dependents = ops.reshape(
      dependents, (*ops.shape(heads), self.num_relations, size)
    )
    of_heads = _with_one(read("relation", "head"))

    def relations(heads):
      places = ops.expand_dims(ops.maximum(heads, 0), 2)
      theirs = ops.take_along_axis(of_heads, places, axis=1)
      logits = ops.matmul(dependents, ops.expand_dims(theirs, 3))
      return ops.cast(ops.squeeze(logits, 3), "float32")

    outputs = {
      "arc_logits": arcs,
      "heads": heads,
      "logits": relations(heads),
      "head_scores": ops.squeeze(chosen, 2),
    }
    if head_ids is None:
      return outputs
    return outputs | {"gold_head_logits": relations(head_ids)}


def _with_one(x):
  """Returns x [..., I] with a 1 at the end, for a bias: [..., I + 1]."""
  return ops.concatenate([x, ops.ones_like(x[..., :1])], axis=-1)
