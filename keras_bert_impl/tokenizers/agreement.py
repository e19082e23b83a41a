"""Checks that vocabulary, normalisation and text fit together.

A cased vocabulary with lower-casing, an uncased one without, or an ordinary
Korean vocabulary with lower-casing but without compose_hangul trains without an
error and badly. Two numbers show it: the share of a sample's words that contain
[UNK] and, for WordPiece, the share of the vocabulary that no normalised text
can contain. Byte-level BPE normalises nothing and knows every text.

A vocabulary of another layout than it is read with gives [UNK] for every word:
a few sentences in its own script show that.
"""

import dataclasses
import re

import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert_impl.tokenizers.formats import (
  tokenizer_options,
  vocabularies,
  vocabulary_files,
)
from keras_bert_impl.tokenizers.graph import steps

# A healthy pair has less than 1 % of each.
_NOTABLE_UNKNOWN = 0.01
_HIGH_UNKNOWN = 0.05
_NOTABLE_UNREACHABLE = 0.05
# Characters to read of each text of a sample: a line may be a whole book.
_MOST_CHARACTERS = 2000

# Of a sample in the vocabulary's own script.
_HIGH_UNKNOWN_OF_OWN = 0.1
# Smaller ones are of tests, or of text that is like no other.
_FEWEST_TOKENS = 1000
_MOST_TOKENS = 20000
# {script: (class of its characters, sentences)}
_SCRIPTS = {
  "Latin": (
    "a-zA-Z",
    "The people of the city were there when the water came in the night. He "
    "said that she had been at work for more than two years, and that they all "
    "knew it.",
  ),
  "Hangul": (
    "\uac00-\ud7a3\u1100-\u11ff",
    "오늘은 날씨가 아주 좋아서 친구와 함께 공원에 갔다. 그는 지난 "
    "해에 서울에서 일을 시작했고 많은 사람들을 만났다.",
  ),
  "Han": (
    "\u4e00-\u9fff",
    "今天天气很好，我们一起去公园走走。他在中国工作了两年，认识了很多人。",
  ),
  "Kana": (
    "\u3041-\u30ff",
    "きょうはとてもいい天気なので、みんなで山に行きました。あの人はここにいる。",
  ),
  "Cyrillic": (
    "\u0400-\u04ff",
    "В этом году он начал работать в большом городе и узнал много людей. Она "
    "сказала, что это было давно.",
  ),
  "Greek": (
    "\u0370-\u03ff",
    "Αυτή είναι μια μεγάλη πόλη και οι άνθρωποι εδώ είναι πολύ καλοί.",
  ),
  "Arabic": (
    "\u0600-\u06ff",
    "هذا هو اليوم الذي ذهب فيه الرجل إلى المدينة مع كل الناس.",
  ),
  "Devanagari": (
    "\u0900-\u097f",
    "यह एक बड़ा शहर है और यहाँ बहुत से लोग रहते हैं।",
  ),
}

_ALTERNATIVES = {
  vocabulary_files.WORDPIECE: (
    tokenizer_options.WordPieceOptions(do_lower_case=True),
    tokenizer_options.WordPieceOptions(do_lower_case=False),
    tokenizer_options.WordPieceOptions(do_lower_case=True, compose_hangul=True),
  ),
  vocabulary_files.SENTENCEPIECE: tuple(
    tokenizer_options.SentencePieceOptions(
      do_lower_case, keep_accents, compose_hangul=compose_hangul
    )
    for do_lower_case in (False, True)
    for keep_accents, compose_hangul in (
      (True, False),
      (False, False),
      (False, True),
    )
  ),
}


def unknown_share(tokenizer, texts, options=None):
  """Returns the share of the words of `texts` that contain [UNK].

  Args:
    tokenizer: any tokenizer of `keras_bert_impl.tokenizers`.
    texts: list of str or bytes, a sample.
    options: its options to use in place of the tokenizer's own.

  Returns:
    float in [0, 1]; 0 if there are no words.
  """
  texts = [text[:_MOST_CHARACTERS] for text in texts]
  normalized = tokenizer.normalize(tf.constant(texts, tf.string), options)
  ids = tokenizer.pipeline.look_up(normalized)
  row_starts = ids.row_starts().numpy()[ids.row_lengths().numpy() > 0]
  ids = ids.flat_values.numpy()
  is_start = ~tokenizer.vocabulary.is_continuation[ids]
  is_start[row_starts] = True
  word = np.cumsum(is_start)
  # A vocabulary without the role has no unknown words.
  is_unknown = ids == tokenizer.vocabulary.role_ids.get("unk", -1)
  return len(np.unique(word[is_unknown])) / max(is_start.sum(), 1)


def unreachable_share(vocabulary, options):
  """Returns the share of tokens that no normalised text can contain.

  Args:
    vocabulary: `Vocabulary` of WordPiece; tokens in brackets do not count.
    options: `WordPieceOptions`.

  Returns:
    float in [0, 1]; 0 if all tokens are in brackets.
  """
  tokens = [
    token.removeprefix(vocabularies.CONTINUATION_PREFIX)
    for token in vocabulary.tokens
    if not (token.startswith("[") and token.endswith("]"))
  ]
  if not tokens:
    return 0.0
  tokens = tf.constant(tokens)
  words = steps.words_of(tokens, options)
  normalized = tf.strings.reduce_join(words, axis=-1, separator=" ")
  return float(tf.reduce_mean(tf.cast(normalized != tokens, tf.float32)))


