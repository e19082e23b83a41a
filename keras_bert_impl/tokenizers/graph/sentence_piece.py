"""SentencePiece tokenizer in graph ops, with ALBERT's text normalisation."""

import numpy as np
import sentencepiece
import tensorflow as tf
import tensorflow_text as tf_text

from keras_bert_impl import files
from keras_bert_impl.tokenizers.formats import (
  piece_model,
  token_texts,
  tokenizer_options,
  vocabularies,
  vocabulary_files,
)
from keras_bert_impl.tokenizers.graph import (
  alignment,
  piece_op,
  pipeline,
  steps,
  tokenizer,
)

_BLANKS = f"[ {vocabulary_files.WORD_START}]"
# In texts of more bytes, words are cut after 200 characters for the slow op,
# whose time grows with the square of the length of an unknown word. Offsets
# after such a word are then too small.
_MOST_BYTES = 1 << 16
_LONG_WORD = r"[^ \t\n\r]{200}"


class SentencePieceTokenizer(tokenizer.Tokenizer):
  """SentencePiece tokenizer, unigram or BPE, in graph ops.

  With the defaults, the ids are those of the `sentencepiece` library. ALBERT's
  normalisation is do_lower_case=True, keep_accents=False, remove_space=True
  and, as in its original code, split_digit_commas=True.

  Args:
    model_file: path of a *.model or tokenizer.json.
    *options: do_lower_case, ...: the fields of `SentencePieceOptions`, also by
      name.
    name: name of the module.
    **named: those.

  Raises:
    FileNotFoundError, ValueError: as `Vocabulary.load`.

  Source: Kudo and Richardson 2018; google-research/albert, tokenization.py.
  """

  def __init__(
    self, model_file, *options, name="sentencepiece_tokenizer", **named
  ):
    options = tokenizer_options.SentencePieceOptions(*options, **named)
    super().__init__(_SentencePieces, options, [model_file], name)
    if of_targets := vocabularies.of_targets(self.vocabulary):
      self._of_targets = SentencePieceTokenizer(of_targets, **vars(options))


class _SentencePieces(pipeline.Pipeline):
  """Pieces of texts, as a model of SentencePiece cuts them."""

  def __init__(self, vocabulary, rules):
    super().__init__(vocabulary, rules)
    self._lookup = _build_lookup(vocabulary.model)
    self._ids_of_pieces = _ids_of_pieces(vocabulary)
    self._spelling = piece_op.PieceOp(vocabulary.model, tf.string)
    self._ids = pipeline.build_ids(vocabulary)
    start = vocabulary_files.WORD_START
    self._start_id = vocabulary.ids.get(start, -1)
    self._continuing = tf.constant(
      [
        vocabulary.ids.get(token.removeprefix(start), index)
        for index, token in enumerate(vocabulary.tokens)
      ]
    )
    self._token_sizes = tf.constant(
      [len(text.replace(b" ", b"")) for text in self.token_texts]
    )
    self._parts = None
    if rules.split_digit_commas:
      self._parts = _parts_of_digit_commas(vocabulary)

  def look_up(self, texts):
    if self.vocabulary.target_model:
      # What one of the models does not know, the other may.
      pieces = self._spell(texts)
      ids = self._ids.lookup(pieces.flat_values)
      ids = tf.where(ids < 0, self.vocabulary.unk_id, ids)
      return pieces.with_flat_values(ids).with_row_splits_dtype(tf.int64)
    ids = self._lookup.tokenize(texts).with_row_splits_dtype(tf.int64)
    if self._ids_of_pieces is not None:
      ids = tf.gather(self._ids_of_pieces, ids)
    if self._parts is None:
      return ids
    parts = tf.gather(self._parts, ids.flat_values)
    return alignment.merge_rows(ids.with_flat_values(parts))

  def look_up_inside(self, texts, pieces):
    ids, begins = pieces.flat_values, pieces.row_starts()
    # If the space is a piece, the pieces after it are those inside words.
    is_blank = pieces.row_lengths() > 1
    is_blank &= tf.gather(tf.pad(ids, [[0, 1]]), begins) == self._start_id
    begins += tf.cast(is_blank, tf.int64)
    pieces = tf.gather(ids, tf.ragged.range(begins, pieces.row_limits()))
    whole = tf.where(is_blank, -1, self._ids.lookup(texts))
    return pipeline.replace_first(pieces, self._continuing, whole)

  def find_bytes(self, texts):
    words = self.split(texts)
    ids = self.look_up(words)
    sizes = ids.with_flat_values(tf.gather(self._token_sizes, ids.flat_values))
    sizes = self._with_unknown_sizes(words, ids, sizes)
    stops = alignment.running_sums(sizes)
    return ids, stops - sizes, stops

  def _with_unknown_sizes(self, texts, ids, sizes):
    """Returns `sizes` [B, (pieces)] with the sizes of unknown pieces filled in.

    Args:
      texts: string [B], normalised.
      ids: int32 [B, (pieces)].
      sizes: int32 [B, (pieces)], valid for known pieces.
    """
    is_unknown = ids == self.vocabulary.unk_id
    counts = alignment.row_sums(tf.cast(is_unknown, tf.int32))  # [B]
    spelled = self._spell(tf.where(counts > 0, texts, ""))
    ids = spelled.with_flat_values(self._ids.lookup(spelled.flat_values))
    spelled = tf.ragged.boolean_mask(spelled, ids < 0)
    found = spelled.with_flat_values(_num_bytes(spelled.flat_values))
    # The two ops may cut a text differently, so the shape follows the ids.
    most = tf.reduce_max(tf.concat([[0], counts], axis=0))
    found = found.to_tensor(shape=tf.stack([tf.size(counts), most]))
    return sizes.with_flat_values(
      tf.tensor_scatter_nd_update(
        sizes.flat_values,
        tf.where(is_unknown.flat_values),
        tf.boolean_mask(found, tf.sequence_mask(counts, most)),
      )
    )

  def _spell(self, texts):
    """Returns the pieces of normalised texts as strings, even unknown ones.

    Returns:
      string RaggedTensor [B, (pieces)].
    """
    words = tf.strings.regex_replace(texts, _LONG_WORD, r"\0 ")
    is_long = tf.strings.length(texts) > _MOST_BYTES
    return self._spelling.tokenize(tf.where(is_long, words, texts))

  def num_bytes(self, texts):
    return tf.strings.length(tf.strings.regex_replace(texts, _BLANKS, ""))

  def units(self, texts):
    # Other white space may be a piece.
    texts = steps.drop_invalid(texts)
    return alignment.units_of(texts, alignment.UNIT, self._content, " ")

  def _content(self, texts):
    folded = self.fold(texts, are_parts=True)
    pieces = self._spell(self.split(folded))
    # One character for each byte piece: only their number matters.
    pieces = tf.strings.regex_replace(
      pieces, f"^{token_texts.BYTE_PIECE.pattern}$", "?"
    )
    texts = tf.strings.reduce_join(pieces, axis=-1)
    return tf.strings.regex_replace(texts, vocabulary_files.WORD_START, "")

  def join(self, token_texts):
    texts = tf.strings.reduce_join(token_texts, axis=-1)
    # The model puts a space before every text.
    return tf.strings.regex_replace(texts, "^ ", "")


