"""EuroBERT: Boizard et al. 2025. An encoder made as Llama is.

RMSNorm, SwiGLU, rotary positions, and fewer heads of keys than of queries.
"""

from keras_bert_impl.families import family, rope

_OURS = "bert/encoder/layer_#/"
_THEIRS = "model/layers/#/"
_IMPLIED = {
  "position_embedding_type": "rotary",
  "type_vocab_size": 0,
  "norm_first": True,
  "norm_type": "rms_norm",
  "norm_bias": False,
  "embeddings_norm": False,
  "gated_feed_forward": True,
  "hidden_dropout_prob": 0.0,
  "pooler_act": "gelu",
  "decoder_transform": False,
}
_DEFAULTS = {
  "vocab_size": 128256,
  "max_position_embeddings": 8192,
  "hidden_act": "silu",
  "attention_probs_dropout_prob": 0.0,
  "layer_norm_eps": 1e-5,
  "attention_bias": False,
  "mlp_bias": False,
  "decoder_bias": False,
  "tie_word_embeddings": False,
  "pooler_reads": "late",
  "rotary_base": 10000.0,
}
_SHARED = {**_IMPLIED, **_DEFAULTS, "rotary_base": 250000.0}
_OUTPUT_BIAS = "output_bias"  # A key that `read` makes.


def read(values, origin):
  """Adds the bias of the head, which is the feed-forward layers' too."""
  has_bias = values.get("mlp_bias", False)
  return rope.read(values, origin) | {_OUTPUT_BIAS: has_bias}


def write(values, config):
  """Writes one key for both biases; see `Family.write`."""
  values = rope.write(values, config) | {
    "num_key_value_heads": config.num_key_value_heads
    or config.num_attention_heads
  }
  return {key: values[key] for key in values if key != _OUTPUT_BIAS}


FAMILY = family.Family(
  name="eurobert",
  class_stem="EuroBert",
  presets={
    "eurobert_210m": family.size(12, 768, num_key_value_heads=12, **_SHARED),
    "eurobert_610m": family.size(
      26,
      1152,
      num_attention_heads=18,
      num_key_value_heads=6,
      intermediate_size=4096,
      **_SHARED,
    ),
    "eurobert_2.1b": family.size(
      32,
      2304,
      num_attention_heads=18,
      num_key_value_heads=6,
      intermediate_size=6144,
      **_SHARED,
    ),
  },
  config_keys={k: k for k in family.CONFIG_KEYS if k not in _IMPLIED}
  | family.same("num_key_value_heads", "attention_bias", "mlp_bias")
  | rope.KEYS
  | {
    "attention_probs_dropout_prob": "attention_dropout",
    "layer_norm_eps": "rms_norm_eps",
    "decoder_bias": _OUTPUT_BIAS,
    "pooler_reads": "classifier_pooling",
  },
  values={
    "classifier_pooling": {"late": "late", "mean": "mean", "bos": "token"}
  },
  implied=_IMPLIED,
  # Not the ids of the released vocabulary: other vocabularies have others.
  constants={
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": 0,
    "pretraining_tp": 1,
    "use_cache": True,
  },
  fixed={"is_decoder": False, "pretraining_tp": 1},
  defaults=_DEFAULTS,
  head_size_key="head_dim",
  read=read,
  write=write,
  columns=(family.TWO_GATES,),
  names=(
    ("bert/embeddings/word_embeddings", "model/embed_tokens"),
    ("bert/encoder/LayerNorm", "model/norm"),
    (_OURS + "attention/self/query", _THEIRS + "self_attn/q_proj"),
    (_OURS + "attention/self/key", _THEIRS + "self_attn/k_proj"),
    (_OURS + "attention/self/value", _THEIRS + "self_attn/v_proj"),
    (_OURS + "attention/output/dense", _THEIRS + "self_attn/o_proj"),
    (_OURS + "attention/output/LayerNorm", _THEIRS + "input_layernorm"),
    (_OURS + "intermediate/gate", _THEIRS + "mlp/gate_proj"),
    (_OURS + "intermediate/up", _THEIRS + "mlp/up_proj"),
    (_OURS + "output/dense", _THEIRS + "mlp/down_proj"),
    (_OURS + "output/LayerNorm", _THEIRS + "post_attention_layernorm"),
    ("bert/pooler/dense", "dense"),
    *family.TASKS,
  ),
  parameters=(
    family.decoder("lm_head/weight"),
    ("cls/predictions/output_bias", "lm_head/bias"),
  ),
  prefix="model",
  encoder_parts=("embed_tokens", "layers", "norm"),
  has_pooler=False,
  architectures=family.MASKED_WORDS_ALONE
  | dict.fromkeys(("multiple_choice", "question_answering")),
  framing=family.Framing(segments=False),
)
