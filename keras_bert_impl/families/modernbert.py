"""ModernBERT: Warner et al. 2024. Rotary positions, most layers local.

Source: AnswerDotAI/ModernBERT, and its form in transformers.
"""

from keras_bert_impl.families import family

_OURS = "bert/encoder/layer_#/"
_THEIRS = "model/layers/#/"
# {kind of layer: (field of its rotary base, key in files of transformers 4)}.
_BASES = {
  "full_attention": ("rotary_base", "global_rope_theta"),
  "sliding_attention": ("local_rotary_base", "local_rope_theta"),
}
_KINDS = tuple(_BASES)
_EVERY = "global_attn_every_n_layers"
IMPLIED = {
  "position_embedding_type": "rotary",
  "type_vocab_size": 0,
  "norm_first": True,
  "gated_feed_forward": True,
  "use_scaled_initializer": True,
}
_DEFAULTS = {
  "vocab_size": 50368,
  "max_position_embeddings": 8192,
  "hidden_dropout_prob": 0.0,
  "attention_probs_dropout_prob": 0.0,
  "layer_norm_eps": 1e-5,
  "rotary_base": 160000.0,
  "local_rotary_base": 10000.0,
  "attention_window": 128,
  "global_attention_every": 3,
  "attention_bias": False,
  "mlp_bias": False,
  "norm_bias": False,
  "classifier_pooling": "cls",
  "classifier_act": "gelu",
  "classifier_bias": False,
  "decoder_bias": True,
}
_RELEASED = {
  **IMPLIED,
  **_DEFAULTS,
  "classifier_pooling": "mean",
}


def read(values, origin):
  """Returns a config.json with the keys of transformers 4; see `Family.read`.

  Version 5 writes the rotary bases in `rope_parameters`, and the kind of each
  layer in `layer_types`.

  Args:
    values: dict.
    origin: str, the file, for messages.

  Raises:
    ValueError: rotary positions of another type, or kinds of layers in another
      order than ours.
  """
  values = dict(values)
  ropes = values.get("rope_parameters") or {}
  for kind, (field, key) in _BASES.items():
    rope = (ropes.get(kind) if isinstance(ropes, dict) else ropes) or {}
    is_dict = isinstance(rope, dict)
    if not is_dict or rope.get("rope_type", "default") != "default":
      raise ValueError(
        f"rope_parameters ({rope!r}) in {origin} are not supported; only those "
        "of rope_type 'default' are, by kind of layer."
      )
    values[key] = rope.get("rope_theta", values.get(key, _DEFAULTS[field]))
  if values["local_rope_theta"] is None:
    values["local_rope_theta"] = values["global_rope_theta"]
  if values.get("layer_types") is not None:
    values[_EVERY] = _every(values, origin)
  return values


def _layer_types(num_layers, every):
  """Returns the kind of each layer, list of str."""
  return [_KINDS[bool(index % every)] for index in range(num_layers)]


def _every(values, origin):
  """Returns `global_attention_every` of the kinds of layers, int."""
  kinds, num_layers = values["layer_types"], values.get("num_hidden_layers")
  stated = values.get(_EVERY)
  candidates = [stated] if isinstance(stated, int) and stated > 0 else []
  candidates += [_DEFAULTS["global_attention_every"]]
  if isinstance(num_layers, int):
    for every in [*candidates, *range(1, num_layers + 1)]:
      if _layer_types(num_layers, every) == kinds:
        return every
  raise ValueError(
    f"layer_types ({kinds!r}) in {origin} must have 'full_attention' for the "
    f"first of {num_layers!r} layers and every n-th after it, for some n, and "
    "'sliding_attention' for the others."
  )


def write(values, config):
  """Returns a config.json with the keys of transformers 5; see `Family.write`.

  Args:
    values: dict.
    config: `configs.EncoderConfig`.
  """
  every = config.global_attention_every
  keys = {key for _, key in _BASES.values()}
  return {
    **{key: value for key, value in values.items() if key not in keys},
    "layer_types": _layer_types(config.num_hidden_layers, every),
    "rope_parameters": {
      kind: {"rope_theta": getattr(config, field), "rope_type": "default"}
      for kind, (field, _) in _BASES.items()
    },
  }


FAMILY = family.Family(
  name="modernbert",
  class_stem="ModernBert",
  presets={
    "modernbert_base": family.size(
      22, 768, intermediate_size=1152, **_RELEASED
    ),
    "modernbert_large": family.size(
      28, 1024, intermediate_size=2624, **_RELEASED
    ),
  },
  config_keys={
    field: key
    for field, key in family.CONFIG_KEYS.items()
    if field not in IMPLIED
  }
  | family.same(
    "attention_bias",
    "mlp_bias",
    "norm_bias",
    "classifier_pooling",
    "classifier_bias",
    "decoder_bias",
  )
  | {
    "hidden_act": "hidden_activation",
    "hidden_dropout_prob": "mlp_dropout",
    "attention_probs_dropout_prob": "attention_dropout",
    "layer_norm_eps": "norm_eps",
    "rotary_base": "global_rope_theta",
    "local_rotary_base": "local_rope_theta",
    "attention_window": "local_attention",
    "global_attention_every": _EVERY,
    "classifier_act": "classifier_activation",
  },
  implied=IMPLIED,
  # Not the ids of the released vocabulary: other vocabularies have others.
  constants={
    "bos_token_id": None,
    "cls_token_id": None,
    "eos_token_id": None,
    "pad_token_id": 0,
    "sep_token_id": None,
  },
  fixed=family.FIXED | {"is_decoder": False, "rope_scaling": None},
  defaults=_DEFAULTS | {"num_hidden_layers": 22, "intermediate_size": 1152},
  read=read,
  write=write,
  columns=(family.FUSED_PROJECTIONS,),
  names=(
    ("bert/embeddings/word_embeddings", "model/embeddings/tok_embeddings"),
    ("bert/embeddings/LayerNorm", "model/embeddings/norm"),
    ("bert/encoder/LayerNorm", "model/final_norm"),
    (_OURS + "attention/self/in_proj", _THEIRS + "attn/Wqkv"),
    (_OURS + "attention/output/dense", _THEIRS + "attn/Wo"),
    (_OURS + "attention/output/LayerNorm", _THEIRS + "attn_norm"),
    (_OURS + "intermediate/dense", _THEIRS + "mlp/Wi"),
    (_OURS + "output/dense", _THEIRS + "mlp/Wo"),
    (_OURS + "output/LayerNorm", _THEIRS + "mlp_norm"),
    ("cls/predictions/transform/dense", "head/dense"),
    ("cls/predictions/transform/LayerNorm", "head/norm"),
    ("classifier", "classifier"),
  ),
  head_names={"question_answering": (("cls/squad", "classifier"),)},
  every_head=("cls/predictions/transform/",),
  parameters=(
    family.decoder("decoder/weight"),
    ("cls/predictions/output_bias", "decoder/bias"),
  ),
  prefix="model",
  encoder_parts=("embeddings", "layers", "final_norm"),
  has_pooler=False,
  framing=family.Framing(segments=False),
)
