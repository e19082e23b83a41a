"""Learns a WordPiece vocabulary from text.

Makes byte-pair merges from counts of words (sentencepiece) and writes them as
WordPiece tokens. The words are those that the tokenizer will look up. Memory
grows with the unique words, not with the text; of very many unique words only
the most frequent ones are used. The same text gives the same tokens in the same
order.

Differs from the original, whose learner was never released: merges by
frequency (Sennrich et al. 2016) instead of by likelihood.
"""

import collections
import heapq
import io

import sentencepiece
from absl import logging

from keras_bert_impl import options as options_lib
from keras_bert_impl.tokenizers.formats import (
  tokenizer_options,
  vocabularies,
  vocabulary_files,
)
from keras_bert_impl.tokenizers.graph import steps, text_batches

_UNCASED = tokenizer_options.WordPieceOptions()
_MAX_PIECE_CHARACTERS = 16
# A million words take 0.9 GB and half a minute to learn from, and a tenth of
# that to count.
_MAX_WORDS = 2_000_000


def count_words(texts, options):
  """Counts the words of `texts`.

  Args:
    texts: iterable of str or bytes, read once.
    options: `WordPieceOptions`.

  Returns:
    collections.Counter of str, without the words that are too long to be
    looked up.
  """
  counts = collections.Counter()
  for words in text_batches.normalized(texts, _words_of, options):
    counts.update(words.tolist())
  counts.pop(steps.OVERLONG_WORD.encode("utf-8"), None)
  return collections.Counter(
    {word.decode("utf-8"): count for word, count in counts.items()}
  )


def _words_of(texts, options):
  return steps.words_of(texts, options).flat_values


def learn(
  texts,
  vocab_size,
  options=_UNCASED,
  min_frequency=2,
  character_coverage=1.0,
  origin=vocabulary_files.WORDPIECE,
  count=count_words,
):
  """Returns the `Vocabulary` for `texts`.

  Args:
    texts: iterable of str or bytes, read once; or anything that `count` takes.
    vocab_size: int, tokens wanted, special ones included.
    options: `WordPieceOptions`, as the tokenizer will be used.
    min_frequency: int, how often a token must occur to be learned.
    character_coverage: float in (0, 1], share of the text's characters that
      must be in the alphabet; rarer ones become [UNK] with their words.
    origin: str, name of the vocabulary in messages.
    count: callable (texts, options) -> Counter, as `count_words`.

  Returns:
    `Vocabulary`: the special tokens ([PAD] is 0), the alphabet, and pieces with
    the earliest merge first. Smaller than vocab_size, with a warning, if the
    text has not enough pieces.

  Raises:
    ValueError: on a value out of range, a text without words, or an alphabet
      larger than the vocabulary.
  """
  least = len(vocabularies.SPECIAL_TOKENS) + 1
  options_lib.check_numbers(f"[{least}, inf)", vocab_size=vocab_size)
  options_lib.check_numbers(options_lib.POSITIVE, min_frequency=min_frequency)
  options_lib.check_numbers("(0, 1]", character_coverage=character_coverage)
  counts = count(texts, options)
  if not counts:
    raise ValueError(
      "The text has no words to learn from: check the input files."
    )
  characters = _cover_characters(counts, min_frequency, character_coverage)
  # A word with another character becomes [UNK]: nothing to learn from it.
  words = {
    word: count
    for word, count in sorted(counts.items())
    if characters.issuperset(word)
  }
  alphabet = _alphabet(words, characters)
  tokens = [*vocabularies.SPECIAL_TOKENS, *alphabet]
  if len(tokens) > vocab_size:
    raise ValueError(
      f"vocab_size ({vocab_size}) is smaller than the {len(alphabet)} "
      f"characters of the text and {len(vocabularies.SPECIAL_TOKENS)} "
      "special tokens: raise it, or lower character_coverage "
      f"({character_coverage})."
    )
  num_pieces = vocab_size - len(tokens)
  tokens += _learn_pieces(words, num_pieces, min_frequency, frozenset(alphabet))
  if len(tokens) < vocab_size:
    logging.warning(
      "The text yields %d tokens, fewer than vocab_size (%d): nothing else "
      "occurs min_frequency (%d) times. Give more text or a smaller size.",
      len(tokens),
      vocab_size,
      min_frequency,
    )
  return vocabularies.Vocabulary(tuple(tokens), origin)


def _cover_characters(counts, min_frequency, character_coverage):
  """Returns the most frequent characters that reach the coverage, a set."""
  frequencies = collections.Counter()
  for word, count in counts.items():
    for character in word:
      frequencies[character] += count
  needed = character_coverage * sum(frequencies.values())
  covered, kept = 0, set()
  # Ties by code point, so that the order of the text does not matter.
  for character, frequency in sorted(
    frequencies.items(), key=lambda item: (-item[1], item[0])
  ):
    if covered >= needed or frequency < min_frequency:
      break
    kept.add(character)
    covered += frequency
  return kept


