"""Writes servables as versions of a SavedModel, as TF Serving expects them.

`export_dir/1/`, `export_dir/2/`, ...: a server that watches export_dir takes up
a new version by itself. Each holds the graph, the weights once in float32, and
the vocabulary under assets/; nothing outside of it is needed any more.
"""

import os

import tensorflow as tf

from keras_bert_impl.serving import preprocessing, servables


def export_encoder(encoder, tokenizer, export_dir, max_seq_length):
  """Exports an encoder; see `servables.EncoderServable` for what it answers.

  Signatures: `serving_default` (text) and `token_ids`.

  Args:
    encoder: `TransformerEncoder`, made under any strategy and dtype policy.
    tokenizer: the tokenizer of its vocabulary, of any kind.
    export_dir: str, directory of the versions, made if need be.
    max_seq_length: int, longer texts are cut.

  Returns:
    str, the directory of the new version.

  Raises:
    ValueError: if encoder, tokenizer and max_seq_length do not fit together,
      or inside `strategy.scope()`.
  """
  _check(encoder.config, tokenizer, max_seq_length)
  servable = servables.EncoderServable(
    _plain_copy(encoder),
    preprocessing.TextPreprocessor(tokenizer, max_seq_length),
  )
  signatures = {
    "serving_default": servable.encode_text,
    "token_ids": servable.encode_ids,
  }
  return _write_version(servable, signatures, export_dir)


def export_fill_mask(model, tokenizer, export_dir, max_seq_length, top_k=5):
  """Exports a masked language model; see `servables.FillMaskServable`.

  Signature: `serving_default` (text with [MASK] or <mask>).

  Args:
    model: `PretrainingModel`, made under any strategy and dtype policy.
    tokenizer: the tokenizer of its vocabulary, of any kind.
    export_dir: str, directory of the versions, made if need be.
    max_seq_length: int, longer texts are cut.
    top_k: int, tokens returned for each mask.

  Returns:
    str, the directory of the new version.

  Raises:
    ValueError: as `export_encoder`, and if top_k is not between 1 and the
      size of the vocabulary.
  """
  config = model.encoder.config
  _check(config, tokenizer, max_seq_length)
  if not 1 <= top_k <= config.vocab_size:
    raise ValueError(
      f"top_k ({top_k}) must be between 1 and the size of the vocabulary, "
      f"{config.vocab_size}."
    )
  servable = servables.FillMaskServable(
    _plain_copy(model),
    preprocessing.TextPreprocessor(tokenizer, max_seq_length, reads_masks=True),
    top_k,
  )
  signatures = {"serving_default": servable.fill_masks}
  return _write_version(servable, signatures, export_dir)


def _check(config, tokenizer, max_seq_length):
  if tokenizer.vocabulary.size != config.vocab_size:
    raise ValueError(
      f"vocab_size ({config.vocab_size}) of the model differs from the "
      f"{tokenizer.vocabulary.size} tokens of {tokenizer.vocabulary.origin}."
    )
  longest = config.max_sequence_length
  if max_seq_length > longest:
    raise ValueError(
      f"max_seq_length ({max_seq_length}) must be at most the model's "
      f"({longest})."
    )


def _plain_copy(model):
  """Returns the model anew, for one device and float32, with its weights.

  The variables of a model made under a strategy are sets of replicas, which no
  SavedModel holds; and a policy such as mixed_bfloat16 is for training.
  """
  if tf.distribute.has_strategy():
    raise ValueError("A model cannot be exported inside strategy.scope().")
  copy = type(model).from_config({**model.get_config(), "dtype": "float32"})
  copy.set_weights(model.get_weights())
  return copy


def _write_version(servable, signatures, export_dir):
  """Saves into the next free version of export_dir, all or nothing."""
  gfile = tf.io.gfile
  gfile.makedirs(export_dir)
  names = [name.rstrip("/") for name in gfile.listdir(export_dir)]
  newest = max((int(name) for name in names if name.isdecimal()), default=0)
  version_dir = os.path.join(export_dir, str(newest + 1))
  # A server reads only directories whose name is a number.
  temporary = os.path.join(export_dir, f"tmp-{newest + 1}-{os.getpid()}")
  try:
    tf.saved_model.save(servable, temporary, signatures=signatures)
    gfile.rename(temporary, version_dir)
  finally:
    if gfile.exists(temporary):
      gfile.rmtree(temporary)
  return version_dir
