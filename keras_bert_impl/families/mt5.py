"""mT5: Xue et al. 2021. T5 in a hundred languages, with gates."""

import dataclasses

from keras_bert_impl.families import t5

DEFAULTS = t5.DEFAULTS | {
  "vocab_size": 250112,
  "num_hidden_layers": 8,
  "num_attention_heads": 6,
  "intermediate_size": 1024,
  "hidden_act": "gelu_new",
  "gated_feed_forward": True,
}


def read(values, origin):
  """Reads as `t5.read`, with another form where the file has none."""
  return t5.read({"feed_forward_proj": "gated-gelu"} | values, origin)


FAMILY = dataclasses.replace(
  t5.FAMILY,
  keras_hub=None,
  name="mt5",
  class_stem="MT5",
  presets={"mt5_small_encoder": t5.IMPLIED | DEFAULTS | t5.HEAD_SIZE},
  defaults=DEFAULTS | t5.HEAD_SIZE,
  read=read,
)
