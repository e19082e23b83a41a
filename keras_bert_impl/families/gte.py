"""GTE: Zhang et al. 2024. BERT with rotary positions and GeGLU.

Files of Alibaba-NLP/new-impl are read too: `model_type` "new".

Source: Alibaba-NLP/new-impl, and its form in transformers.
"""

from keras_bert_impl.families import family, rope

_OURS = "bert/encoder/layer_#/"
_THEIRS = "gte/encoder/layer/#/"
_BASE = 160000.0
_IMPLIED = {
  "position_embedding_type": "rotary",
  "gated_feed_forward": True,
  "mlp_bias": False,
  "mlp_output_bias": True,
  "inner_dropout": True,
}
_DEFAULTS = {
  "vocab_size": 250048,
  "max_position_embeddings": 8192,
  "type_vocab_size": 1,
  "attention_probs_dropout_prob": 0.0,
  "rotary_base": _BASE,
}
# Of `model_type` "new", what else makes this model.
_OLD_FIXED = {
  "layer_norm_type": "layer_norm",
  "logn_attention_scale": False,
  "position_embedding_type": "rope",
}
_OLD_KEYS = (
  *("auto_map", "logn_attention_clip1", "pack_qkv", "unpad_inputs"),
  "use_memory_efficient_attention",
)


def read(values, origin):
  """Returns a config.json with the keys of transformers; see `Family.read`.

  Raises:
    ValueError: as `rope.read`; or what the code on the hub computes besides.
  """
  family.check_fixed(values, _OLD_FIXED, origin)
  old = (*_OLD_FIXED, *_OLD_KEYS)
  values = {key: values[key] for key in values if key not in old}
  return rope.read(values, origin, _BASE)


FAMILY = family.Family(
  name="gte",
  class_stem="Gte",
  old_names=("new",),
  presets={
    "gte_multilingual_base": family.size(12, 768, **_IMPLIED, **_DEFAULTS),
  },
  config_keys={k: k for k in family.CONFIG_KEYS if k not in _IMPLIED}
  | rope.KEYS,
  implied=_IMPLIED,
  constants={"bos_token_id": None, "eos_token_id": None, "pad_token_id": 1},
  fixed={"pruned_heads": {}},
  defaults=_DEFAULTS,
  read=read,
  write=rope.write,
  columns=(
    family.FUSED_PROJECTIONS,
    family.Columns(
      ("intermediate/dense",), ("intermediate/up_gate",), "halves swapped"
    ),
  ),
  names=(
    (_OURS + "attention/self/in_proj", _THEIRS + "attention/qkv_proj"),
    (_OURS + "attention/output/dense", _THEIRS + "attention/o_proj"),
    (_OURS + "attention/output/LayerNorm", _THEIRS + "attn_ln"),
    (_OURS + "intermediate/up_gate", _THEIRS + "mlp/up_gate_proj"),
    (_OURS + "output/dense", _THEIRS + "mlp/down_proj"),
    (_OURS + "output/LayerNorm", _THEIRS + "mlp_ln"),
    ("bert/", "gte/"),
    ("cls/predictions/transform/dense", "lm_head/dense"),
    ("cls/predictions/transform/LayerNorm", "lm_head/norm"),
    ("cls/predictions", "lm_head"),
    *family.TASKS,
  ),
  parameters=(
    family.decoder("lm_head/decoder/weight"),
    ("cls/predictions/output_bias", "lm_head/decoder/bias"),
  ),
  prefix="gte",
  old_prefixes=("new",),
  has_pooler=False,
  architectures=family.MASKED_WORDS_ALONE
  | dict.fromkeys(("multiple_choice", "question_answering")),
  framing=family.Framing(separators=2, segments=False),
)