def disagreement(tokenizer, texts):
  """Returns one line that says what does not fit, or None.

  Args:
    tokenizer: any tokenizer of `keras_bert_impl.tokenizers`.
    texts: list of str or bytes, a sample of the text; 1,000 lines are plenty.

  Returns:
    str without line breaks, with the numbers and what to do; or None.
  """
  # Byte-level BPE knows every text.
  if tokenizer.vocabulary.kind == vocabulary_files.BYTE_BPE:
    return None
  origin = tokenizer.vocabulary.origin
  if tokenizer.vocabulary.rules:  # There is nothing to choose.
    return _misfit(unknown_share(tokenizer, texts), origin)
  current = _measure(tokenizer, texts, tokenizer.options)
  others = [
    _measure(tokenizer, texts, options)
    for options in _ALTERNATIVES[tokenizer.vocabulary.kind]
    if options != tokenizer.options
  ]
  best = min(others, key=lambda fit: (fit.unknown, fit.unreachable))
  if (
    current.unknown > best.unknown + _NOTABLE_UNKNOWN
    and current.unknown > 2 * best.unknown
  ):
    return (
      f"{current.unknown:.1%} of the words become [UNK] with "
      f"{_describe(current.options)}, {best.unknown:.1%} with "
      f"{_describe(best.options)}: {origin} seems made for the latter."
    )
  # Unused entries only take space, so avoiding them is not worth any [UNK].
  harmless = [
    fit for fit in others if fit.unknown < current.unknown + _NOTABLE_UNKNOWN
  ]
  best = min(harmless, key=lambda fit: fit.unreachable, default=current)
  if (
    current.unreachable > _NOTABLE_UNREACHABLE
    and current.unreachable > 2 * best.unreachable
  ):
    return (
      f"{current.unreachable:.1%} of {origin} can never be used with "
      f"{_describe(current.options)}, {best.unreachable:.1%} with "
      f"{_describe(best.options)}: it seems made for the latter."
    )
  return _misfit(current.unknown, origin)


def check(tokenizer, texts, max_unknown_share=1):
  """Warns of what `disagreement` tells.

  Args:
    tokenizer: any tokenizer of `keras_bert_impl.tokenizers`; one that is not in
      the graph passes.
    texts: list of str or bytes, a sample of the text.
    max_unknown_share: float, of words with [UNK] in the sample.

  Raises:
    ValueError: more words have it.
  """
  misfit = tokenizer.is_in_graph and disagreement(tokenizer, texts)
  if not misfit:
    return
  share = unknown_share(tokenizer, texts)
  check_unknown(share, max_unknown_share, "a sample", misfit)
  logging.warning("%s", misfit)


def warn_of_unknown(tokenizer):
  """Warns if a tokenizer does not know the words of its own script.

  Args:
    tokenizer: any tokenizer of `keras_bert_impl.tokenizers`.
  """
  vocabulary = tokenizer.vocabulary
  if (
    not tokenizer.is_in_graph
    # Byte-level BPE knows every text.
    or vocabulary.kind == vocabulary_files.BYTE_BPE
    or vocabulary.size < _FEWEST_TOKENS
  ):
    return
  script = _script_of(vocabulary.tokens)
  text = _SCRIPTS[script][1]
  share = unknown_share(tokenizer, [text])
  if share > _HIGH_UNKNOWN_OF_OWN:
    logging.warning(
      "%.0f%% of the words of a sample in its own script (%s) are unknown to "
      "%s, read as %s with %s: is it of another kind, or are these others' "
      "options?",
      100 * share,
      script,
      vocabulary.origin,
      vocabulary.kind,
      tokenizer.options,
    )


def check_unknown(share, most, place="the text", reason=""):
  """Checks that not too much of a text is [UNK].

  Raises:
    ValueError: `share` is above `most`.
  """
  if share > most:
    raise ValueError(
      f"max_unknown_share ({most}) is exceeded: {share:.1%} of {place} is"
      f" [UNK]. {reason or 'Learn a vocabulary from all of the text.'} Give"
      " --max_unknown_share=1 to allow it."
    )


def _misfit(unknown, origin):
  """Returns the line for a share of unknown words, None for a low one."""
  if unknown <= _HIGH_UNKNOWN:
    return None
  return (
    f"{unknown:.1%} of the words become [UNK]: {origin} does not fit the text;"
    " learn one from it with official_tasks/train_vocabulary.py."
  )


def _script_of(tokens):
  """Returns the script that most characters of a sample of tokens have."""
  text = "".join(tokens[:: 1 + len(tokens) // _MOST_TOKENS])
  return max(
    _SCRIPTS, key=lambda name: len(re.findall(f"[{_SCRIPTS[name][0]}]", text))
  )


@dataclasses.dataclass(frozen=True)
class _Fit:
  options: tokenizer_options.WordPieceOptions
  unknown: float
  unreachable: float


def _measure(tokenizer, texts, options):
  vocabulary = tokenizer.vocabulary
  is_wordpiece = vocabulary.kind == vocabulary_files.WORDPIECE
  return _Fit(
    options,
    unknown_share(tokenizer, texts, options),
    unreachable_share(vocabulary, options) if is_wordpiece else 0.0,
  )


def _describe(options):
  if isinstance(options, tokenizer_options.SentencePieceOptions):
    names = ("do_lower_case", "keep_accents", "compose_hangul")
  elif options.do_lower_case:
    names = ("do_lower_case", "compose_hangul")
  else:
    names = ("do_lower_case",)
  return ", ".join(f"{name}={getattr(options, name)}" for name in names)
