"""umT5: Chung et al. 2023. mT5 with biases of attention of each layer."""

import dataclasses

from keras_bert_impl.families import mt5, t5

IMPLIED = t5.IMPLIED | {"relative_attention_per_layer": True}
DEFAULTS = mt5.DEFAULTS | {"vocab_size": 256384}

FAMILY = dataclasses.replace(
  mt5.FAMILY,
  name="umt5",
  class_stem="UMT5",
  presets={"umt5_small_encoder": IMPLIED | DEFAULTS | t5.HEAD_SIZE},
  implied=IMPLIED,
  defaults=mt5.FAMILY.defaults,
  names=(
    *(
      (
        f"bert/{stack}/relative_attention_bias_#/distance_embeddings",
        f"transformer/{stack}/block/#/layer/{t5.BIAS}",
      )
      for stack in ("encoder", "decoder")
    ),
    *t5.NAMES,
  ),
)
