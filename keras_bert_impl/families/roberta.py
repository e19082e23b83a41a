"""RoBERTa: Liu et al. 2019. Byte-level vocabulary, no segments.

Positions start after the padding's, in the released code only (fairseq).
"""

from keras_bert_impl.families import family

# Of all sizes; on the vocabulary of another family too.
SHARED = {
  "max_position_embeddings": 514,
  "position_offset": 2,
  "type_vocab_size": 1,
  "layer_norm_eps": 1e-5,
}

FAMILY = family.Family(
  name="roberta",
  class_stem="Roberta",
  presets={
    "roberta_base": family.size(12, 768, vocab_size=50265, **SHARED),
    "roberta_large": family.size(24, 1024, vocab_size=50265, **SHARED),
  },
  constants={"bos_token_id": 0, "eos_token_id": 2, "use_cache": True},
  position_offset_from_padding=True,
  names=(
    ("bert/encoder/layer_#/", "roberta/encoder/layer/#/"),
    ("bert/", "roberta/"),
    ("cls/predictions/transform/dense", "lm_head/dense"),
    ("cls/predictions/transform/LayerNorm", "lm_head/layer_norm"),
    ("cls/predictions", "lm_head"),
    *family.TASKS,
  ),
  classifier_names=(
    ("bert/pooler/dense", "classifier/dense"),
    ("classifier", "classifier/out_proj"),
  ),
  prefix="roberta",
  # Its positions start at 0, and the row of segments is in none.
  keras_hub=family.KerasHubLayout(
    backbone="RobertaBackbone",
    implied={"type_vocab_size": 0, "layer_norm_eps": 1e-5},
  ),
  framing=family.Framing(separators=2, segments=False),
)
