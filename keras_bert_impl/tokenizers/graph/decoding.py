"""From tokens to text as the decoder of a tokenizer.json says, in graph ops.

Axes: B texts, V vocabulary.
"""

import re

import tensorflow as tf

from keras_bert_impl.tokenizers.formats import (
  characters,
  token_texts,
  vocabulary_files,
)

_START = vocabulary_files.WORD_START.encode("utf-8")


def join(pipeline, ids):
  """Returns the texts of ids as a `Pipeline` joins tokens; see `Decoder`."""
  return pipeline.join(tf.gather(tf.constant(pipeline.token_texts), ids))


class Decoder(tf.Module):
  """A decoder: the texts of tokens, joined.

  The steps before "fuse" change each token, those after it the whole text.
  Bytes that together are no UTF-8 stay as they are.

  Args:
    tokens: list of V str.
    steps: tuple of (name of a step, *arguments), as of `TextRules`.
  """

  def __init__(self, tokens, steps):
    super().__init__(name="decoder")
    names = [name for name, *_ in steps]
    fuse = names.index("fuse") if "fuse" in names else len(steps)
    self._after = steps[fuse + 1 :]
    texts, firsts = (
      [_text_of(token, steps[:fuse], is_first) for token in tokens]
      for is_first in (False, True)
    )
    # The first token of a text may be another text: after all others.
    self._texts = tf.constant(texts + firsts)
    self._size = len(tokens)

  def __call__(self, ids):
    """Returns the texts, string [B], of int32 RaggedTensor [B, (tokens)]."""
    is_first = tf.equal(tf.ragged.range(ids.row_lengths()).flat_values, 0)
    index = ids.flat_values + tf.where(is_first, self._size, 0)
    texts = ids.with_flat_values(tf.gather(self._texts, index))
    texts = tf.strings.reduce_join(texts, axis=-1)
    for name, *arguments in self._after:
      texts = _OF_TEXTS[name](texts, *arguments)
    return texts


def _text_of(token, steps, is_first):
  """Returns the text of a token, bytes."""
  text = token.encode("utf-8")
  for name, *arguments in steps:
    if name == "spaced":
      text = text if is_first else b" " + text
    elif name == "byte_fallback":
      text = token_texts.byte_of(token) or text
    elif name == "metaspace":
      has_prefix = arguments[0] and is_first
      text = text.replace(_START, b"" if has_prefix else b" ")
    elif name == "replace":
      old, new = (argument.encode("utf-8") for argument in arguments)
      text = text.replace(old, new)
    elif name == "strip":
      text = _strip(text, *arguments)
  return text


def _strip(text, content, start, stop):
  character = re.escape(content.encode("utf-8"))
  text = re.sub(rb"^(?:%b){0,%d}" % (character, start), b"", text)
  return re.sub(rb"(?:%b){0,%d}\Z" % (character, stop), b"", text)


def _strip_texts(texts, content, start, stop):
  character = characters.literal(content)
  for pattern in (
    f"^(?:{character}){{0,{start}}}",
    f"(?:{character}){{0,{stop}}}$",
  ):
    texts = tf.strings.regex_replace(texts, pattern, "", replace_global=False)
  return texts


def _replace_texts(texts, old, new):
  pattern, new = characters.literal(old), new.replace("\\", "\\\\")
  return tf.strings.regex_replace(texts, pattern, new)


_OF_TEXTS = {"strip": _strip_texts, "replace": _replace_texts}
