"""How likely texts are after a prompt, as a servable reads both.

Axes, besides those of `servables`: T tokens of the longest text.
"""

import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.kinds.generation import token_ids
from keras_bert_impl.serving import servables


def score(servable, text, candidate):
  """Returns what `GenerationServable.score` does.

  Args:
    servable: `GenerationServable`.
    text: string [B], the prompts.
    candidate: string [B], the texts.
  """
  ids, mask, pieces, is_cut = _read(servable, text, candidate)
  if servable.config.num_decoder_layers:
    starts = tf.fill([tf.shape(ids)[0], 1], servable.start)
    read = tf.concat([starts, pieces], axis=1)[:, :-1].to_tensor()
    logits = _logits(servable, ids, mask, {features.DECODER_IDS: read})
    first = tf.zeros_like(mask[:, 0])
  else:
    prompt = tf.RaggedTensor.from_tensor(ids, tf.reduce_sum(mask, axis=1))
    whole = tf.concat([prompt, pieces], axis=1)
    seen = tf.sequence_mask(whole.row_lengths(), dtype=tf.int32)
    logits = _logits(servable, whole.to_tensor(), seen, {})
    first = tf.cast(prompt.row_lengths(), tf.int32) - 1
  lengths = tf.cast(pieces.row_lengths(), tf.int32)
  targets = pieces.to_tensor()  # [B, T]
  places = first[:, tf.newaxis] + tf.range(tf.shape(targets)[1])
  is_there = tf.sequence_mask(lengths, tf.shape(targets)[1])
  places = tf.where(is_there, places, 0)
  rows = tf.gather(tf.nn.log_softmax(logits), places, batch_dims=1)
  found = tf.gather(rows, targets, batch_dims=2)
  return {
    "score": tf.reduce_sum(tf.where(is_there, found, 0.0), axis=1),
    "num_tokens": lengths,
    servables.IS_CUT: is_cut,
  }


def have_room(servable, text, candidate):
  """Returns whether nothing is cut, bool [B]; arguments as of `score`."""
  return ~_read(servable, text, candidate)[-1]


def _read(servable, text, candidate):
  """Returns what a model is to read of prompts and texts, string [B] each.

  Returns:
    ids and mask int32 [B, L] of the prompts; those of the texts, int32
    RaggedTensor [B, (T)], as far as there is room; and bool [B], whether a
    prompt or a text is cut.
  """
  tokenizer, config = servable.tokenizer, servable.config
  pieces = tokenizer.target_tokenizer.tokenize(candidate)
  ids, mask, is_cut = servable.prompts(text)
  if config.num_decoder_layers:
    # As it is learned, and as it would be written.
    tokens = servable.token_ids
    begin, end = (
      tf.tile(tf.constant([framing], tf.int32), [tf.shape(ids)[0], 1])
      for framing in (
        token_ids.begin_of(tokens, tokenizer, config),
        tokens.end[:1],
      )
    )
    pieces = tf.concat([begin, pieces, end], axis=1)
  pieces, has_no_room = _cut(pieces, mask, config)
  return ids, mask, pieces, is_cut | has_no_room


def _cut(pieces, mask, config):
  """Returns the pieces of texts for which a model has positions.

  Args:
    pieces: int32 RaggedTensor [B, (pieces)].
    mask: int32 [B, L], that of the prompts.
    config: `EncoderConfig` of the model.

  Returns:
    RaggedTensor as pieces; and bool [B], whether some were left out.
  """
  lengths = tf.cast(pieces.row_lengths(), tf.int32)
  longest = config.longest_input
  if longest is None:
    return pieces, tf.zeros_like(lengths, tf.bool)
  if not config.num_decoder_layers:
    longest -= tf.reduce_sum(mask, axis=1)
  kept = tf.RaggedTensor.from_tensor(
    pieces.to_tensor(), tf.minimum(lengths, longest)
  )
  return kept, lengths > longest


def _logits(servable, ids, mask, others):
  """Returns token_logits float32 [B, L or T, V] of all places."""
  rows = {
    features.INPUT_IDS: ids,
    features.INPUT_MASK: mask,
    features.SEGMENT_IDS: tf.zeros_like(ids),
  }
  return servable.load_model()(rows | others)["token_logits"]
