"""Jina embeddings 3: Sturua et al. 2024. XLM-RoBERTa with rotary positions.

Source: jinaai/xlm-roberta-flash-implementation, and its form in transformers.
"""

import dataclasses

from keras_bert_impl.families import family, roberta, rope, xlm_roberta

_OURS = "bert/encoder/layer_#/"
_THEIRS = "roberta/encoder/layers/#/"
_BASE = 20000.0
_IMPLIED = {"position_embedding_type": "rotary"}
_DEFAULTS = {
  "vocab_size": 250002,
  "max_position_embeddings": 8194,
  "type_vocab_size": 1,
  "layer_norm_eps": 1e-5,
  "rotary_base": _BASE,
}

FAMILY = dataclasses.replace(
  xlm_roberta.FAMILY,
  name="jina_embeddings_v3",
  class_stem="JinaEmbeddingsV3",
  presets={
    "jina_embeddings_v3": family.size(24, 1024, **_IMPLIED, **_DEFAULTS)
  },
  constants=roberta.FAMILY.constants | {"pad_token_id": 1},
  config_keys=family.CONFIG_KEYS | rope.KEYS,
  implied=_IMPLIED,
  fixed={"pruned_heads": {}},
  defaults=_DEFAULTS | family.size(24, 1024),
  read=rope.reader(_BASE),
  write=rope.write,
  columns=(family.FUSED_PROJECTIONS,),
  names=(
    ("bert/embeddings/LayerNorm", "roberta/emb_ln"),
    (_OURS + "attention/self/in_proj", _THEIRS + "mixer/Wqkv"),
    (_OURS + "attention/output/dense", _THEIRS + "mixer/out_proj"),
    (_OURS + "attention/output/LayerNorm", _THEIRS + "norm1"),
    (_OURS + "intermediate/dense", _THEIRS + "mlp/fc1"),
    (_OURS + "output/dense", _THEIRS + "mlp/fc2"),
    (_OURS + "output/LayerNorm", _THEIRS + "norm2"),
    *roberta.FAMILY.names,
  ),
  architectures=family.MASKED_WORDS_ALONE | {"multiple_choice": None},
  encoder_parts=("emb_ln", *roberta.FAMILY.encoder_parts),
  keras_hub=None,
)
