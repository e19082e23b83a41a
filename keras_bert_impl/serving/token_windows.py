"""Windows of texts whose tokens a model labels, and the labels of the tokens.

`tasks.basics.windows` makes the windows, as in training. Axes: B texts, T
tokens of all of them, W windows of all of them, C labels.
"""

import tensorflow as tf

from keras_bert_impl import options
from keras_bert_impl.layers.heads import crf
from keras_bert_impl.serving import text_tokens
from keras_bert_impl.tasks.basics import windows
from keras_bert_impl.tokenizers.formats import vocabulary_files
from keras_bert_impl.tokenizers.graph import token_pieces

# The label of a token that the model says nothing about.
UNKNOWN = -1


class Reader:
  """Reads texts in windows.

  Args:
    tokenizer: of `tokenizers.load`.
    max_seq_length: int, most ids of a window, special ones included.
    trained_on: one of `token_pieces.TRAINED_ON`.
    doc_stride: int, pieces from one window to the next; None for half a window.
    max_windows: int, windows of a text that are read.

  Attributes: as given, but
    doc_stride: int.

  Raises:
    ValueError: a number is not positive, or trained_on is unknown.
  """

  def __init__(
    self, tokenizer, max_seq_length, trained_on, doc_stride=None, max_windows=32
  ):
    self._tokenizer = tokenizer
    self._size = max_seq_length - 2  # pieces of a row
    self.doc_stride = doc_stride or max(1, self._size // 2)
    self.max_windows = max_windows
    self.trained_on = trained_on
    options.check_numbers(
      options.POSITIVE, doc_stride=self.doc_stride, max_windows=max_windows
    )
    if trained_on not in token_pieces.TRAINED_ON:
      raise ValueError(
        f"trained_on ({trained_on!r}) must be one of "
        f"{', '.join(token_pieces.TRAINED_ON)}."
      )

  @property
  def reads_whole_texts(self):
    """Whether the pieces are those of the text as it is, for any text."""
    is_word_piece = (
      self._tokenizer.vocabulary.kind == vocabulary_files.WORDPIECE
    )
    of_words = self.trained_on == token_pieces.WORDS and is_word_piece
    return of_words or self.trained_on == token_pieces.TEXT

  def read(self, text):
    """Returns the `Reading` of texts, string [B], valid UTF-8."""
    tokens = text_tokens.read(self._tokenizer, text, self.trained_on)
    lengths = tokens.ids.row_lengths()
    sizes = tf.fill(tf.shape(lengths), tf.constant(self._size, tf.int64))
    spans = windows.slide(lengths, sizes, self.doc_stride, self.max_windows)
    # Shift the last window left so that it is full.
    left = tf.maximum(spans.ends - self._size, 0)  # [W]
    num_before = self._tokenizer.framing.num_before
    return Reading(tokens, spans, left, self._size, num_before)


class Reading:
  """Texts, read in windows.

  Args:
    tokens: `text_tokens.TextTokens`.
    spans: `windows.Windows`.
    left: int64 [W], the first piece of each window.
    size: int, most pieces of a window.
    num_before: int, special tokens before the pieces in a row.

  Attributes:
    tokens: as given.
    pieces: int32 RaggedTensor [W, (pieces)].
    is_cut: bool [B], whether there are tokens beyond the windows.
    is_long: bool [B], whether there are tokens beyond the first window.
  """

  def __init__(self, tokens, spans, left, size, num_before):
    self.tokens = tokens
    self._spans = spans
    self._left = left
    self._num_before = num_before
    self.pieces = spans.gather(tokens.ids, left)
    self.is_cut = spans.is_cut
    self.is_long = tokens.ids.row_lengths() > size

  def of_first_windows(self, outputs):
    """Returns what a model says of the first window of each text, [B, ...].

    Args:
      outputs: [W, ...].
    """
    numbers = tf.range(tf.size(self._left, tf.int64))
    size = tf.size(self.is_cut)
    first = tf.math.unsorted_segment_min(numbers, self._spans.text_index, size)
    return tf.gather(outputs, first)

  def word_starts(self):
    """Returns 1 where tokens begin in rows, 0 elsewhere, int32 [W, places]."""
    ids, first = self.tokens.ids, self.tokens.first
    size = tf.size(ids.flat_values)
    begins = tf.scatter_nd(
      first[:, tf.newaxis], tf.ones_like(first, tf.int32), [size + 1]
    )
    begins = self._spans.gather(ids.with_flat_values(begins[:size]), self._left)
    return tf.pad(begins.to_tensor(), [[0, 0], [self._num_before, 1]])

  def of_tokens(self, outputs):
    """Returns what a model says of the first piece of each token.

    Args:
      outputs: [W, L, ...].

    Returns:
      bool [T], whether a token has pieces and a window with them; and [tokens
      that have, ...].
    """
    ids = self.tokens.ids
    num_windows = tf.size(self._left, tf.int64)
    best, _ = windows.best_windows(self._spans, ids.row_lengths())
    # A token has the label of its first piece; without pieces it has none.
    window = tf.gather(
      tf.concat([best.flat_values, [num_windows]], axis=0), self.tokens.first
    )
    is_known = window < num_windows
    first, window = (
      tf.boolean_mask(x, is_known) for x in (self.tokens.first, window)
    )
    # From a place among all pieces to that of the row, which may have [CLS]
    # first.
    shifts = self._num_before - self._left  # [W]
    shifts -= tf.gather(ids.row_starts(), self._spans.text_index)
    places = tf.stack([window, first + tf.gather(shifts, window)], axis=1)
    return is_known, tf.gather_nd(outputs, places)

  def label(self, logits, *transitions):
    """Returns the labels of the tokens.

    Args:
      logits: float32 [W, L, C].
      *transitions: float32 [W, C + 2, C], of a model that has them.

    Returns:
      int32 RaggedTensor [B, (tokens)], the likeliest labels, UNKNOWN for tokens
      without pieces or beyond the windows; float32, the same, their
      probabilities.
    """
    of_tokens = self.tokens.starts
    is_known, logits = self.of_tokens(logits)
    texts = tf.boolean_mask(of_tokens.value_rowids(), is_known)
    best, shares = _choose(
      tf.RaggedTensor.from_value_rowids(logits, texts, of_tokens.nrows()),
      *transitions,
    )
    known = tf.where(is_known)
    size = tf.shape(is_known)
    labels = tf.tensor_scatter_nd_update(tf.fill(size, UNKNOWN), known, best)
    probabilities = tf.scatter_nd(known, shares, tf.cast(size, tf.int64))
    return (
      of_tokens.with_flat_values(labels),
      of_tokens.with_flat_values(probabilities),
    )


def _choose(logits, transitions=None):
  """Returns the likeliest labels of tokens and their probabilities.

  Args:
    logits: float32 RaggedTensor [B, (tokens), C].
    transitions: float32 [W, C + 2, C], the same in each row; None where the
      labels of a text do not depend on each other.

  Returns:
    int32 [T] and float32 [T].
  """
  if transitions is None:
    shares = tf.nn.softmax(logits.flat_values)
    return tf.argmax(shares, -1, tf.int32), tf.reduce_max(shares, -1)
  # A row and a place more than needed: there may be none.
  padded = tf.pad(logits.to_tensor(), [[0, 1], [0, 1], [0, 0]])
  lengths = tf.pad(tf.cast(logits.row_lengths(), tf.int32), [[0, 1]])
  scores = tf.reduce_max(transitions, axis=0)
  labels = crf.viterbi(padded, scores, lengths)
  shares = crf.marginals(padded, scores, lengths)
  shares = tf.gather(shares, labels, batch_dims=2)
  is_token = tf.sequence_mask(lengths, tf.shape(labels)[1])
  return tf.boolean_mask(labels, is_token), tf.boolean_mask(shares, is_token)
