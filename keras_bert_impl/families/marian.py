"""Marian: Junczys-Dowmunt et al. 2018. The Transformer of Vaswani et al. 2017.

Positions are sines and cosines, no norm follows the embeddings, and norms end
the halves of a block.

Source: marian-nmt, src/models/transformer.h, and its form in transformers.
"""

import dataclasses

from keras_bert_impl.families import bart, family

_LENGTH = "max_position_embeddings"
_IMPLIED = {
  **bart.IMPLIED,
  "position_embedding_type": "sinusoidal_halves",
  "position_offset": 0,
  "embeddings_norm": False,
}
_DEFAULTS = bart.DEFAULTS | {"vocab_size": 58101, _LENGTH: 1024}
# Of English and German, the first task of Vaswani et al.
_TRANSFORMER = {
  **_DEFAULTS,
  **_IMPLIED,
  "vocab_size": 37000,
  _LENGTH: 512,
  "hidden_act": "relu",
  "scale_embeddings": True,
}


def read(values, origin):
  """Reads sizes of the decoder; see `Family.read`.

  Raises:
    ValueError: the decoder has a vocabulary of its own.
  """
  size = values.get("vocab_size")
  family.check_fixed(values, {"decoder_vocab_size": size}, origin)
  return bart.without_equal_sizes(values)


def write(values, config):
  """Writes the sizes of the decoder; see `Family.write`."""
  # The last token is that of padding, and begins what is written.
  last = config.vocab_size - 1
  ids = dict.fromkeys(("decoder_start_token_id", "pad_token_id"), last)
  return ids | values | bart.decoder_sizes(config)


FAMILY = dataclasses.replace(
  bart.SHARED,
  name="marian",
  class_stem="Marian",
  presets={
    f"transformer_{name}": _TRANSFORMER
    | family.size(layers, hidden, num_decoder_layers=layers)
    | others
    for name, layers, hidden, others in (
      ("tiny", 2, 128, {}),
      ("base", 6, 512, {}),
      ("big", 6, 1024, {"hidden_dropout_prob": 0.3}),
    )
  },
  implied=_IMPLIED,
  constants={
    "eos_token_id": 0,
    "forced_eos_token_id": 0,
    "is_encoder_decoder": True,
    "share_encoder_decoder_embeddings": True,
  },
  fixed={
    "add_cross_attention": False,
    "add_final_layer_norm": False,
    "normalize_before": False,
    "normalize_embedding": False,
    "share_encoder_decoder_embeddings": True,
    "static_position_embeddings": True,
  },
  defaults=_DEFAULTS,
  read=read,
  write=write,
  # Computed, but some files have them.
  spare=(
    "bert/embeddings/position_embeddings",
    "bert/decoder/embeddings/position_embeddings",
  ),
  framing=family.Framing(segments=False, begin=False),
  sentencepiece_options={},
  architectures=bart.SHARED.architectures | {"text_to_text": "MTModel"},
)