def _num_bytes(texts):
  """Returns the number of bytes of pieces without their space marks."""
  return tf.strings.length(
    tf.strings.regex_replace(texts, vocabulary_files.WORD_START, "")
  )


def _ids_of_pieces(vocabulary):
  """Returns the id of each piece of the model, or None if ids are the same."""
  if vocabulary.rules:
    return None
  pieces = files.parse_pieces(vocabulary.model, vocabulary.origin)
  if pieces == [*vocabulary.tokens]:
    return None
  unk_id = vocabulary.unk_id
  return tf.constant([vocabulary.ids.get(piece, unk_id) for piece in pieces])


def _build_lookup(model):
  """Returns a tokenizer of tensorflow-text that gives the library's ids.

  The fast one takes half the time, but only supports unigram models with the
  usual settings. Both can differ from the library only if two segmentations are
  equally probable: in 141,483 lines under three models, the fast one never did
  and the other did once.
  """
  settings = piece_model.parse(model)
  training, normalizer = settings.trainer_spec, settings.normalizer_spec
  if (
    training.model_type == piece_model.UNIGRAM
    and not training.byte_fallback
    and not training.treat_whitespace_as_suffix
    and normalizer.add_dummy_prefix
    and normalizer.precompiled_charsmap
  ):
    return tf_text.FastSentencepieceTokenizer(model)
  return piece_op.PieceOp(model, tf.int32)


def _parts_of_digit_commas(vocabulary):
  """Returns the ids that replace each piece, int32 ragged [V, (pieces)].

  Most pieces stay. A piece that ends in a digit and a comma, such as "9,", is
  replaced by the model's pieces for the number, and ",".

  Source: google-research/albert, tokenization.py, encode_pieces.
  """
  model = sentencepiece.SentencePieceProcessor(model_proto=vocabulary.model)
  start = vocabulary_files.WORD_START
  parts = []
  for index, piece in enumerate(vocabulary.tokens):
    if not (len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit()):
      parts.append([index])
      continue
    digits = model.encode(piece[:-1].replace(start, ""), out_type=str)
    if not piece.startswith(start) and digits[0].startswith(start):
      digits[0] = digits[0].removeprefix(start)
    parts.append(
      [
        vocabulary.ids.get(part, vocabulary.unk_id)
        for part in (*digits, ",")
        if part
      ]
    )
  lengths = np.array([len(part) for part in parts])
  return tf.RaggedTensor.from_row_lengths(
    tf.constant([index for part in parts for index in part]), lengths
  )
