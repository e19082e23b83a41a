"""Batches of texts, of a size that makes tokenization fast."""

import functools

import tensorflow as tf

# Enough to make the overhead of the ops small; they need about fifty bytes for
# each character.
_CHARACTERS = 1_000_000


def of_texts(texts):
  """Yields lists of `texts` (iterable of str or bytes), in order."""
  batch, size = [], 0
  for text in texts:
    batch.append(text)
    size += len(text) + 1
    if size >= _CHARACTERS:
      yield batch
      batch, size = [], 0
  if batch:
    yield batch


def normalized(texts, normalize, options):
  """Yields arrays of bytes, `normalize(batch, options)` of batches of texts.

  Args:
    texts: iterable of str or bytes, read once.
    normalize: function (string [B], options) -> string [N], in graph ops.
    options: of the tokenizer.
  """
  compiled = _compile(normalize, options)
  for batch in of_texts(texts):
    yield compiled(tf.constant(batch, tf.string)).numpy()


# Compiled once: eager ops cost more than the work on short texts.
@functools.lru_cache(maxsize=1)
def _compile(normalize, options):
  return tf.function(
    lambda batch: normalize(batch, options),
    input_signature=[tf.TensorSpec([None], tf.string)],
    autograph=False,
  )
