"""Zero-shot classes: the kind, whole."""

import dataclasses

from keras_bert_impl import heads
from keras_bert_impl.kinds.texts import text_kind
from keras_bert_impl.kinds.zero_shot import zero_shot_servable

# A classifier of pairs, trained as such, with another use.
KIND = dataclasses.replace(
  text_kind.KIND,
  name="zero_shot",
  servables=dict.fromkeys(
    (heads.ZERO_SHOT, heads.CLASSIFICATION), zero_shot_servable.ZeroShotServable
  ),
  pipeline="zero-shot-classification",
  prepare=None,
  scored=(),
)
