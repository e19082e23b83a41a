"""Masks filled by the heads of pre-training: the kind, whole."""

from keras_bert_impl import heads
from keras_bert_impl.kinds.fill_mask import (
  fill_mask_servable,
  replaced_tokens_servable,
)
from keras_bert_impl.runs.fine_tuning import kind

KIND = kind.Kind(
  "fill_mask",
  tasks={},
  servables={
    heads.FILL_MASK: fill_mask_servable.FillMaskServable,
    heads.REPLACED_TOKENS: replaced_tokens_servable.ReplacedTokensServable,
  },
)
