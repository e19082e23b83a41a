"""Checks a tokenizer with a few built-in sentences in its own script.

A vocabulary of another layout than it is read with gives [UNK] for every word,
without an error.
"""

import re

from absl import logging

from keras_bert_impl.tokenizers.formats import vocabulary_files

_MOST_UNKNOWN = 0.1
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


def warn_of_unknown(tokenizer):
  """Warns if a tokenizer does not know the words of its own script.

  Args:
    tokenizer: any tokenizer of `keras_bert_impl.tokenizers`.
  """
  vocabulary = tokenizer.vocabulary
  if (
    # Byte-level BPE knows every text.
    vocabulary.kind == vocabulary_files.BYTE_BPE
    or vocabulary.size < _FEWEST_TOKENS
  ):
    return
  # Late: byte-level BPE does without tensorflow-text.
  from keras_bert_impl.tokenizers import agreement

  script = _script_of(vocabulary.tokens)
  text = _SCRIPTS[script][1]
  share = agreement.unknown_share(tokenizer, [text])
  if share > _MOST_UNKNOWN:
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


def _script_of(tokens):
  """Returns the script that most characters of a sample of tokens have."""
  text = "".join(tokens[:: 1 + len(tokens) // _MOST_TOKENS])
  return max(
    _SCRIPTS, key=lambda name: len(re.findall(f"[{_SCRIPTS[name][0]}]", text))
  )
