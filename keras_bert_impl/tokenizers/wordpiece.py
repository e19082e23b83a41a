"""WordPiece in the graph, with the original's ids."""

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from keras_bert_impl.tokenizers import normalization
from keras_bert_impl.tokenizers import vocabulary as vocabulary_lib

# Limit of tensorflow_text, without the "##".
_MAX_TOKEN_BYTES = 256
# Above every word that normalisation lets through.
_MAX_WORD_BYTES = 4 * normalization.MAX_WORD_CHARACTERS


class WordPieceTokenizer(tf.Module):
  """Raw text to the ids of google-research/bert, in graph ops.

  Works eagerly, in tf.data and inside a SavedModel, which carries the
  vocabulary along (in the graph, and as a file under assets/). A literal
  "[MASK]" in a text is text: three words, never the special id.

  Args:
    vocab_file: path of a vocab.txt.
    do_lower_case: bool, lower-case and strip accents (uncased models).
    compose_hangul: bool, keep Hangul syllables whole under do_lower_case; see
      `TokenizerOptions`.
    name: name of the module.

  Attributes:
    vocabulary: `Vocabulary`.
    options: `TokenizerOptions`.

  Raises:
    FileNotFoundError, ValueError: as `Vocabulary.load`.
  """

  def __init__(
    self,
    vocab_file,
    do_lower_case=True,
    compose_hangul=False,
    name="wordpiece_tokenizer",
  ):
    super().__init__(name=name)
    self.vocabulary = vocabulary_lib.Vocabulary.load(vocab_file)
    self.options = vocabulary_lib.TokenizerOptions(
      do_lower_case=bool(do_lower_case), compose_hangul=bool(compose_hangul)
    )
    # Tracked, so that a SavedModel holds assets/vocab.txt.
    self._asset = tf.saved_model.Asset(self.vocabulary.origin)
    self._lookup = _build_lookup(self.vocabulary)

  def tokenize(self, texts):
    """Returns the ids of texts.

    Args:
      texts: string [B], or a list of str or bytes.

    Returns:
      int32 RaggedTensor [B, (pieces)], without [CLS] and [SEP].
    """
    texts = tf.convert_to_tensor(texts, tf.string)
    if texts.shape.rank != 1:
      raise ValueError(
        f"texts must have shape [B], not {texts.shape}: pass a list of texts."
      )
    return self.tokenize_normalized(
      normalization.normalize(texts, self.options)
    )

  def tokenize_normalized(self, texts):
    """Returns the ids, int32 [B, (pieces)], of `normalize`d texts [B]."""
    return self._lookup.tokenize(texts)

  def tokenize_with_word_ids(self, texts):
    """Returns the ids of texts and the word each piece belongs to.

    Args:
      texts: string [B], or a list of str or bytes.

    Returns:
      (ids, word_ids), both int32 RaggedTensor [B, (pieces)]; word_ids count
      from 0 in each text.
    """
    ids = self.tokenize(texts)
    return ids, self.word_ids(ids)

  def word_ids(self, ids):
    """Returns which word of its row each piece belongs to, counted from 0.

    Args:
      ids: int32 RaggedTensor [B, (pieces)]; a special token is a word.

    Returns:
      int32 RaggedTensor [B, (pieces)].
    """
    is_continuation = tf.constant(self.vocabulary.is_continuation)
    is_start = ~tf.gather(is_continuation, ids.flat_values)
    # Exclusive sum over the batch; taking off the row's offset leaves the
    # words that started earlier in the row.
    started = tf.concat([[0], tf.cumsum(tf.cast(is_start, tf.int32))], 0)
    offsets = tf.gather(started, ids.row_starts())
    counts = started[1:] - tf.gather(offsets, ids.value_rowids())
    return ids.with_flat_values(tf.maximum(counts - 1, 0))

  def detokenize(self, ids):
    """Returns the text of ids: pieces of a word joined, words apart.

    [PAD], [CLS] and [SEP] are left out. Case, accents and white space that the
    normalisation took are not brought back.

    Args:
      ids: int [B, (pieces)], ragged or dense.

    Returns:
      string [B].
    """
    if not isinstance(ids, tf.RaggedTensor):
      ids = tf.RaggedTensor.from_tensor(ids)
    vocabulary = self.vocabulary
    flat = tf.cast(ids.flat_values, tf.int32)
    silent = tf.constant(
      [vocabulary.pad_id, vocabulary.cls_id, vocabulary.sep_id]
    )
    is_shown = tf.reduce_all(flat[:, None] != silent, axis=-1)
    shown = tf.ragged.boolean_mask(
      ids.with_flat_values(flat), ids.with_flat_values(is_shown)
    )
    tokens = tf.gather(tf.constant(vocabulary.tokens), shown)
    texts = tf.strings.reduce_join(tokens, axis=-1, separator=" ")
    return tf.strings.regex_replace(
      texts, f" {vocabulary_lib.CONTINUATION_PREFIX}", ""
    )


def _build_lookup(vocabulary):
  """Returns longest-match-first lookup over `vocabulary`, linear in the text.

  It splits at white space, punctuation and CJK by its own rules; normalised
  text has blanks at all these places already, so they change nothing.
  """
  tokens = []
  for index, token in enumerate(vocabulary.tokens):
    size = len(token.encode("utf-8"))
    if size > _MAX_TOKEN_BYTES:
      raise ValueError(
        f"{vocabulary.origin}, line {index + 1}: the token has {size} bytes; "
        f"at most {_MAX_TOKEN_BYTES} are possible."
      )
    if normalization.OVERLONG_WORD in token:
      # No text reaches it, and an overlong word must not.
      token = f"[{token} {index}]"
    tokens.append(token)
  model = tf_text.build_fast_wordpiece_model(
    tokens,
    _MAX_WORD_BYTES,
    vocabulary_lib.CONTINUATION_PREFIX,
    vocabulary_lib.UNK,
    False,  # no_pretokenization
    False,  # support_detokenization
  )
  return tf_text.FastWordpieceTokenizer(
    # A list of bytes, which the class would make of it, takes seconds.
    model_buffer=tf.constant(np.frombuffer(model, np.uint8)),
    token_out_type=tf.int32,
  )
