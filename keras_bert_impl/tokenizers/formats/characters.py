"""Classes of characters, as patterns of RE2 in TensorFlow's ops."""

import functools
import itertools
import sys
import unicodedata


def any_of(code_points):
  """Returns a class that matches one of these characters, ints."""
  return "[" + "".join(rf"\x{{{code:x}}}" for code in code_points) + "]"


def literal(text):
  """Returns the pattern of a text."""
  return "".join(
    rf"\x{{{ord(c):x}}}" if ord(c) < 128 and not c.isalnum() else c
    for c in text
  )


# White space of Unicode; RE2's \s is ASCII only.
SPACES = (
  *range(0x9, 0xE),
  0x20,
  0x85,
  0xA0,
  0x1680,
  *range(0x2000, 0x200B),
  0x2028,
  0x2029,
  0x202F,
  0x205F,
  0x3000,
)
# White space of Python's str.split().
PYTHON_SPACES = (*SPACES, 0x1C, 0x1D, 0x1E, 0x1F)
_WIDE_SPACES = [code for code in SPACES if code >= 0xA0]
SPACE = any_of(SPACES)
# White space of one byte, at which TensorFlow splits, and the rest.
ASCII_SPACE = r"[ \t-\r]"
WIDE_SPACE = any_of(code for code in SPACES if code > 0x7F)
PYTHON_SPACE = any_of(PYTHON_SPACES)
# White space that no normalisation deletes: other control characters are
# deleted or belong to words.
BLANK = any_of((*map(ord, " \t\n\r"), *_WIDE_SPACES))

# Deleted by BERT: NUL, the replacement character, and the categories Cc (but
# tab, newline and carriage return) and Cf.
DELETED = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x{9f}\x{fffd}\p{Cf}]"
_IDEOGRAPHS = (
  r"\x{4e00}-\x{9fff}\x{3400}-\x{4dbf}\x{20000}-\x{2a6df}\x{2a700}-\x{2b73f}"
  r"\x{2b740}-\x{2b81f}\x{2b820}-\x{2ceaf}\x{f900}-\x{faff}"
  r"\x{2f800}-\x{2fa1f}"
)
_PUNCTUATION = r"!-/:-@\[-`{-~\p{P}"
IDEOGRAPH = f"[{_IDEOGRAPHS}]"
# Punctuation and ASCII symbols.
PUNCTUATION = f"[{_PUNCTUATION}]"
# Punctuation and CJK ideographs: each is a word of its own.
SINGLE = f"[{_PUNCTUATION}{_IDEOGRAPHS}]"
# Characters of words: \w of Unicode, with circled and squared letters.
WORD = (
  r"[\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200c}\x{200d}\x{24b6}-\x{24e9}"
  r"\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}]"
)
# Characters in a row of neither words nor white space.
NO_WORDS = f"[^{WORD[1:-1]}{SPACE[1:-1]}]+"
# Characters that belong to the one before: marks, and vowels and final
# consonants of Hangul in jamo.
CONTINUING = r"[\p{M}\x{1160}-\x{11ff}\x{d7b0}-\x{d7ff}]"
# Characters that may combine: the half-width sound marks of Katakana too.
COMBINING = CONTINUING[:-1] + r"\x{ff9e}\x{ff9f}]"


@functools.cache
def combining():
  """Returns a class of the characters that Python calls combining."""
  codes = filter(
    lambda code: unicodedata.combining(chr(code)), range(sys.maxunicode + 1)
  )
  ranges = []
  # In a run of consecutive codes, code minus index is constant.
  for _, run in itertools.groupby(
    enumerate(codes), lambda item: item[1] - item[0]
  ):
    run = [code for _, code in run]
    ranges.append(rf"\x{{{run[0]:x}}}-\x{{{run[-1]:x}}}")
  return "[" + "".join(ranges) + "]"
