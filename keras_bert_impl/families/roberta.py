"""RoBERTa: Liu et al. 2019. Byte-level vocabulary, no segments.

Positions start after the padding's, in the released code only (fairseq).
"""

from keras_bert_impl.families import family

# Fields of all sizes; on the vocabulary of another family too.
SHARED = {
  "max_position_embeddings": 514,
  "position_offset": 2,
  "type_vocab_size": 1,
  "layer_norm_eps": 1e-5,
}

# The key that `read` makes of the padding's id.
POSITIONS = family.same("position_offset")


def read(values, origin):
  """Adds the first position, the one after the padding; see `Family.read`."""
  del origin
  pad_id = values.get("pad_token_id")
  return values | {"position_offset": 2 if pad_id is None else pad_id + 1}


def write(values, config):
  """Writes the padding's id for the first position; see `Family.write`."""
  values = values | {"pad_token_id": config.position_offset - 1}
  return {key: values[key] for key in values if key not in POSITIONS}


FAMILY = family.Family(
  name="roberta",
  class_stem="Roberta",
  presets={
    "roberta_base": family.size(12, 768, vocab_size=50265, **SHARED),
    "roberta_large": family.size(24, 1024, vocab_size=50265, **SHARED),
  },
  constants={"bos_token_id": 0, "eos_token_id": 2, "use_cache": True},
  config_keys=family.CONFIG_KEYS | POSITIONS,
  defaults={"vocab_size": 50265},
  read=read,
  write=write,
  names=(
    ("bert/encoder/layer_#/", "roberta/encoder/layer/#/"),
    ("bert/", "roberta/"),
    ("cls/predictions/transform/dense", "lm_head/dense"),
    ("cls/predictions/transform/LayerNorm", "lm_head/layer_norm"),
    ("cls/predictions", "lm_head"),
    *family.TASKS,
  ),
  head_names=family.DENSE_CLASSIFIER,
  parameters=(family.decoder("lm_head/decoder/weight"),),
  prefix="roberta",
  # KerasHub's positions start at 0, and it has no row of segments.
  keras_hub=family.KerasHubLayout(
    backbone="RobertaBackbone",
    implied={"type_vocab_size": 0, "layer_norm_eps": 1e-5},
  ),
  framing=family.Framing(separators=2, segments=False),
)
