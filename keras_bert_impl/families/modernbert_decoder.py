"""ModernBERT from left to right: Weller et al. 2025 (Ettin decoders).

Source: transformers, modeling_modernbert_decoder.py.
"""

import dataclasses

from keras_bert_impl.families import family, modernbert

_OURS = "bert/encoder/layer_#/"
_THEIRS = "model/layers/#/"
_IMPLIED = modernbert.IMPLIED | {
  "use_causal_mask": True,
  "classifier_pooling": "cls",  # the last token
}
# Tokens that a local layer sees, its own included; and twice as many.
_SEEN, _LOCAL = "sliding_window", "local_attention"
_WINDOW = "window"  # A key that `read` makes.


def read(values, origin):
  """Reads as `modernbert.read`, with a window to the left alone.

  Raises:
    ValueError: as there; or a local layer sees no other token.
  """
  values = modernbert.read(values, origin)
  seen = values.get(_SEEN)
  if seen is None:
    seen = values.get(_LOCAL, 128) // 2
  if seen < 2:
    raise ValueError(f"{_SEEN} ({seen!r}) in {origin} must be at least 2.")
  return values | {_WINDOW: 2 * (seen - 1)}


def write(values, config):
  """Writes as `modernbert.write`; see `read`."""
  values = modernbert.write(values, config)
  seen = config.attention_window // 2 + 1
  if values.get(_LOCAL, 0) // 2 != seen:
    values[_LOCAL] = 2 * seen
  kept = {key: values[key] for key in values if key != _WINDOW}
  return kept | {_SEEN: seen}


FAMILY = dataclasses.replace(
  modernbert.FAMILY,
  name="modernbert-decoder",
  class_stem="ModernBertDecoder",
  presets={},
  config_keys={
    field: key
    for field, key in modernbert.FAMILY.config_keys.items()
    if field not in _IMPLIED
  }
  | {"attention_window": _WINDOW, "logits_bias": "classifier_bias"},
  implied=_IMPLIED,
  fixed={"rope_scaling": None},
  read=read,
  write=write,
  columns=(),
  names=(
    (_OURS + "attention/self/query", _THEIRS + "attn/q_proj"),
    (_OURS + "attention/self/key", _THEIRS + "attn/k_proj"),
    (_OURS + "attention/self/value", _THEIRS + "attn/v_proj"),
    ("cls/predictions/transform/dense", "lm_head/dense"),
    ("cls/predictions/transform/LayerNorm", "lm_head/norm"),
    *modernbert.FAMILY.names,
  ),
  head_names=dict.fromkeys(
    family.CLASSIFIERS,
    (
      ("cls/predictions/transform/dense", "head/dense"),
      ("cls/predictions/transform/LayerNorm", "head/norm"),
    ),
  ),
  architectures={"pretraining": "ForCausalLM", "replaced_tokens": "Model"}
  | dict.fromkeys(
    ("multiple_choice", "question_answering", "token_classification")
  ),
)
