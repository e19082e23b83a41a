"""NomicBERT: Nussbaum et al. 2024. BERT with rotary positions and SwiGLU.

Source: nomic-ai/nomic-bert-2048, and its form in transformers.
"""

from keras_bert_impl.families import family, rope

_OURS = "bert/encoder/layer_#/"
_THEIRS = "nomic_bert/encoder/layers/#/"
_IMPLIED = {
  "position_embedding_type": "rotary",
  "gated_feed_forward": True,
  "attention_bias": False,
  "mlp_bias": False,
}
_DEFAULTS = {
  "vocab_size": 30528,
  "max_position_embeddings": 2048,
  "hidden_act": "silu",
  "hidden_dropout_prob": 0.0,
  "attention_probs_dropout_prob": 0.0,
  "rotary_base": 1000.0,
}
# {key in the files of the code on the hub: key of transformers}.
_OLD_KEYS = {
  "n_embd": "hidden_size",
  "n_layer": "num_hidden_layers",
  "n_head": "num_attention_heads",
  "n_inner": "intermediate_size",
  "n_positions": "max_position_embeddings",
  "layer_norm_epsilon": "layer_norm_eps",
  "resid_pdrop": "hidden_dropout_prob",
  "attn_pdrop": "attention_probs_dropout_prob",
  "rotary_emb_base": "rope_theta",
}
_STRETCH = "rotary_scaling_factor"
# Of these, what makes the models of nomic-embed-text v1 and v1.5.
_OLD_FIXED = {
  "activation_function": "swiglu",
  "causal": False,
  "mlp_fc1_bias": False,
  "mlp_fc2_bias": False,
  "moe_every_n_layers": 0,
  "parallel_block": False,
  "prenorm": False,
  "qkv_proj_bias": False,
  "rotary_emb_fraction": 1.0,
  "rotary_emb_interleaved": False,
  "use_rms_norm": False,
}


def read(values, origin):
  """Returns a config.json with the keys of transformers; see `Family.read`.

  Raises:
    ValueError: as `rope.read`; or what the code on the hub computes besides.
  """
  if "n_embd" in values:
    family.check_fixed(values, _OLD_FIXED, origin)
    values = dict(values)
    if values.get(_STRETCH):  # Rows above those of the training are stretched.
      values["rope_scaling"] = {"type": "dynamic", "factor": values[_STRETCH]}
      values["n_positions"] = values.get("max_trained_positions", 2048)
    renamed = {_OLD_KEYS[k]: values[k] for k in _OLD_KEYS if k in values}
    old = {*_OLD_KEYS, *_OLD_FIXED, _STRETCH, "max_trained_positions"}
    values = {k: x for k, x in values.items() if k not in old} | renamed
  return rope.read(values, origin, _DEFAULTS["rotary_base"])


FAMILY = family.Family(
  name="nomic_bert",
  class_stem="NomicBert",
  presets={
    "nomic_bert_base": family.size(12, 768, **_IMPLIED, **_DEFAULTS),
  },
  config_keys={k: k for k in family.CONFIG_KEYS if k not in _IMPLIED}
  | rope.KEYS,
  implied=_IMPLIED,
  constants={"bos_token_id": None, "eos_token_id": None, "pad_token_id": 0},
  fixed={"pruned_heads": {}},
  defaults=_DEFAULTS,
  head_size_key="head_dim",
  read=read,
  write=rope.write,
  columns=(
    family.FUSED_PROJECTIONS,
    family.TWO_GATES,
  ),
  names=(
    ("bert/embeddings/LayerNorm", "nomic_bert/emb_ln"),
    (_OURS + "attention/self/in_proj", _THEIRS + "attn/Wqkv"),
    (_OURS + "attention/output/dense", _THEIRS + "attn/out_proj"),
    (_OURS + "attention/output/LayerNorm", _THEIRS + "norm1"),
    (_OURS + "intermediate/gate", _THEIRS + "mlp/fc12"),
    (_OURS + "intermediate/up", _THEIRS + "mlp/fc11"),
    (_OURS + "output/dense", _THEIRS + "mlp/fc2"),
    (_OURS + "output/LayerNorm", _THEIRS + "norm2"),
    ("bert/", "nomic_bert/"),
    (
      "cls/predictions/transform/LayerNorm",
      "cls/predictions/transform/layer_norm",
    ),
    ("cls/predictions/", "cls/predictions/"),
    ("cls/predictions", "cls/predictions"),
    *family.TASKS,
  ),
  parameters=(family.decoder("cls/predictions/decoder/weight"),),
  prefix="nomic_bert",
  old_prefixes=("bert",),
  encoder_parts=("emb_ln", "embeddings", "encoder"),
  has_pooler=False,
  architectures=family.MASKED_WORDS_ALONE
  | dict.fromkeys(("multiple_choice", "question_answering")),
)
