"""Texts as a tokenizer normalises them, for the learners of vocabularies."""

import functools

import tensorflow as tf

from keras_bert_impl.tokenizers.graph import text_batches


def of_texts(texts, normalize, options):
  """Yields arrays of bytes, `normalize(batch, options)` of batches of texts.

  Args:
    texts: iterable of str or bytes, read once.
    normalize: function (string [B], options) -> string [N], in graph ops.
    options: of the tokenizer.
  """
  compiled = _compile(normalize, options)
  for batch in text_batches.of_texts(texts):
    yield compiled(tf.constant(batch, tf.string)).numpy()


# Compiled once: eager ops cost more than the work on short texts.
@functools.lru_cache(maxsize=1)
def _compile(normalize, options):
  return tf.function(
    lambda batch: normalize(batch, options),
    input_signature=[tf.TensorSpec([None], tf.string)],
    autograph=False,
  )
