"""GPT-2: Radford et al. 2019. From left to right, norms first.

Source: openai/gpt-2, src/model.py, and its form in transformers.
"""

from keras_bert_impl.families import family

_OURS = "bert/encoder/layer_#/"
_THEIRS = "transformer/h/#/"
_IMPLIED = {
  "use_causal_mask": True,
  "norm_first": True,
  "embeddings_norm": False,
  "type_vocab_size": 0,
  "decoder_transform": False,
  "decoder_bias": False,
  "pooler_reads": "mean",
}
_DEFAULTS = {
  "vocab_size": 50257,
  "max_position_embeddings": 1024,
  "hidden_act": "gelu_new",
  "layer_norm_eps": 1e-5,
}
_INNER = "n_inner"


def read(values, origin):
  """Reads the width of the feed-forward layer, 4 H by default."""
  del origin
  width = values.get(_INNER) or 4 * values.get("n_embd", 768)
  return values | {_INNER: width}


def write(values, config):
  """Writes that width where it is another one; see `read`."""
  is_usual = config.intermediate_size == 4 * config.hidden_size
  return values | {_INNER: None if is_usual else config.intermediate_size}


FAMILY = family.Family(
  name="gpt2",
  class_stem="GPT2",
  presets={
    name: _DEFAULTS | _IMPLIED | family.size(layers, hidden)
    for name, layers, hidden in (
      ("gpt2", 12, 768),
      ("gpt2_medium", 24, 1024),
      ("gpt2_large", 36, 1280),
      ("gpt2_xl", 48, 1600),
    )
  },
  config_keys={
    "vocab_size": "vocab_size",
    "hidden_size": "n_embd",
    "num_hidden_layers": "n_layer",
    "num_attention_heads": "n_head",
    "intermediate_size": _INNER,
    "max_position_embeddings": "n_positions",
    "hidden_act": "activation_function",
    "hidden_dropout_prob": "resid_pdrop",
    "attention_probs_dropout_prob": "attn_pdrop",
    "initializer_range": "initializer_range",
    "layer_norm_eps": "layer_norm_epsilon",
    "tie_word_embeddings": "tie_word_embeddings",
  },
  implied=_IMPLIED,
  constants={"bos_token_id": 50256, "eos_token_id": 50256},
  fixed={
    "add_cross_attention": False,
    "reorder_and_upcast_attn": False,
    "scale_attn_by_inverse_layer_idx": False,
    "scale_attn_weights": True,
  },
  defaults=_DEFAULTS,
  read=read,
  write=write,
  columns=(family.FUSED_PROJECTIONS,),
  transposes_kernels=False,
  names=(
    ("bert/embeddings/word_embeddings", "transformer/wte"),
    ("bert/embeddings/position_embeddings", "transformer/wpe"),
    ("bert/encoder/LayerNorm", "transformer/ln_f"),
    (_OURS + "attention/self/in_proj", _THEIRS + "attn/c_attn"),
    (_OURS + "attention/output/dense", _THEIRS + "attn/c_proj"),
    (_OURS + "attention/output/LayerNorm", _THEIRS + "ln_1"),
    (_OURS + "intermediate/dense", _THEIRS + "mlp/c_fc"),
    (_OURS + "output/dense", _THEIRS + "mlp/c_proj"),
    (_OURS + "output/LayerNorm", _THEIRS + "ln_2"),
    *family.TASKS,
  ),
  parameters=(family.decoder("lm_head/weight"),),
  prefix="transformer",
  encoder_parts=("wte", "wpe", "h", "ln_f"),
  has_pooler=False,
  causal_class="LMHeadModel",
  architectures={
    "fill_mask": "LMHeadModel",
    **dict.fromkeys(
      (*family.CLASSIFIERS, "multiple_choice", "question_answering")
    ),
  },
  framing=family.Framing(segments=False, begin=False, end=False),
  special_tokens={"sep": "<|endoftext|>"},
)
