"""RoFormer: Su et al. 2021. BERT with rotary positions.

Its heads turn pairs of neighbours, ours the two halves of a head: the columns
of queries and keys stand in another order.

Source: ZhuiyiTechnology/roformer, and its form in transformers.
"""

from keras_bert_impl.families import family

_OURS = "bert/encoder/layer_#/"
_THEIRS = "roformer/encoder/layer/#/"
_POOLER_ACT = "pooler_act"  # A key that `read` makes.
_IMPLIED = {"position_embedding_type": "rotary", "rotary_table": True}
_DEFAULTS = {
  "vocab_size": 50000,
  "max_position_embeddings": 1536,
}


def read(values, origin):
  """Adds the activation of the pooler, the blocks' too; see `Family.read`."""
  del origin
  return values | {_POOLER_ACT: values.get("hidden_act", "gelu")}


def write(values, config):
  """Leaves that key out; see `Family.write`."""
  del config
  return {key: values[key] for key in values if key != _POOLER_ACT}


FAMILY = family.Family(
  name="roformer",
  class_stem="RoFormer",
  presets={
    "roformer_base": family.size(
      12, 768, embedding_size=768, pooler_act="gelu", **_IMPLIED, **_DEFAULTS
    ),
  },
  config_keys=family.CONFIG_KEYS
  | {"embedding_size": "embedding_size", "pooler_act": _POOLER_ACT},
  implied=_IMPLIED,
  constants={"pad_token_id": 0, "rotary_value": False, "use_cache": True},
  fixed={
    "add_cross_attention": False,
    "pruned_heads": {},
    "rotary_value": False,
  },
  defaults=_DEFAULTS,
  read=read,
  write=write,
  columns=tuple(
    family.Columns((name,), (name,), "pairs")
    for name in ("attention/self/query", "attention/self/key")
  ),
  names=(
    (
      "bert/encoder/rotary_0/position_embeddings",
      "roformer/encoder/embed_positions",
    ),
    (
      "bert/encoder/embedding_hidden_mapping_in",
      "roformer/embeddings_project",
    ),
    (_OURS, _THEIRS),
    ("bert/", "roformer/"),
    ("cls/predictions", "cls/predictions"),
    *family.TASKS,
  ),
  head_names=family.DENSE_CLASSIFIER,
  parameters=(family.decoder("cls/predictions/decoder/weight"),),
  prefix="roformer",
  encoder_parts=("embeddings", "embeddings_project", "encoder"),
  has_pooler=False,
  # Its class for choices has no dense layer.
  architectures=family.MASKED_WORDS_ALONE | {"multiple_choice": None},
)
