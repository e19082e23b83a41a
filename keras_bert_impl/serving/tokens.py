"""Per-token outputs: tokens, offsets and padding.

Axes, besides those of `servables`: T most tokens of a text in the batch, which
is L without [CLS] and [SEP].
"""

import tensorflow as tf


def encode(servable, text):
  """Returns the inputs of a model, and their tokens.

  Args:
    servable: `servables.Servable`.
    text: string [B].

  Returns:
    {name: int32 [B, L]}, as of `Servable.encode`; and a dict of num_tokens
    int32 [B]; tokens string [B, T], as the tokenizer's `token_texts` shows
    them, and "" beyond num_tokens; starts and ends int32 [B, T], where they
    stand in the text, in characters and `end` exclusive, 0 beyond num_tokens;
    is_cut bool [B], whether there are tokens beyond max_seq_length, which are
    left out.
  """
  everything = servable.tokenizer.tokenize_with_offsets(text)
  inputs, is_cut = servable.assemble(everything[0])
  ids, starts, ends = (
    rows[:, : servable.max_seq_length - 2] for rows in everything
  )
  texts = ids.with_flat_values(texts_of(servable.tokenizer, ids.flat_values))
  return inputs, {
    "num_tokens": tf.cast(ids.row_lengths(), tf.int32),
    "tokens": texts.to_tensor(""),
    "starts": starts.to_tensor(0),
    "ends": ends.to_tensor(0),
    "is_cut": is_cut,
  }


def texts_of(tokenizer, ids):
  """Returns the tokens of ids as people can read them, string as `ids`.

  A token of byte-level BPE that is a part of a character gets U+FFFD.
  """
  texts = [text.decode("utf-8", "replace") for text in tokenizer.token_texts]
  return tf.gather(tf.constant(texts), ids)


def select(values, num_tokens, framing):
  """Returns values of tokens, float32 [B, T, ...], 0 beyond them.

  Args:
    values: float32 [B, L, ...], of ids.
    num_tokens: int32 [B].
    framing: `families.family.Framing`, of the ids.
  """
  is_token = tf.sequence_mask(num_tokens)  # [B, T]
  values = values[:, framing.num_before : -framing.num_after]
  shape = tf.concat(
    [tf.shape(is_token), tf.ones([values.shape.rank - 2], tf.int32)], 0
  )
  return tf.where(tf.reshape(is_token, shape), values, 0.0)
