"""MPNet: Song et al. 2020. Biases of attention by distance, no segments.

The vocabulary is BERT's with RoBERTa's special tokens; positions start after
the padding's, as RoBERTa's.
"""

from keras_bert_impl.families import family, roberta

_SHARED = {
  "max_position_embeddings": 514,
  "position_offset": 2,
  "type_vocab_size": 0,
  "relative_attention_num_buckets": 32,
}
_OURS = "bert/encoder/layer_#/"
_THEIRS = "mpnet/encoder/layer/#/"

FAMILY = family.Family(
  name="mpnet",
  class_stem="MPNet",
  presets={"mpnet_base": family.size(12, 768, vocab_size=30527, **_SHARED)},
  config_keys={
    **{k: v for k, v in family.CONFIG_KEYS.items() if k != "type_vocab_size"},
    "relative_attention_num_buckets": "relative_attention_num_buckets",
    **roberta.POSITIONS,
  },
  implied={"type_vocab_size": 0},
  constants={"bos_token_id": 0, "eos_token_id": 2},
  defaults={"vocab_size": 30527, "relative_attention_num_buckets": 32},
  read=roberta.read,
  write=roberta.write,
  names=(
    (
      "bert/encoder/relative_attention_bias/distance_embeddings",
      "mpnet/encoder/relative_attention_bias",
    ),
    (_OURS + "attention/self/query", _THEIRS + "attention/attn/q"),
    (_OURS + "attention/self/key", _THEIRS + "attention/attn/k"),
    (_OURS + "attention/self/value", _THEIRS + "attention/attn/v"),
    (_OURS + "attention/output/dense", _THEIRS + "attention/attn/o"),
    (_OURS + "attention/output/LayerNorm", _THEIRS + "attention/LayerNorm"),
    (_OURS, _THEIRS),
    ("bert/", "mpnet/"),
    ("cls/predictions/transform/dense", "lm_head/dense"),
    ("cls/predictions/transform/LayerNorm", "lm_head/layer_norm"),
    ("cls/predictions", "lm_head"),
    *family.TASKS,
  ),
  head_names=family.DENSE_CLASSIFIER,
  parameters=(family.decoder("lm_head/decoder/weight"),),
  prefix="mpnet",
  framing=family.Framing(separators=2, segments=False),
  # The vocabulary still has BERT's.
  special_tokens={
    "pad": "<pad>",
    "cls": "<s>",
    "sep": "</s>",
    "mask": "<mask>",
  },
)
