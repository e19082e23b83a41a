"""BERT: Devlin et al. 2019; and SpanBERT, which has its layout.

Source: google-research/bert, modeling.py; Joshi et al. 2020 (SpanBERT).
"""

from keras_bert_impl.families import family

_UNCASED, _CASED = 30522, 28996

# Turc et al. 2019, "Well-Read Students Learn Better": the 24 small sizes.
_SMALL_SIZES = {
  f"bert_L-{layers}_H-{hidden}": family.size(
    layers, hidden, vocab_size=_UNCASED
  )
  for layers in (2, 4, 6, 8, 10, 12)
  for hidden in (128, 256, 512, 768)
}
_BASE = family.size(12, 768, vocab_size=_UNCASED)
# Devlin et al. 2019, table 6: the sizes that are not among those.
_SIZES_OF_TABLE_6 = {
  "bert_L-3_H-768": family.size(3, 768, vocab_size=_UNCASED),
  "bert_L-6_H-768_A-3": family.size(
    6, 768, num_attention_heads=3, vocab_size=_UNCASED
  ),
  "bert_L-12_H-1024": family.size(12, 1024, vocab_size=_UNCASED),
}
_LARGE = family.size(24, 1024, vocab_size=_UNCASED)

FAMILY = family.Family(
  name="bert",
  class_stem="Bert",
  presets={
    "bert_tiny": _SMALL_SIZES["bert_L-2_H-128"],
    "bert_mini": _SMALL_SIZES["bert_L-4_H-256"],
    "bert_small": _SMALL_SIZES["bert_L-4_H-512"],
    "bert_medium": _SMALL_SIZES["bert_L-8_H-512"],
    "bert_base": _BASE,
    "bert_large": _LARGE,
    **_SMALL_SIZES,
    **_SIZES_OF_TABLE_6,
    # Devlin et al. 2019, section 5.1: of the size of BERT-Base and GPT-1.
    "left_to_right_base": _BASE | {"use_causal_mask": True},
    # Peters et al. 2018: two layers of 4,096 units and projections of 512.
    "elmo": family.size(2, 512, vocab_size=_UNCASED)
    | {
      "intermediate_size": 4096,
      "type_vocab_size": 0,
      "position_embedding_type": "recurrent",
      "use_causal_mask": True,
      "causal_direction": "both",
    },
    # Joshi et al. 2020: on Google's cased vocabulary.
    "spanbert_base": _BASE | {"vocab_size": _CASED},
    "spanbert_large": _LARGE | {"vocab_size": _CASED},
  },
  constants={"pad_token_id": 0, "use_cache": True},
  names=(
    ("bert/encoder/layer_#/", "bert/encoder/layer/#/"),
    ("bert/", "bert/"),
    ("cls/predictions", "cls/predictions"),
    ("cls/seq_relationship", "cls/seq_relationship"),
    *family.TASKS,
  ),
  parameters=(family.decoder("cls/predictions/decoder/weight"),),
  prefix="bert",
  causal_class="LMHeadModel",
  google=family.GoogleLayout(checkpoint="bert_model.ckpt"),
  keras_hub=family.KerasHubLayout(
    backbone="BertBackbone",
    config_keys=family.KERAS_HUB_KEYS | {"type_vocab_size": "num_segments"},
    implied={"hidden_act": "gelu_new"},
  ),
)
