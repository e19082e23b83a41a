"""Ids with a meaning for the search, as a checkpoint's files say them."""

import dataclasses

import tensorflow as tf

from keras_bert_impl import files
from keras_bert_impl.checkpoints.descriptions import generation_config
from keras_bert_impl.generation import settings


def read(folder):
  """Returns `settings.TokenIds` of a folder, and the id that begins a text.

  Args:
    folder: str, of a checkpoint.

  Returns:
    Tuple; the id is None of models without a decoder of their own.

  Raises:
    ValueError: a file is damaged.
  """
  values = generation_config.read(files.Folder(folder))
  end = _several(values.get("eos_token_id"))
  [last, *_] = [*_several(values.get("forced_eos_token_id")), None]
  # Words of several tokens are not banned.
  words = values.get("bad_words_ids", [])
  alone = [
    word[0] for word in words if isinstance(word, list) and len(word) == 1
  ]
  padding = values.get("pad_token_id", end[0] if end else 0)
  tokens = settings.TokenIds(
    end=end,
    padding=padding,
    first=values.get("forced_bos_token_id"),
    last=last,
    banned=(*_several(values.get("suppress_tokens")), *alone),
  )
  start = values.get("decoder_start_token_id", values.get("bos_token_id"))
  return tokens, start


def completed(tokens, start, vocabulary, config):
  """Returns what `read` returns, with what files do not say.

  Args:
    tokens: `settings.TokenIds`.
    start: int or None.
    vocabulary: `Vocabulary` of the model.
    config: `EncoderConfig` of the model.

  Returns:
    As `read`, without ids that the model has not: texts end with [SEP], if
    there is one, and a decoder begins as it does in its family.
  """
  ids = vocabulary.role_ids
  ends = tuple(end for end in tokens.end if end < config.vocab_size)
  if not ends and "sep" in ids:
    ends = (ids["sep"],)
  tokens = dataclasses.replace(tokens, end=ends)
  if start is not None and start >= config.vocab_size:
    start = None
  if start is None and config.num_decoder_layers:
    start = ids.get(config.family.start_role)
  return tokens, start


def begin_of(tokens, tokenizer, config):
  """Returns the ids with which a text that is written begins, tuple of int.

  Args:
    tokens: `settings.TokenIds`.
    tokenizer: of `tokenizers.load`.
    config: `EncoderConfig` of the model.
  """
  if tokens.first is not None:
    return (tokens.first,)
  if config.num_decoder_layers and tokenizer.framing.num_before:
    return (tokenizer.vocabulary.cls_id,)
  return ()


def to_dict(tokens, start, config):
  """Returns the keys of config.json that `read` reads, {key: JSON value}.

  Args: as `completed`.
  """
  has_decoder = bool(config.num_decoder_layers)
  values = {
    "eos_token_id": tokens.end[0] if len(tokens.end) == 1 else [*tokens.end],
    "pad_token_id": tokens.padding,
    "decoder_start_token_id" if has_decoder else "bos_token_id": start,
    "forced_bos_token_id": tokens.first,
    "forced_eos_token_id": tokens.last,
    "suppress_tokens": [*tokens.banned],
  }
  return {k: v for k, v in values.items() if v not in (None, [])}


def texts(tokenizer, ids, num_tokens, ends):
  """Returns the texts of ids that a search has found, string [R].

  Args:
    tokenizer: of `tokenizers.load`.
    ids: int32 [R, T].
    num_tokens: int32 [R], how many of them count.
    ends: tuple of int, ids that are no text.
  """
  # A model may have rows for more tokens than there are.
  kept = tf.sequence_mask(num_tokens, tf.shape(ids)[1])
  kept &= ids < tokenizer.vocabulary.size
  for end in ends:
    kept &= ids != end
  found = tokenizer.detokenize(tf.ragged.boolean_mask(ids, kept))
  # Tokens of byte-level BPE may end within a character.
  return tf.strings.unicode_transcode(found, "UTF-8", "UTF-8")


def _several(ids):
  """Returns an id, a list of them or None as a tuple."""
  return () if ids is None else (ids,) if isinstance(ids, int) else tuple(ids)
