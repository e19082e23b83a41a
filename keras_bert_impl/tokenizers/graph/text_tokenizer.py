"""Texts with added tokens: what a tokenizer.json does before the model.

Axes: B texts.
"""

import tensorflow as tf

from keras_bert_impl.tokenizers.graph import (
  added_tokens,
  alignment,
  piece_tokenizer,
  text_words,
)


class TextTokenizer(piece_tokenizer.PieceTokenizer):
  """Takes added tokens out of texts and normalises what is between. Abstract.

  As in the `tokenizers` library: some added tokens are found in the text as it
  is; the rest is normalised, and the others are found in that. A tokenizer
  without a tokenizer.json has no such tokens, and no such normalisation.
  """

  def __init__(self, vocabulary, options, files, name):
    super().__init__(vocabulary, options, files, name)
    self._normalizer = self._added = self._added_normalized = None
    if self.rules:
      self._normalizer = _normalizer(self.rules.normalizers)
      self._find_added_tokens()
    # One trace for all callers; eager ops would be slow.
    self._align = tf.function(
      self._align_batch,
      input_signature=[tf.TensorSpec([None], tf.string)],
      autograph=False,
    )

  @property
  def adds_mask(self):
    """Whether the mask token is found in any text, as a tokenizer.json says."""
    return self.rules is not None and any(
      token.content == self.vocabulary.mask_token
      for token in self.rules.added_tokens
    )

  def normalize(self, texts, options=None):
    """Normalises texts [B], string [B]: pieces are looked up in the result.

    Args:
      texts: string [B].
      options: in place of the tokenizer's own; of no meaning for a
        tokenizer.json.
    """
    return self._prepare(self._fold(texts), options)

  def _fold(self, texts, are_parts=False):
    """Returns texts [B], or parts of them, normalised by a tokenizer.json."""
    if self._normalizer is None:
      return texts
    return self._normalizer(text_words.drop_invalid(texts), are_parts)

  def _find_added_tokens(self):
    """Makes what finds the added tokens in texts and in normalised texts."""
    groups = {False: [], True: []}
    for token in self.rules.added_tokens:
      # Where nothing is normalised, all are found at once.
      is_later = token.normalized and bool(self.rules.normalizers)
      groups[is_later].append(token)
    now, later = groups[False], groups[True]
    origin = self.vocabulary.origin
    if now:
      contents = [token.content.encode("utf-8") for token in now]
      self._added = added_tokens.AddedTokens(now, contents, origin)
    if later:
      contents = self._fold([token.content for token in later]).numpy()
      self._added_normalized = added_tokens.AddedTokens(
        later, contents.tolist(), origin
      )

  def _tokenize(self, texts, tokenize=None):
    """Returns the ids, int32 [B, (pieces)], of texts [B].

    Args:
      texts: string [B].
      tokenize: of the texts between added tokens, in place of
        `_tokenize_between`.
    """
    tokenize = tokenize or self._tokenize_between
    if self._added is None:
      return tokenize(texts)
    return self._added.tokenize(text_words.drop_invalid(texts), tokenize)

  def _tokenize_between(self, texts):
    """Returns the ids of texts without tokens to be found as they are."""
    folded = self._fold(texts)
    if self._added_normalized is None:
      return self.tokenize_normalized(self._prepare(folded))
    return self._added_normalized.tokenize(
      folded, lambda some: self.tokenize_normalized(self._prepare(some))
    )

  def _tokenize_words(self, texts):
    return self._tokenize(texts)

  def _align_batch(self, texts):
    """Returns the ids, starts and ends of texts [B]."""
    if self._added is None:
      return self._align_between(texts)
    return self._added.align(
      text_words.drop_invalid(texts),
      self._align_between,
      lambda some: tf.strings.length(some, "UTF8_CHAR"),
    )

  def _align_between(self, texts):
    """Returns those of texts without tokens to be found as they are."""
    folded = self._fold(texts)
    if self._added_normalized is None:
      found = self._find_bytes(folded)
    else:
      found = self._added_normalized.align(
        folded, self._find_bytes, self._num_bytes
      )
    ids, begins, stops = found
    return ids, *alignment.to_characters(begins, stops, self._units(texts))


def _normalizer(steps):
  """Returns a `normalizers.Normalizer`, or None where nothing is normalised."""
  if not steps:
    return None
  # Late: byte-level BPE mostly does without tensorflow-text.
  from keras_bert_impl.tokenizers.graph import normalizers

  return normalizers.Normalizer(steps)
