"""DeBERTa-v2, DeBERTaV3 and mDeBERTa: He et al. 2021 and 2023.

Distances in buckets, projections of positions shared with contents, and in
version 2 a convolution. SentencePiece models.
"""

import dataclasses

from keras_bert_impl.families import deberta, family

_SHARED = {
  **deberta.SHARED,
  "position_buckets": 256,
  "share_att_key": True,
  "norm_rel_ebd": "layer_norm",
}
_V2 = {**_SHARED, "conv_kernel_size": 3, "conv_act": "gelu"}

FAMILY = dataclasses.replace(
  deberta.FAMILY,
  name="deberta-v2",
  class_stem="DebertaV2",
  presets={
    "deberta_v2_xlarge": family.size(24, 1536, vocab_size=128100, **_V2),
    "deberta_v2_xxlarge": family.size(48, 1536, vocab_size=128100, **_V2),
    "deberta_v3_xsmall": family.size(12, 384, vocab_size=128100, **_SHARED),
    "deberta_v3_small": family.size(6, 768, vocab_size=128100, **_SHARED),
    "deberta_v3_base": family.size(12, 768, vocab_size=128100, **_SHARED),
    "deberta_v3_large": family.size(24, 1024, vocab_size=128100, **_SHARED),
    "mdeberta_v3_base": family.size(12, 768, vocab_size=251000, **_SHARED),
  },
  config_keys=deberta.CONFIG_KEYS
  | family.same(
    "position_buckets",
    "share_att_key",
    "norm_rel_ebd",
    "conv_kernel_size",
    "conv_groups",
    "conv_act",
  ),
  implied=deberta.IMPLIED,
  defaults=deberta.DEFAULTS | family.size(24, 1536, vocab_size=128100),
  columns=(),
  names=(
    *(
      (deberta.OURS + ours, deberta.THEIRS + ours.split("/")[-1] + "_proj")
      for ours in (
        "query",
        "key",
        "value",
        "disentangled/pos_key",
        "disentangled/pos_query",
      )
    ),
    *deberta.NAMES,
  ),
  parameters=deberta.PARAMETERS,
  architectures={"replaced_tokens": "Model"},
  sentencepiece_file="spm.model",
  sentencepiece_options={},
  # [MASK] was added to the model's pieces.
  piece_ids=family.PieceIds((), skipped=0, after=("[MASK]",)),
)
