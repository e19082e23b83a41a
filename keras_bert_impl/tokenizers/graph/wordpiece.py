"""WordPiece tokenizer in the graph, with the original's ids."""

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from keras_bert_impl.tokenizers.formats import (
  characters,
  tokenizer_options,
  vocabularies,
  vocabulary_files,
)
from keras_bert_impl.tokenizers.graph import (
  alignment,
  pipeline,
  steps,
  tokenizer,
)

# Limit of tensorflow_text, without the "##".
_MAX_TOKEN_BYTES = 256
_PREFIX = vocabularies.CONTINUATION_PREFIX
# Deleted characters do not separate a character from its marks. A long run of
# them is one unit, or each of them would search for the marks after it.
_UNIT = (
  rf"^[!-~]+$|(?s)(?:{characters.DELETED}+|.)"
  rf"(?:{characters.DELETED}*{characters.COMBINING})*"
)


class WordPieceTokenizer(tokenizer.Tokenizer):
  """Raw text to the ids of google-research/bert, in graph ops.

  A literal "[MASK]" in a text is three words. With a tokenizer.json, the ids
  are those of the `tokenizers` library, and its added tokens are found in text;
  its tokens may also be whole words (WordLevel).

  Args:
    vocab_file: path of a vocab.txt or tokenizer.json.
    *options: do_lower_case, ...: the fields of `WordPieceOptions`, also by
      name.
    name: name of the module.
    **named: those.

  Raises:
    FileNotFoundError, ValueError: as `Vocabulary.load`.
  """

  def __init__(self, vocab_file, *options, name="wordpiece_tokenizer", **named):
    options = tokenizer_options.WordPieceOptions(*options, **named)
    super().__init__(_WordPieces, options, [vocab_file], name)


class _WordPieces(pipeline.Pipeline):
  """Pieces of words, the longest first."""

  def __init__(self, vocabulary, rules):
    super().__init__(vocabulary, rules)
    is_word_level = vocabulary.kind == vocabulary_files.WORD_LEVEL
    build = _WholeWords if is_word_level else _build_lookup
    self._lookup = build(vocabulary, rules)
    self._ids = pipeline.build_ids(vocabulary)
    self._continuing = tf.constant(
      [
        vocabulary.ids.get(_PREFIX + token, index)
        for index, token in enumerate(vocabulary.tokens)
      ]
    )

  def split(self, texts):
    return self._hide_overlong(self._words(texts))

  def look_up(self, texts):
    words = tf.strings.split(texts)  # [B, (words)]
    pieces = self._lookup.tokenize(words.flat_values)
    return alignment.merge_rows(words.with_flat_values(pieces))

  def set_apart(self, texts):
    return self.normalize(texts)

  def look_up_inside(self, texts, pieces):
    texts = self.normalize(texts)
    whole = self._ids.lookup(tf.strings.join([_PREFIX, texts]))
    return pipeline.replace_first(pieces, self._continuing, whole)

  def find_bytes(self, texts):
    words = tf.strings.split(self._words(texts))  # [B, (words)]
    shown = self._hide_overlong(words.flat_values)
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

  def num_bytes(self, texts):
    return tf.strings.length(self._content(texts))

  def units(self, texts):
    return alignment.units_of(
      steps.drop_invalid(texts),
      _UNIT,
      lambda parts: self._content(self.fold(parts, are_parts=True)),
    )

  def _content(self, texts):
    words = self._words(texts)
    return tf.strings.regex_replace(words, characters.ASCII_SPACE, "")

  def _hide_overlong(self, texts):
    most = self.rules.max_word_characters
    return steps.hide_overlong_words(texts, most) if most else texts

  def join(self, token_texts):
    texts = tf.strings.reduce_join(token_texts, axis=-1, separator=" ")
    return tf.strings.regex_replace(texts, f" {_PREFIX}", "")


class _WholeWords(tf.Module):
  """A look-up of words that are tokens; other words are unknown."""

  def __init__(self, vocabulary, rules):
    super().__init__(name="whole_words")
    ids = vocabulary.ids
    tokens = [x for x in vocabulary.tokens if ids[x] not in rules.outside]
    self._ids = tf.lookup.StaticHashTable(
      tf.lookup.KeyValueTensorInitializer(
        tf.constant(tokens), tf.constant([ids[token] for token in tokens])
      ),
      default_value=vocabulary.unk_id,
    )

  def tokenize(self, words):
    """Returns the ids, int32 RaggedTensor [W, (1)], of words [W]."""
    return tf.RaggedTensor.from_tensor(self._ids.lookup(words)[:, tf.newaxis])

  def tokenize_with_offsets(self, words):
    """Returns the ids and their first and last byte, as `tokenize`."""
    ids, stops = self.tokenize(words), tf.strings.length(words)
    places = (tf.zeros_like(stops), stops)
    return ids, *map(ids.with_flat_values, places)


def _build_lookup(vocabulary, rules):
  """Returns a longest-match-first look-up of words, linear in their length."""
  tokens = []
  for index, token in enumerate(vocabulary.tokens):
    size = len(token.encode("utf-8"))
    if size > _MAX_TOKEN_BYTES:
      raise ValueError(
        f"{vocabulary.origin}, line {index + 1}: the token has {size} bytes; "
        f"at most {_MAX_TOKEN_BYTES} are possible."
      )
    if steps.OVERLONG_WORD in token or index in rules.outside:
      # No text contains it, and an overlong word must not match it; or it is
      # none of the model's.
      token = f"[{token} {index}]"
    tokens.append(token)
  model = tf_text.build_fast_wordpiece_model(
    tokens,
    4 * rules.max_word_characters,  # Above every word that is let through.
    _PREFIX,
    vocabulary.tokens[vocabulary.unk_id],
    True,  # no_pretokenization
    False,  # support_detokenization
  )
  return tf_text.FastWordpieceTokenizer(
    # The class would make a list of the bytes, which takes seconds.
    model_buffer=tf.constant(np.frombuffer(model, np.uint8)),
    token_out_type=tf.int32,
  )
