"""Longformer: Beltagy et al. 2020. RoBERTa with windows and global tokens.

Source: allenai/longformer, and its form in transformers.
"""

from keras_bert_impl.families import family, roberta

_WINDOW = "attention_window"
_IMPLIED = {"use_global_tokens": True}
_RELEASED = {
  **roberta.SHARED,
  **_IMPLIED,
  "max_position_embeddings": 4098,
  _WINDOW: 512,
}


def read(values, origin):
  """Returns a config.json with one window where all are; see `Family.read`."""
  windows = values.get(_WINDOW)
  if isinstance(windows, list) and len({*map(str, windows)}) == 1:
    values = values | {_WINDOW: windows[0]}
  return roberta.read(values, origin)


def write(values, config):
  """Writes the window of each layer; see `Family.write`."""
  values = values | {_WINDOW: config.windows}
  return roberta.write(values, config)


FAMILY = family.Family(
  name="longformer",
  class_stem="Longformer",
  presets={
    "longformer_base_4096": family.size(12, 768, vocab_size=50265, **_RELEASED),
    "longformer_large_4096": family.size(
      24, 1024, vocab_size=50265, **_RELEASED
    ),
  },
  constants={
    "bos_token_id": 0,
    "eos_token_id": 2,
    "sep_token_id": 2,
    "onnx_export": False,
  },
  config_keys=family.CONFIG_KEYS | roberta.POSITIONS | family.same(_WINDOW),
  implied=_IMPLIED,
  defaults=family.BERT_DEFAULTS | {_WINDOW: 512},
  read=read,
  write=write,
  names=(
    *(
      (
        f"bert/encoder/layer_#/attention/self/global/{name}_global",
        f"longformer/encoder/layer/#/attention/self/{name}_global",
      )
      for name in ("query", "key", "value")
    ),
    ("bert/encoder/layer_#/", "longformer/encoder/layer/#/"),
    ("bert/", "longformer/"),
    ("cls/predictions/transform/dense", "lm_head/dense"),
    ("cls/predictions/transform/LayerNorm", "lm_head/layer_norm"),
    ("cls/predictions", "lm_head"),
    *family.TASKS,
  ),
  head_names=family.DENSE_CLASSIFIER,
  parameters=(family.decoder("lm_head/decoder/weight"),),
  prefix="longformer",
  framing=family.Framing(separators=2, segments=False),
)
