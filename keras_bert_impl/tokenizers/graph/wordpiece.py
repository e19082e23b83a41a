"""WordPiece tokenizer in the graph, with the original's ids."""

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from keras_bert_impl.tokenizers.formats import tokenizer_options, vocabularies
from keras_bert_impl.tokenizers.graph import (
  alignment,
  normalization,
  piece_tokenizer,
  text_words,
  tokenizer,
)

# Limit of tensorflow_text, without the "##".
_MAX_TOKEN_BYTES = 256
# Deleted characters do not separate a character from its marks. A long run of
# them is one unit, or each of them would search for the marks after it.
_UNIT = (
  rf"^[!-~]+$|(?s)(?:{text_words.DELETED}+|.)"
  rf"(?:{text_words.DELETED}*{alignment.COMBINING})*"
)


class WordPieceTokenizer(tokenizer.Tokenizer):
  """Raw text to the ids of google-research/bert, in graph ops.

  A literal "[MASK]" in a text is three words. With a tokenizer.json, the ids
  are those of the `tokenizers` library, and its added tokens are found in text.

  Args:
    vocab_file: path of a vocab.txt or tokenizer.json.
    do_lower_case: bool, lower-case and strip accents (uncased models).
    compose_hangul: bool, keep Hangul syllables whole under do_lower_case; see
      `WordPieceOptions`.
    family: str, see `WordPieceOptions`.
    name: name of the module.

  Raises:
    FileNotFoundError, ValueError: as `Vocabulary.load`.
  """

  def __init__(
    self,
    vocab_file,
    do_lower_case=True,
    compose_hangul=False,
    family=None,
    name="wordpiece_tokenizer",
  ):
    vocabulary = vocabularies.Vocabulary.load(vocab_file)
    options = tokenizer_options.WordPieceOptions(
      bool(do_lower_case), bool(compose_hangul), family
    )
    super().__init__(vocabulary, options, [vocab_file], name)
    self._max_characters = normalization.MAX_WORD_CHARACTERS
    if self.rules:
      self._max_characters = self.rules.max_word_characters
    self._lookup = _build_lookup(vocabulary, self._max_characters)
    self._ids = piece_tokenizer.build_ids(vocabulary)
    prefix = vocabularies.CONTINUATION_PREFIX
    self._continuing = tf.constant(
      [
        vocabulary.ids.get(prefix + token, index)
        for index, token in enumerate(vocabulary.tokens)
      ]
    )

  def _prepare(self, texts, options=None):
    if self.rules:
      return normalization.hide_overlong_words(
        self._clean(texts), self._max_characters
      )
    return normalization.normalize(texts, options or self.options)

  def tokenize_normalized(self, texts):
    """Returns the ids, int32 [B, (pieces)], of `normalize`d texts [B]."""
    if not self.rules:
      return self._lookup.tokenize(texts)
    words = normalization.split_words(texts)
    pieces = self._lookup.tokenize(words.flat_values)
    return alignment.merge_rows(words.with_flat_values(pieces))

  def _clean(self, texts):
    """Returns texts with blanks between words, overlong words unchanged."""
    if self.rules:
      return normalization.set_words_apart(text_words.drop_invalid(texts))
    return normalization.clean(texts, self.options)

  def _set_apart(self, texts):
    return self.normalize(texts)

  def _tokenize_inside(self, texts, pieces):
    texts = self.normalize(texts)
    prefix = vocabularies.CONTINUATION_PREFIX
    whole = self._ids.lookup(tf.strings.join([prefix, texts]))
    return piece_tokenizer.replace_first(pieces, self._continuing, whole)

  def _find_bytes(self, texts):
    words = normalization.split_words(self._clean(texts))  # [B, (words)]
    shown = normalization.hide_overlong_words(
      words.flat_values, self._max_characters
    )
    ids, begins, stops = self._lookup.tokenize_with_offsets(shown)
    begins, stops = (
      tf.cast(places.flat_values, tf.int32) for places in (begins, stops)
    )
    word = alignment.rows_of(ids)  # [N], of each piece
    sizes = tf.strings.length(words)
    word_sizes = tf.gather(sizes.flat_values, word)
    # A piece that ends with a placeholder ends with the placeholder's word.
    shown_sizes = tf.gather(tf.strings.length(shown), word)
    stops = tf.where(stops == shown_sizes, word_sizes, stops)
    word_stops = alignment.running_sums(sizes).flat_values
    shift = tf.gather(word_stops, word) - word_sizes
    ids = alignment.merge_rows(words.with_flat_values(ids))
    return (
      ids,
      *(ids.with_flat_values(places + shift) for places in (begins, stops)),
    )

  def _units(self, texts):
    return alignment.units_of(
      text_words.drop_invalid(texts), _UNIT, self._content
    )

  def _content(self, texts):
    texts = self._clean(self._fold(texts, are_parts=True))
    return tf.strings.regex_replace(texts, r"[ \t\n\r]", "")

  def _num_bytes(self, texts):
    texts = self._clean(texts)
    return tf.strings.length(tf.strings.regex_replace(texts, r"[ \t\n\r]", ""))

  @property
  def token_texts(self):
    """List of V bytes, the tokens as they are."""
    return [token.encode("utf-8") for token in self.vocabulary.tokens]

  def _join(self, token_texts):
    texts = tf.strings.reduce_join(token_texts, axis=-1, separator=" ")
    return tf.strings.regex_replace(
      texts, f" {vocabularies.CONTINUATION_PREFIX}", ""
    )


def _build_lookup(vocabulary, max_word_characters):
  """Returns a longest-match-first look-up, linear in the text's length.

  It splits at white space, punctuation and CJK by its own rules, which change
  nothing, because normalised text has blanks at all these places already. With
  a tokenizer.json, whose rules may be others, it looks up words.
  """
  outside = vocabulary.rules.outside if vocabulary.rules else ()
  tokens = []
  for index, token in enumerate(vocabulary.tokens):
    size = len(token.encode("utf-8"))
    if size > _MAX_TOKEN_BYTES:
      raise ValueError(
        f"{vocabulary.origin}, line {index + 1}: the token has {size} bytes; "
        f"at most {_MAX_TOKEN_BYTES} are possible."
      )
    if normalization.OVERLONG_WORD in token or index in outside:
      # No text contains it, and an overlong word must not match it; or it is
      # none of the model's.
      token = f"[{token} {index}]"
    tokens.append(token)
  model = tf_text.build_fast_wordpiece_model(
    tokens,
    4 * max_word_characters,  # Above every word that is let through.
    vocabularies.CONTINUATION_PREFIX,
    vocabulary.tokens[vocabulary.unk_id],
    bool(vocabulary.rules),  # no_pretokenization
    False,  # support_detokenization
  )
  return tf_text.FastWordpieceTokenizer(
    # The class would make a list of the bytes, which takes seconds.
    model_buffer=tf.constant(np.frombuffer(model, np.uint8)),
    token_out_type=tf.int32,
  )
