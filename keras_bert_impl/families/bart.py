"""BART: Lewis et al. 2020. An encoder, and a decoder that writes.

Source: fairseq, examples/bart, and its form in transformers.
"""

import dataclasses

from keras_bert_impl.families import family

OFFSET = 2  # Rows of the position tables before that of the first token.
IMPLIED = {
  "type_vocab_size": 0,
  "position_offset": OFFSET,
  "decoder_transform": False,
  "pooler_reads": "mean",
}
DEFAULTS = {
  **family.size(12, 1024, vocab_size=50265),
  "max_position_embeddings": 1024 + OFFSET,
  "layer_norm_eps": 1e-5,
  "num_decoder_layers": 12,
}
_LENGTH, _POOLER_READS = "max_position_embeddings", "pooler_reads"
_CLASSIFIER = "ForSequenceClassification"
# {field: key}, where the decoder may have other sizes.
_OF_DECODER = {
  "num_decoder_attention_heads": "decoder_attention_heads",
  "decoder_intermediate_size": "decoder_ffn_dim",
}


def names(stack, theirs, has_memory=False):
  """Returns the pairs of names of the weights of a stack of blocks.

  Args:
    stack: str, our name of it, "encoder" or "decoder".
    theirs: str, what its names begin with in `transformers`.
    has_memory: bool, whether its blocks look at another text.
  """
  ours, block = f"bert/{stack}/layer_#/", f"{theirs}/layers/#/"
  parts = [("attention", "self_attn")]
  if has_memory:
    parts.append(("crossattention", "encoder_attn"))
  pairs = []
  for part, name in parts:
    pairs += [
      (f"{ours}{part}/self/{x}", f"{block}{name}/{x[0]}_proj")
      for x in ("query", "key", "value")
    ]
    pairs += [
      (f"{ours}{part}/output/dense", f"{block}{name}/out_proj"),
      (f"{ours}{part}/output/LayerNorm", f"{block}{name}_layer_norm"),
    ]
  return (
    *pairs,
    (ours + "intermediate/dense", block + "fc1"),
    (ours + "output/dense", block + "fc2"),
    (ours + "output/LayerNorm", block + "final_layer_norm"),
    (f"bert/{stack}/LayerNorm", f"{theirs}/layer_norm"),
  )


def read(values, origin):
  """Reads how long the tables of positions are; see `Family.read`."""
  del origin
  length = values.get(_LENGTH)
  values = values | ({} if length is None else {_LENGTH: length + OFFSET})
  return without_equal_sizes(values)


def without_equal_sizes(values):
  """Returns values without sizes of the decoder that are the encoder's."""
  same = [
    key
    for key in _OF_DECODER.values()
    if values.get(key) == values.get(key.replace("decoder", "encoder"))
  ]
  return {key: value for key, value in values.items() if key not in same}


def write(values, config):
  """Writes the same, and the sizes of the decoder; see `Family.write`."""
  length = config.max_position_embeddings - OFFSET
  return values | {_LENGTH: length} | decoder_sizes(config)


def decoder_sizes(config):
  """Returns the sizes of the decoder, {key: int}."""
  decoder = config.of_decoder()
  return {
    "decoder_attention_heads": decoder.num_attention_heads,
    "decoder_ffn_dim": decoder.intermediate_size,
  }


# What others are made of, which have no classifier here.
SHARED = family.Family(
  name="bart",
  class_stem="Bart",
  presets={
    "bart_base": DEFAULTS
    | IMPLIED
    | family.size(6, 768)
    | {"num_decoder_layers": 6},
    "bart_large": DEFAULTS | IMPLIED,
  },
  config_keys={
    "vocab_size": "vocab_size",
    "hidden_size": "d_model",
    "num_hidden_layers": "encoder_layers",
    "num_attention_heads": "encoder_attention_heads",
    "intermediate_size": "encoder_ffn_dim",
    "max_position_embeddings": _LENGTH,
    "hidden_act": "activation_function",
    "hidden_dropout_prob": "dropout",
    "attention_probs_dropout_prob": "attention_dropout",
    "initializer_range": "init_std",
    "num_decoder_layers": "decoder_layers",
    "scale_embeddings": "scale_embedding",
    "tie_word_embeddings": "tie_word_embeddings",
    **_OF_DECODER,
  },
  implied=IMPLIED,
  constants={
    "bos_token_id": 0,
    "decoder_start_token_id": 2,
    "eos_token_id": 2,
    "forced_eos_token_id": 2,
    "is_encoder_decoder": True,
    "pad_token_id": 1,
  },
  fixed={"add_cross_attention": False, "normalize_before": False},
  defaults=DEFAULTS,
  read=read,
  write=write,
  names=(
    ("bert/embeddings/word_embeddings", "model/shared"),
    ("bert/embeddings/word_embeddings", "model/encoder/embed_tokens"),
    ("bert/embeddings/word_embeddings", "model/decoder/embed_tokens"),
    ("bert/embeddings/position_embeddings", "model/encoder/embed_positions"),
    ("bert/embeddings/LayerNorm", "model/encoder/layernorm_embedding"),
    (
      "bert/decoder/embeddings/position_embeddings",
      "model/decoder/embed_positions",
    ),
    ("bert/decoder/embeddings/LayerNorm", "model/decoder/layernorm_embedding"),
    *names("encoder", "model/encoder"),
    *names("decoder", "model/decoder", has_memory=True),
    *family.TASKS,
  ),
  parameters=(
    ("cls/predictions/output_bias", "final_logits_bias"),
    family.decoder("lm_head/weight"),
  ),
  copies={
    "model.shared.weight": (
      "model.encoder.embed_tokens.weight",
      "model.decoder.embed_tokens.weight",
    )
  },
  as_rows=("cls/predictions/output_bias",),
  every_head=("cls/predictions/",),
  prefix="model",
  encoder_parts=("shared", "encoder", "decoder"),
  has_pooler=False,
  architectures=dict.fromkeys(
    (*family.CLASSIFIERS, "multiple_choice", "question_answering", "fill_mask")
  ),
  framing=family.Framing(segments=False, separators=2),
)


def _read(values, origin):
  """Reads what a pooler reads, of a classifier the decoder; see `Family.read`.

  Raises:
    ValueError: the decoder begins with another token than a text ends with.
  """
  [architecture, *_] = values.get("architectures") or [""]
  is_classifier = str(architecture).endswith(_CLASSIFIER)
  start, end = (
    values.get(key, SHARED.constants[key])
    for key in ("decoder_start_token_id", "eos_token_id")
  )
  if is_classifier and start != end:
    raise ValueError(
      f"decoder_start_token_id ({start}) in {origin} must be eos_token_id"
      f" ({end}): the decoder of a classifier begins with the end of the text."
    )
  reads = "decoder" if is_classifier else IMPLIED[_POOLER_READS]
  return read(values, origin) | {_POOLER_READS: reads}


def _write(values, config):
  """Writes no more than the architecture says; see `Family.write`."""
  values = {key: x for key, x in values.items() if key != _POOLER_READS}
  return write(values, config)


FAMILY = dataclasses.replace(
  SHARED,
  config_keys=SHARED.config_keys | family.same(_POOLER_READS),
  implied={key: x for key, x in IMPLIED.items() if key != _POOLER_READS},
  read=_read,
  write=_write,
  head_names=dict.fromkeys(
    family.CLASSIFIERS,
    (
      ("bert/pooler/dense", "classification_head/dense"),
      ("classifier", "classification_head/out_proj"),
    ),
  ),
  architectures={
    head: own
    for head, own in SHARED.architectures.items()
    if head not in family.CLASSIFIERS
  },
)
