"""Per-token outputs: tokens, offsets and padding.

Axes, besides those of `servables`: T most tokens of a text in the batch, which
is L without [CLS] and [SEP].
"""

import tensorflow as tf


def answer(servable, text, name, output, activation=tf.identity):
  """Answers texts with the tokens of each and a value of each token.

  Args:
    servable: `servables.Servable`.
    text: string [B].
    name: str, what the values are called.
    output: str, the output of the model that has them, float32 [B, L, ...].
    activation: as of `Servable.outputs`.

  Returns:
    num_tokens int32 [B]; tokens string [B, T], as the tokenizer's `token_texts`
    shows them, and "" beyond num_tokens; starts and ends int32 [B, T], where
    they stand in the text, in characters and `end` exclusive, 0 beyond
    num_tokens; is_cut bool [B], whether there are tokens beyond max_seq_length,
    which are left out; the values, float32 [B, T, ...], 0 beyond num_tokens.
  """
  tokenizer = servable.tokenizer
  everything = tokenizer.tokenize_with_offsets(text)
  rows, is_cut = servable.assemble(everything[0])
  [values] = servable.outputs(rows, output, activation=activation)
  room = servable.max_seq_length - tokenizer.num_special_tokens()
  ids, starts, ends = (x[:, :room] for x in everything)
  texts = ids.with_flat_values(texts_of(tokenizer, ids.flat_values))
  num_tokens = tf.cast(ids.row_lengths(), tf.int32)
  framing, is_token = tokenizer.framing, tf.sequence_mask(num_tokens)  # [B, T]
  after = tf.shape(values)[1] - framing.num_after
  values = values[:, framing.num_before : after]
  for _ in values.shape[2:]:
    is_token = is_token[..., tf.newaxis]
  return {
    "num_tokens": num_tokens,
    "tokens": texts.to_tensor(""),
    "starts": starts.to_tensor(0),
    "ends": ends.to_tensor(0),
    "is_cut": is_cut,
    name: tf.where(is_token, values, 0.0),
  }


def texts_of(tokenizer, ids):
  """Returns the tokens of ids as people can read them, string as `ids`.

  A token of byte-level BPE that is a part of a character gets U+FFFD.
  """
  texts = [text.decode("utf-8", "replace") for text in tokenizer.token_texts]
  return tf.gather(tf.constant(texts), ids)
