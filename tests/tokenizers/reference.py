"""The law of the original tokenizer in plain Python: oracle and yardstick.

Written from the behaviour of google-research/bert, tokenization.py: clean,
space out CJK, split at white space, lower-case and strip accents, split at
punctuation, then greedy longest match first. One character at a time, as the
original does, so that its speed is the original's speed.
"""

import string
import unicodedata

CJK_RANGES = (
  (0x4E00, 0x9FFF),
  (0x3400, 0x4DBF),
  (0x20000, 0x2A6DF),
  (0x2A700, 0x2B73F),
  (0x2B740, 0x2B81F),
  (0x2B820, 0x2CEAF),
  (0xF900, 0xFAFF),
  (0x2F800, 0x2FA1F),
)
MAX_WORD_CHARACTERS = 200


class ReferenceTokenizer:
  """Ids of a text, one character at a time."""

  def __init__(self, tokens, do_lower_case, compose_hangul=False):
    self.ids = {token: index for index, token in enumerate(tokens)}
    self.do_lower_case = do_lower_case
    self.compose_hangul = compose_hangul

  def tokenize(self, text):
    """Returns the list of ids of `text` (str or bytes)."""
    if isinstance(text, bytes):
      text = text.decode("utf-8", "ignore")
    return [piece for word in self.words(text) for piece in self.pieces(word)]

  def words(self, text):
    """Returns the list of words that are looked up."""
    words = []
    for word in clean(text).split():
      if self.do_lower_case:
        word = strip_accents(word.lower())
        if self.compose_hangul:
          word = unicodedata.normalize("NFC", word)
      words += [f" {c} " if is_punctuation(c) else c for c in f"{word} "]
    return "".join(words).split()

  def pieces(self, word):
    """Returns the ids of one word: greedy, longest first; [UNK] or all."""
    unknown = [self.ids["[UNK]"]]
    if len(word) > MAX_WORD_CHARACTERS:
      return unknown
    found, start = [], 0
    while start < len(word):
      for end in range(len(word), start, -1):
        piece = ("##" if start else "") + word[start:end]
        if piece in self.ids:
          break
      else:
        return unknown
      found.append(self.ids[piece])
      start = end
    return found


def clean(text):
  """Drops control characters, makes white space blanks, sets CJK apart."""
  kept = []
  for character in text:
    category = unicodedata.category(character)
    if character in " \t\n\r" or category == "Zs":
      kept.append(" ")
    elif any(low <= ord(character) <= high for low, high in CJK_RANGES):
      kept.append(f" {character} ")
    elif character not in "\0\ufffd" and category not in ("Cc", "Cf"):
      kept.append(character)
  return "".join(kept)


def strip_accents(word):
  """Decomposes and drops the nonspacing marks."""
  return "".join(
    character
    for character in unicodedata.normalize("NFD", word)
    if unicodedata.category(character) != "Mn"
  )


def is_punctuation(character):
  """ASCII symbols count as punctuation too."""
  category = unicodedata.category(character)
  return character in string.punctuation or category.startswith("P")
