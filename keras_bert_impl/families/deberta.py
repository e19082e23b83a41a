"""DeBERTa: He et al. 2021. Attention to contents and positions apart.

Source: microsoft/DeBERTa, and its form in transformers.
"""

import dataclasses

from keras_bert_impl.families import family

# Fields of all versions.
IMPLIED = {"clears_padding": True}
DEFAULTS = {
  "type_vocab_size": 0,
  "layer_norm_eps": 1e-7,
  "embedding_size": None,
  "pooler_act": "gelu",
}
CONFIG_KEYS = family.CONFIG_KEYS | {
  "embedding_size": "embedding_size",
  "position_embedding_type": "position_biased_input",
  "relative_attention": "relative_attention",
  "pos_att_type": "pos_att_type",
  "max_relative_positions": "max_relative_positions",
  "pooler_act": "pooler_hidden_act",
  "pooler_dropout": "pooler_dropout",
}
VALUES = {
  "position_biased_input": {True: "learned", False: "none"},
  "pos_att_type": {
    None: "",
    "c2p|p2c": "c2p|p2c",
    "p2c|c2p": "c2p|p2c",
    "c2p": "c2p",
    "p2c": "p2c",
  },
}
FIXED = {
  "add_cross_attention": False,
  "is_decoder": False,
  "pruned_heads": {},
  "talking_head": False,
}
CONSTANTS = {"pad_token_id": 0}
OURS = "bert/encoder/layer_#/attention/self/"
THEIRS = "deberta/encoder/layer/#/attention/self/"
NAMES = (
  ("bert/encoder/layer_#/", "deberta/encoder/layer/#/"),
  ("bert/encoder/relative/LayerNorm", "deberta/encoder/LayerNorm"),
  ("bert/encoder/conv/LayerNorm", "deberta/encoder/conv/LayerNorm"),
  ("bert/encoder/conv", "deberta/encoder/conv/conv"),
  ("bert/pooler/", "pooler/"),
  ("bert/", "deberta/"),
  ("cls/predictions", "cls/predictions"),
  ("cls/predictions/transform", "lm_predictions/lm_head"),
  *family.TASKS,
)
PARAMETERS = (
  (
    "bert/encoder/relative/rel_embeddings",
    "deberta/encoder/rel_embeddings/weight",
  ),
  family.decoder("cls/predictions/decoder/weight"),
  ("cls/predictions/output_bias", "cls/predictions/bias"),
  ("cls/predictions/output_bias", "lm_predictions/lm_head/bias"),
)
SHARED = {
  **IMPLIED,
  "type_vocab_size": 0,
  "layer_norm_eps": 1e-7,
  "position_embedding_type": "none",
  "pooler_act": "gelu",
  "relative_attention": True,
  "pos_att_type": "c2p|p2c",
}


def read(values, origin):
  """Checks that a size is that of the rest; see `Family.read`."""
  size = values.get("hidden_size")
  pooler_size = values.get("pooler_hidden_size")
  if pooler_size not in (None, size):
    raise ValueError(
      f"pooler_hidden_size ({pooler_size!r}) in {origin} must be hidden_size "
      f"({size!r})."
    )
  return values


def write(values, config):
  """Adds the layout of the masked language model head; see `Family.write`.

  The one of two with the names of BERT's; both compute the same.
  """
  del config
  return values | {"legacy": True}


FAMILY = family.Family(
  name="deberta",
  class_stem="Deberta",
  presets={
    "deberta_base": family.size(
      12, 768, vocab_size=50265, use_key_bias=False, **SHARED
    ),
    "deberta_large": family.size(
      24, 1024, vocab_size=50265, use_key_bias=False, **SHARED
    ),
  },
  config_keys=CONFIG_KEYS,
  implied=IMPLIED | {"use_key_bias": False},
  constants=CONSTANTS,
  fixed=FIXED,
  defaults=DEFAULTS | {"vocab_size": 50265},
  values=VALUES,
  read=read,
  write=write,
  columns=(
    dataclasses.replace(family.FUSED_PROJECTIONS, order="head by head"),
  ),
  spare=("bert/embeddings/position_embeddings",),
  names=(
    (OURS + "disentangled/pos_key", THEIRS + "pos_proj"),
    (OURS + "disentangled/pos_query", THEIRS + "pos_q_proj"),
    *NAMES,
  ),
  parameters=(
    *PARAMETERS,
    (OURS + "query/bias", THEIRS + "q_bias"),
    (OURS + "value/bias", THEIRS + "v_bias"),
  ),
  prefix="deberta",
  encoder_parts=("embeddings", "encoder"),
  has_pooler=False,
  architectures={
    "multiple_choice": None,  # There is no such class.
    "replaced_tokens": "Model",  # Nor one with this head, which is left out.
  },
)