def _alphabet(words, characters):
  """Returns every character as a word and, where one occurs, a continuation.

  Punctuation and CJK ideographs are always words of their own.
  """
  continuations = {character for word in words for character in word[1:]}
  return sorted(characters) + [
    vocabularies.CONTINUATION_PREFIX + character
    for character in sorted(continuations)
  ]


def _learn_pieces(words, num_pieces, min_frequency, alphabet):
  """Returns at most `num_pieces` merged pieces, the earliest merge first."""
  words = _most_frequent(
    {
      word: count
      for word, count in words.items()
      if len(word) > 1 and vocabulary_files.WORD_START not in word
    }
  )
  if not num_pieces or not words:
    return []
  # Also asks for <unk>, the characters, and their merges with the start of a
  # word, which the alphabet contains already.
  size = num_pieces + 2 * len(alphabet) + 2
  while True:
    merges, is_exhausted = _train_sentencepiece(words, size)
    frequencies = _count_pieces(merges, words)
    # Some merges only led to longer ones and occur in no word.
    pieces = [
      piece
      for piece in merges
      if piece not in alphabet and frequencies[piece] >= min_frequency
    ]
    if (
      len(pieces) >= num_pieces
      or is_exhausted
      or _has_rare_merge(merges, frequencies, min_frequency)
    ):
      return pieces[:num_pieces]
    size *= 2


def _most_frequent(words):
  """Returns the most frequent `_MAX_WORDS` of counted words."""
  if len(words) <= _MAX_WORDS:
    return words
  logging.info(
    "Learning from the most frequent %d of %d different words.",
    _MAX_WORDS,
    len(words),
  )
  # Ties by code points, so that the order of the text does not matter.
  return dict(
    heapq.nsmallest(
      _MAX_WORDS, words.items(), key=lambda item: (-item[1], item[0])
    )
  )


def _train_sentencepiece(words, size):
  """Returns WordPiece tokens from byte-pair merges of counted words.

  Args:
    words: dict of word to count.
    size: int, pieces to ask for, <unk> and single characters included.

  Returns:
    (tokens, is_exhausted): list of str in the order of learning, with the
    single characters last; and whether there are fewer than asked for.
  """
  model = io.BytesIO()
  sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=(f"{word}\t{count}" for word, count in words.items()),
    input_format="tsv",
    model_writer=model,
    model_type="bpe",
    vocab_size=size,
    hard_vocab_limit=False,
    max_sentencepiece_length=_MAX_PIECE_CHARACTERS,
    # The words are final: no further normalisation or splitting.
    normalization_rule_name="identity",
    split_by_unicode_script=False,
    split_by_number=False,
    character_coverage=1.0,
    num_threads=1,
    unk_id=0,
    bos_id=-1,
    eos_id=-1,
    pad_id=-1,
    minloglevel=2,
  )
  processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
  num_pieces = processor.get_piece_size()
  pieces = map(processor.id_to_piece, range(1, num_pieces))
  tokens = [
    _to_wordpiece(piece)
    for piece in pieces
    if piece != vocabulary_files.WORD_START
  ]
  return tokens, num_pieces < size


def _to_wordpiece(piece):
  if piece.startswith(vocabulary_files.WORD_START):
    return piece.removeprefix(vocabulary_files.WORD_START)
  return vocabularies.CONTINUATION_PREFIX + piece


def _count_pieces(pieces, words):
  """Counts pieces in the words, each both as "ing" and as "##ing"."""
  frequencies = {}
  for piece in pieces:
    characters = piece.removeprefix(vocabularies.CONTINUATION_PREFIX)
    frequencies[characters] = 0
    frequencies[vocabularies.CONTINUATION_PREFIX + characters] = 0
  for word, count in words.items():
    for start in range(len(word)):
      prefix = vocabularies.CONTINUATION_PREFIX if start else ""
      stop = min(start + _MAX_PIECE_CHARACTERS, len(word))
      for end in range(start + 1, stop + 1):
        piece = prefix + word[start:end]
        if piece in frequencies:
          frequencies[piece] += count
  return frequencies


def _has_rare_merge(pieces, frequencies, min_frequency):
  """Returns whether any merge is rarer than `min_frequency`.

  Merges come by falling frequency, so all later ones are rare too. A merge is
  at most as frequent as its characters anywhere.
  """
  for piece in pieces:
    characters = piece.removeprefix(vocabularies.CONTINUATION_PREFIX)
    continuation = vocabularies.CONTINUATION_PREFIX + characters
    frequency = frequencies[characters] + frequencies[continuation]
    if len(characters) > 1 and frequency < min_frequency:
      return True
  return False
