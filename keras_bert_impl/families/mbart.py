"""mBART: Liu et al. 2020. BART with norms first, of many languages.

Source: fairseq, examples/mbart, and its form in transformers.
"""

import dataclasses

from keras_bert_impl.families import bart

_IMPLIED = bart.IMPLIED | {"norm_first": True, "first_norm_twice": True}

FAMILY = dataclasses.replace(
  bart.SHARED,
  name="mbart",
  class_stem="MBart",
  presets={},
  implied=_IMPLIED,
  fixed={"add_cross_attention": False},
)
