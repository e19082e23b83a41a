"""Inputs of texts that have a prompt before them, in graph ops."""

import numpy as np
import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.tokenizers.graph import text_batches


def encode(
  tokenizer,
  texts,
  prompt,
  max_seq_length,
  do_lower_case=False,
  include_prompt=True,
):
  """Tokenizes texts with a prompt before each.

  Args:
    tokenizer: `Tokenizer`.
    texts: string [B].
    prompt: string [], or a str; may be empty.
    max_seq_length: int, L at most.
    do_lower_case: bool, whether to lower-case texts and prompt before the
      tokenizer sees them.
    include_prompt: bool, whether a prompt is pooled too.

  Returns:
    {name: int32 [B, L]}, as `Tokenizer.assemble`. If a prompt is not pooled,
    there is pooling_mask too, 1 for the tokens after [CLS] and the prompt;
    where there is no prompt, [CLS] is pooled.
  """
  inputs = tokenizer.assemble(
    tokenize(tokenizer, texts, prompt, do_lower_case),
    max_seq_length=max_seq_length,
  )
  if include_prompt:
    return inputs
  return inputs | without_prompt(
    inputs, tokenizer, prompt, max_seq_length, do_lower_case
  )


def tokenize(tokenizer, texts, prompt, do_lower_case=False):
  """Returns the ids of texts with a prompt, int32 RaggedTensor [B, (pieces)].

  Args:
    tokenizer: as of `encode`.
    texts: as of `encode`.
    prompt: as of `encode`.
    do_lower_case: as of `encode`.
  """
  texts = prompt + tf.convert_to_tensor(texts)
  return tokenizer.tokenize(fold(texts, do_lower_case))


def token_counter(tokenizer, do_lower_case=False):
  """Returns a function: list of N str -> their numbers of tokens, int [N].

  Args:
    tokenizer: as of `encode`.
    do_lower_case: as of `encode`.
  """
  count = tf.function(
    lambda texts: tokenize(tokenizer, texts, "", do_lower_case).row_lengths(),
    input_signature=[tf.TensorSpec([None], tf.string)],
    autograph=False,
  )

  def count_all(texts):
    counts = [
      count(tf.constant(batch, tf.string))
      for batch in text_batches.of_texts(texts)
    ]
    return np.concatenate(counts or [np.zeros(0, int)])

  return count_all


def without_prompt(
  inputs, tokenizer, prompt, max_seq_length, do_lower_case=False
):
  """Returns the mask of pooling for texts after a prompt that is not pooled.

  Args:
    inputs: {name: int32 [B, L]}, as `Tokenizer.assemble`.
    tokenizer: as of `encode`.
    prompt: as of `encode`.
    max_seq_length: as of `encode`.
    do_lower_case: as of `encode`.

  Returns:
    {"pooling_mask": int32 [B, L]}, as of `encode`.
  """
  mask = inputs[features.INPUT_MASK]
  prompts = fold(tf.stack([prompt]), do_lower_case)
  size = tokenizer.framing.num_before + tf.size(tokenizer.tokenize(prompts))
  # A prompt that leaves no room for texts leaves [SEP] to pool.
  size = tf.where(prompts[0] == "", 0, tf.minimum(size, max_seq_length - 1))
  is_text = tf.range(tf.shape(mask)[1]) >= size  # [L]
  return {features.POOLING_MASK: mask * tf.cast(is_text, tf.int32)}


def fold(texts, do_lower_case):
  """Returns texts [B], lower-cased on request."""
  return tf.strings.lower(texts, "utf-8") if do_lower_case else texts
