"""Learns a SentencePiece model from text, with ALBERT's settings.

BPE merges depend only on the counts of words, so that memory grows with the
unique words. A unigram model is learned from whole sentences, from at most
`MAX_SENTENCES`: a random sample, the same each time. The same text in the same
order gives the same model.

Source: google-research/albert, README (the command of its vocabulary).
"""

import collections
import io
import random

import sentencepiece

from keras_bert_impl import choices, files
from keras_bert_impl import options as options_lib
from keras_bert_impl.tokenizers.formats import vocabularies, vocabulary_files
from keras_bert_impl.tokenizers.graph import steps, text_batches

# At a hundred bytes each, about a gigabyte while learning.
MAX_SENTENCES = 2_000_000
CHARACTER_COVERAGE = 0.99995

_CONTROL_SYMBOLS = ("[CLS]", "[SEP]", "[MASK]")
_OWN_PIECES = ("(", ")", '"', "-", ".", "–", "£", "€")
_MAX_SENTENCE_BYTES = 1 << 20


def count_words(texts, options):
  """Counts the words of `texts`: returns a collections.Counter of str.

  Args:
    texts: iterable of str, read once.
    options: `SentencePieceOptions`.
  """
  counts = collections.Counter()
  for text in _prepare(texts, options):
    counts.update(text.split())
  return counts


def learn(
  texts,
  vocab_size,
  options,
  model_type="unigram",
  character_coverage=CHARACTER_COVERAGE,
  origin=vocabulary_files.SENTENCEPIECE,
  count=count_words,
):
  """Returns the `Vocabulary` for `texts`.

  Args:
    texts: iterable of str, read once; for "bpe", the argument of `count`.
    vocab_size: int, number of pieces, including special ones.
    options: `SentencePieceOptions` of the tokenizer.
    model_type: "unigram" or "bpe".
    character_coverage: float in (0, 1], share of the text's characters that
      must be pieces; rarer ones become <unk>.
    origin: str, name of the vocabulary in messages.
    count: callable (texts, options) -> Counter, as `count_words`; for "bpe".

  Returns:
    `Vocabulary`: <pad>, <unk>, [CLS], [SEP], [MASK], some punctuation that is
    never joined to anything, and the pieces.

  Raises:
    ValueError: on a value out of range, a text without words, or one that does
      not have so many pieces.
  """
  options_lib.check_choice(
    "model_type", model_type, choices.SENTENCE_PIECE_TYPES
  )
  options_lib.check_numbers("(0, 1]", character_coverage=character_coverage)
  if model_type == "bpe":
    counts = count(texts, options)
    sentences = [f"{word}\t{counts[word]}" for word in sorted(counts)]
    form = "tsv"
  else:
    sentences = _sample(_prepare(texts, options), MAX_SENTENCES)
    form = "text"
  if not sentences:
    raise ValueError(
      "The text has no words to learn from: check the input files."
    )
  model = io.BytesIO()
  try:
    sentencepiece.SentencePieceTrainer.train(
      sentence_iterator=iter(sentences),
      input_format=form,
      model_writer=model,
      model_type=model_type,
      vocab_size=vocab_size,
      character_coverage=character_coverage,
      max_sentence_length=_MAX_SENTENCE_BYTES,
      pad_id=0,
      unk_id=1,
      bos_id=-1,
      eos_id=-1,
      control_symbols=list(_CONTROL_SYMBOLS),
      user_defined_symbols=list(_OWN_PIECES),
      minloglevel=2,
    )
  except RuntimeError as error:
    raise ValueError(
      f"No SentencePiece model of vocab_size ({vocab_size}) can be learned "
      f"from this text: {error}"
    ) from error
  content = model.getvalue()
  pieces = files.parse_pieces(content, origin)
  return vocabularies.Vocabulary(
    tuple(pieces), origin, vocabulary_files.SENTENCEPIECE, model=content
  )


def _prepare(texts, options):
  """Yields the normalised `texts` that contain words."""
  for batch in text_batches.normalized(texts, steps.normalize, options):
    for text in batch:
      if text.strip():
        yield text.decode("utf-8")


def _sample(texts, size):
  """Returns a list of `texts`, or a random sample of `size` of them."""
  rng = random.Random(0)
  kept = []
  for index, text in enumerate(texts):
    if index < size:
      kept.append(text)
    else:
      place = rng.randrange(index + 1)
      if place < size:
        kept[place] = text
  return kept
