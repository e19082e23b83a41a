"""Splits prose into sentences by rules, for any language."""

import re

# A stop, the quotes and brackets that close it, and the space after it; what
# follows must look like the start of a sentence. Scripts without letter case
# (Hangul, kana, Han, ...) always do. Full-width stops need no space.
_BOUNDARY = re.compile(
  r"""(?P<stop>[.!?\u2026]+["'\u201d\u2019)\]]*)(?P<space>\s+)"""
  r"""(?=["'\u201c\u2018(\[\u300c\u300e<]*(?:[0-9]|[^\W\d_a-z]))"""
  r"""|(?P<wide>[\u3002\uff01\uff1f]+["'\u201d\u2019\u300d\u300f)\]]*)\s*"""
)
# The end of a line, with the stops that scripts have for themselves: danda,
# Arabic, Burmese, Khmer, Ethiopic, Armenian.
_END = re.compile(
  "[.!?\u2026\u3002\uff01\uff1f\u0964\u0965\u06d4\u061f\u104b\u17d4\u1362\u0589]"
  "[\"'\u201d\u2019)\\]\u00bb\u300d\u300f\uff09]*\\s*$"
)
_LAST_WORD = re.compile(r"[\w.&]+\Z")
_ABBREVIATIONS = frozenset(
  """
  mr mrs ms messrs mme dr prof rev hon gen col capt lieut lt maj sgt st ste jr
  sr esq no nos vol vols ch chap fig figs eq eqs sec pp vs cf viz al etc ed eds
  trans i.e e.g a.m p.m approx dept inc ltd co corp jan feb mar apr jun jul aug
  sep sept oct nov dec u.s ph.d
  """.split()
)
# Characters before a full stop that are searched for a word: one more than the
# longest abbreviation, so that a cut word never looks like one.
_REACH = 12


def split_sentences(paragraph):
  """Returns the sentences of one paragraph.

  A sentence ends at `.`, `!`, `?` or an ellipsis, with its closing quotes and
  brackets, if white space and something that is not lower-case follow; and at
  full-width stops. A single full stop after an abbreviation, an initial or the
  number of a list item does not end a sentence.

  Args:
    paragraph: str, one paragraph without line breaks.

  Returns:
    list of non-empty str, stripped.
  """
  sentences = []
  start = 0
  for match in _BOUNDARY.finditer(paragraph):
    end = match.end("wide") if match["wide"] else match.end("stop")
    if match["stop"] == "." and _is_abbreviation(paragraph, start, end - 1):
      continue
    sentences.append(paragraph[start:end].strip())
    start = match.end()
  sentences.append(paragraph[start:].strip())
  return [sentence for sentence in sentences if sentence]


def ends_sentence(line):
  """Returns whether a line ends as a sentence does, quotes around it or not."""
  return bool(_END.search(line))


def _is_abbreviation(paragraph, start, stop):
  """Returns whether the full stop at `stop` belongs to the word before it."""
  tail_start = max(start, stop - _REACH)
  match = _LAST_WORD.search(paragraph, tail_start, stop)
  if match is None:
    return False
  word = match.group()
  if len(word) == 1 and word.isupper() and word != "I":
    return True  # An initial: J. Smith.
  if word.isdigit() and not paragraph[start : match.start()].strip():
    return True  # The number of a list item: 1. First.
  return word.lower() in _ABBREVIATIONS
