"""Rows of documents: segments of a fixed size, and where each word stands.

A document is one row of S segments, M ids each, the model's inputs one after
the other. A segment ends after a sentence where one ends in it, else after a
word. Segments may overlap: a word then counts in the one that shows more around
it. A span of words must lie in one segment, that of its first word. Axes: B
documents, L ids of the longest row, T words, W widths of spans.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.tasks.basics import fine_tuning
from keras_bert_impl.tokenizers.graph import text_words

# Columns, int32 [B, L], of each word: the place of its first piece and that of
# its last one in the row; the last word that a span from it can have; who
# speaks, from 1, 0 where that is unknown. NONE beyond the words.
WORD_STARTS, WORD_ENDS = "word_starts", "word_ends"
WORD_LIMITS, WORD_SPEAKERS = "word_limits", "word_speakers"
# int32 [B]: the number of the genre, from 1; 0 where that is unknown.
GENRE_IDS = "genre_ids"
# int32 [B, L, W]: the number of a span's cluster, of the training data.
SPAN_CLUSTERS = "span_clusters"
WORD_INPUTS = (WORD_STARTS, WORD_ENDS, WORD_LIMITS, WORD_SPEAKERS)
NONE = -1
_LONGEST_ROW = 65536  # ids of a document
_AT_ONCE = 16  # documents that are tokenized
_SENTENCE_END = "[.!?…。！？]"


def split(texts):
  """Returns the words of texts, their offsets, and whether sentences end there.

  Args:
    texts: string [B], any bytes; those that are not UTF-8 do not count.

  Returns:
    string, int32, int32 and bool RaggedTensor [B, (words)], the first three as
    `text_words.split_with_offsets`.
  """
  words, starts, ends = text_words.split_with_offsets(texts)
  is_end = tf.strings.regex_full_match(words.flat_values, _SENTENCE_END)
  return words, starts, ends, words.with_flat_values(is_end)


def frame(tokenizer, words, ends_sentence, segment_length, overlap):
  """Returns the rows of documents, in graph ops: in training and served.

  Each word has pieces, as of `text_words.pieces`; one with more than half a
  segment has room for loses the last ones.

  Args:
    tokenizer: of `tokenizers.load`.
    words: string RaggedTensor [B, (words)].
    ends_sentence: bool RaggedTensor [B, (words)].
    segment_length: int, M.
    overlap: int, pieces in common of two segments, at most.

  Returns:
    {name: int32 [B, L]}, the inputs of the encoder and the columns of words
    without speakers; int32 [B], the number of segments; int32, how many words
    have lost pieces.
  """
  room = segment_length - tokenizer.num_special_tokens(1)
  pieces, most = text_words.pieces(tokenizer, words), max(1, room // 2)
  is_long = pieces.row_lengths() > most
  num_cut = tf.math.count_nonzero(is_long, dtype=tf.int32)
  pieces = pieces[:, :most]
  lengths = tf.cast(pieces.row_lengths(), tf.int32)  # [T]
  before = tf.cumsum(lengths, exclusive=True)  # pieces before each word
  segments = _Segments(words.with_flat_values(lengths), ends_sentence)
  begins, stops, owned = segments.cut(room, overlap)  # [B, (segments)]
  counts = begins.row_lengths()
  ends = tf.concat([before, [tf.reduce_sum(lengths)]], axis=0)
  of_document = tf.cast(words.row_starts(), tf.int32)  # its first word
  shift = tf.gather(of_document, begins.value_rowids())
  first = tf.gather(ends, shift + begins.flat_values)  # piece of each segment
  ids = tf.ragged.range(first, tf.gather(ends, shift + stops.flat_values))
  inputs = tokenizer.assemble(
    ids.with_flat_values(tf.gather(pieces.flat_values, ids.flat_values)),
    max_seq_length=segment_length,
    padding="max_length",
  )
  most = tf.reduce_max(tf.pad(counts, [[0, 1]]))
  shape = tf.stack([words.nrows(), most * segment_length])
  rows = {
    name: tf.reshape(
      tf.RaggedTensor.from_row_lengths(values, counts).to_tensor(), shape
    )
    for name, values in inputs.items()
  }
  # Words of a segment are those from the first one that it owns to the next's.
  owned = tf.concat([shift + owned.flat_values, [tf.size(lengths)]], axis=0)
  places = tf.ragged.range(tf.cast(counts, tf.int32)).flat_values
  places = places * segment_length + tokenizer.framing.num_before - first
  sizes = owned[1:] - owned[:-1]
  starts = tf.repeat(places, sizes) + before
  columns = {
    WORD_STARTS: starts,
    WORD_ENDS: starts + lengths - 1,
    WORD_LIMITS: tf.repeat(stops.flat_values - 1, sizes),
  }
  rows |= {
    name: words.with_flat_values(values).to_tensor(NONE, shape=shape)
    for name, values in columns.items()
  }
  return rows, tf.cast(counts, tf.int32), num_cut


class _Segments:
  """Documents that are cut into segments.

  Args:
    lengths: int32 RaggedTensor [B, (words)], pieces of each word, at least 1.
    ends_sentence: bool RaggedTensor [B, (words)].
  """

  def __init__(self, lengths, ends_sentence):
    self._sizes = tf.cast(lengths.row_lengths(), tf.int32)  # [B]
    # Pieces before each word; beyond the last one, all of them.
    dense = tf.pad(lengths.to_tensor(0), [[0, 0], [1, 0]])
    self._sums = tf.cumsum(dense, axis=1)  # [B, words + 1]
    # The words after the ends of sentences, ascending, 0 first.
    ends = tf.ragged.range(self._sizes) + 1
    ends = tf.ragged.boolean_mask(ends, ends_sentence)
    ends = ends.to_tensor(tf.int32.max)
    self._sentences = tf.pad(ends, [[0, 0], [1, 0]])

  def cut(self, room, overlap):
    """Returns the segments of each document, one at least.

    Args:
      room: int, pieces of a segment; a word has at most half of them.
      overlap: int, pieces in common of two, at most half of them.

    Returns:
      int32 RaggedTensors [B, (segments)]: the first word of each, the word
      after its last one, and the first word that counts in it.
    """

    def step(number, begin, stop, owned, found):
      before, limit = stop, self._pieces_before(begin) + room
      stop = tf.minimum(_last(self._sums, limit), self._sizes)
      sentence = _last(self._sentences, stop)
      sentence = tf.gather(self._sentences, sentence, batch_dims=1)
      at_sentence = (stop < self._sizes) & (sentence > before)
      stop = tf.where(at_sentence, sentence, stop)
      found = found.write(number, tf.stack([begin, stop, owned]))
      end = self._pieces_before(stop)
      following = tf.maximum(begin, _first(self._sums, end - overlap))
      middle = (self._pieces_before(following) + end + 1) // 2
      is_done = stop == self._sizes
      following = tf.where(is_done, stop, following)
      owned = tf.where(is_done, stop, _first(self._sums, middle))
      return number + 1, following, stop, owned, found

    nothing = tf.zeros_like(self._sizes)
    found = tf.TensorArray(tf.int32, 0, dynamic_size=True)
    *_, found = tf.while_loop(
      lambda number, begin, *_: (
        (number == 0) | tf.reduce_any(begin < self._sizes)
      ),
      step,
      (0, nothing, nothing, nothing, found),
    )
    table = tf.transpose(found.stack(), [1, 2, 0])  # [3, B, segments]
    begin = table[0]
    is_segment = begin < self._sizes[:, tf.newaxis]
    is_first = tf.range(tf.shape(begin)[1]) == 0
    is_segment |= is_first
    return [tf.ragged.boolean_mask(x, is_segment) for x in tf.unstack(table)]

  def _pieces_before(self, word):
    return tf.gather(self._sums, word, batch_dims=1)


def _last(table, values):
  """Returns the last place of each row that is at most a value, int32 [B]."""
  values = values[:, tf.newaxis]
  return tf.searchsorted(table, values, side="right")[:, 0] - 1


def _first(table, values):
  """Returns the first place of each row that is at least a value, int32 [B]."""
  return tf.searchsorted(table, values[:, tf.newaxis], side="left")[:, 0]


@dataclasses.dataclass(frozen=True)
class CoreferencePreprocessor(fine_tuning.Preprocessor):
  """Makes rows of `CoreferenceDocument`s.

  Attributes:
    max_seq_length: int, M, ids of a segment.
    segment_overlap: int, tokens that two segments have in common, at most.
    max_span_width: int, W.
    genres: tuple of str, those of the training data.
  """

  max_seq_length: int
  segment_overlap: int = 0
  max_span_width: int = 10
  genres: tuple[str, ...] = ()
  reads_documents = True

  @property
  def columns(self):
    """`Column`s of the rows; see the module."""
    ids = (features.INPUT_IDS, features.INPUT_MASK, features.SEGMENT_IDS)
    no_word = fine_tuning.Column(padding=NONE)
    return {
      **dict.fromkeys(ids, fine_tuning.Column()),
      **dict.fromkeys(WORD_INPUTS, no_word),
      GENRE_IDS: fine_tuning.Column(shape=()),
      SPAN_CLUSTERS: no_word._replace(shape=(None, self.max_span_width)),
    }

  @property
  def longest_row(self):
    """The most ids of a document, int: whole segments."""
    return _LONGEST_ROW // self.max_seq_length * self.max_seq_length

  def texts(self, example):
    """Returns the sentences."""
    return [" ".join(words) for words in example.sentences]

  def make_rows(self, examples, tokenizer, counts):
    """Yields a row for each document.

    Raises:
      ValueError: one is too long, or one of its mentions begins in a segment
        and ends after it; names its place.
    """
    for start in range(0, len(examples), _AT_ONCE):
      some = examples[start : start + _AT_ONCE]
      words = tf.ragged.constant([x.words for x in some], dtype=tf.string)
      ends = tf.ragged.constant([x.ends_sentence for x in some], dtype=tf.bool)
      rows, sizes, num_cut = frame(
        *(tokenizer, words, ends, self.max_seq_length, self.segment_overlap)
      )
      fine_tuning.add_counts(counts, {"words that lose pieces": num_cut})
      rows = {name: values.numpy() for name, values in rows.items()}
      sizes = sizes.numpy() * self.max_seq_length
      for number, (example, size) in enumerate(zip(some, sizes, strict=True)):
        if size > self.longest_row:
          raise ValueError(
            f"{example.origin}: the document has {size} tokens, but must have"
            f" {self.longest_row} at most: give it in parts."
          )
        row = {name: values[number, :size] for name, values in rows.items()}
        yield row | self._known(example, size, row[WORD_LIMITS], counts)

  def _known(self, example, size, limits, counts):
    """Returns the columns of speakers, genre and clusters of a row."""
    numbers = {"": 0}
    speakers = np.full(size, NONE, np.int32)
    speakers[: len(example.words)] = [
      numbers.setdefault(name, len(numbers))
      for name in example.speakers or len(example.words) * [""]
    ]
    clusters = np.full((size, self.max_span_width), NONE, np.int32)
    num_wide = 0
    for number, cluster in enumerate(example.clusters or ()):
      for start, end in cluster:
        if end - start > self.max_span_width:
          num_wide += 1
        elif end - 1 > limits[start]:
          self._refuse(example, start, end)
        else:
          clusters[start, end - start - 1] = number
    what = f"mentions of more than {self.max_span_width} words, not to be found"
    fine_tuning.add_counts(counts, {what: num_wide})
    genres = {name: k for k, name in enumerate(self.genres, start=1)}
    return {
      WORD_SPEAKERS: speakers,
      GENRE_IDS: np.int32(genres.get(example.genre, 0)),
      SPAN_CLUSTERS: clusters,
    }

  def _refuse(self, example, start, end):
    """Raises ValueError, of a mention that goes over the end of its segment."""
    text = " ".join(example.words[start:end])
    raise ValueError(
      f"{example.origin}: the mention {text!r}, words {start} to {end - 1} from"
      f" 0, goes over the end of a segment of {self.max_seq_length} tokens:"
      " give a larger --max_seq_length, or a --segment_overlap of twice its"
      " tokens."
    )
