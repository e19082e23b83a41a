"""Removes what Project Gutenberg adds to a book.

Around the text: licences (today's end with `*** START OF` and start again with
`*** END OF`; before 2004, the "small print") and credits (who made the file
from what). Inside: transcriber's notes, and marks of the printed book's pages
and pictures.
"""

import itertools
import re
from typing import NamedTuple

_PAGE_MARK = r"[\[{](?:p|pg|page)\.? ?\d+[\]}]"
_ORDINALS = "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
_CARDINALS = (
  "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|"
  "fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty"
)
# The heading of a chapter, after the line's leading blanks; for str.
HEADING_PATTERN = (
  rf"(?i:(?:{_PAGE_MARK}[^\S\n]*)?(?:chapter|book|part|stave|canto|volume)"
  rf"[^\S\n]+(?:[ivxlc]+|\d+|{_CARDINALS}|the (?:{_ORDINALS}|last))\b)"
)
_HEADING = re.compile(HEADING_PATTERN)

_HEADER_END = re.compile(
  rb"^\*\*\* ?START OF\b(?s:.*?)\*\*\*|^\*.*SMALL PRINT!.*END\*+", re.M
)
_FOOTER_START = re.compile(
  rb"^\*\*\* ?END OF\b|^\*+START\*+THE SMALL PRINT!", re.M
)
_LAST_WORDS_PATTERN = (
  r"(?i:(?:the )?(?:end|fin|ende)\b.{0,20}project gutenberg)"
)
_LAST_WORDS = re.compile(_LAST_WORDS_PATTERN)
_LAST_LINE = re.compile(rb"^" + _LAST_WORDS_PATTERN.encode("ascii"), re.M)
_PARAGRAPH = re.compile(rb"\s*(\S.*(?:\n[^\S\n]*\S.*)*)")

_FILE = r"(?:e-?(?:text|book)|(?:html|text) version|version|file)"
_MADE = (
  r"(?:produced|prepared|transcribed|scanned|typed|digiti[sz]ed|converted)"
)
_CREDIT = re.compile(
  rf"\W*(?:(?:this|the) )?(?:original )?(?:project gutenberg )?"
  rf"(?:{_FILE} by|(?:{_FILE} )?(?:was |is )?{_MADE}[\w ,/&]* (?:by|from))\b",
  re.I,
)
_ADDRESS = re.compile(r"\w@\w+\.\w|https?://|www\.\w")
# Words of credits that no book from before computers has.
_OF_COMPUTERS = re.compile(
  rf"{_ADDRESS.pattern}|\be-?text|\be-?book|gutenberg|proofread", re.I
)
_NOTE_PATTERN = (
  r"\W*(?:original |e-?text |the )*"
  r"(?:transcriber|project gutenberg editor)\W?s?\W? notes?\b"
)
_NOTE = re.compile(_NOTE_PATTERN, re.I)
# The heading of a note, alone above its text.
_NOTE_HEADING = re.compile(
  rf"{_NOTE_PATTERN}\W*|.*\b(?:corrected|changed|made) by the"
  r" (?:e-?text )?transcriber\W*",
  re.I,
)
_OPENING_BRACKETS = ("[", "(")
_NOTE_INSIDE = rf"[\[(]{_NOTE_PATTERN}[^\])]*[\])]"
_MARK = re.compile(
  rf"(\s?)(?:\[Illustration[^\]]*\]|(?i:{_NOTE_INSIDE}|{_PAGE_MARK}))(\s?)"
)


class _Paragraph(NamedTuple):
  """A paragraph; `gap` is the number of blank lines before it."""

  gap: int
  indent: int
  lines: list

  @property
  def text(self):
    return " ".join(self.lines)


def find_start(head):
  """Returns the start of a book's text, after licence and credits.

  Args:
    head: bytes, the beginning of a file.

  Returns:
    int; None if the file is no book of Project Gutenberg.
  """
  # The head may hold all of a short book, with small print at its end.
  last = _LAST_LINE.search(head)
  headers = list(_HEADER_END.finditer(head[: last.start() if last else None]))
  if not headers:
    return None
  start = headers[-1].end()
  while paragraph := _PARAGRAPH.match(head, start):
    text = paragraph[1].decode("utf-8", "ignore")
    if not (_CREDIT.match(text) or _ADDRESS.search(text)):
      break
    start = paragraph.end()
  return start


def find_end(tail):
  """Returns the end (int) of the text in `tail`, the last bytes of a book."""
  footer = _FOOTER_START.search(tail)
  return footer.start() if footer else len(tail)


def is_heading(line):
  """Returns whether a line starts the heading of a chapter."""
  return bool(_HEADING.match(line.lstrip()))


def paragraphs(lines):
  """Returns the paragraphs of a document without credits and notes.

  Args:
    lines: iterable of str without white space at their ends; blank lines
      separate paragraphs.

  Returns:
    list of lists of stripped str.
  """
  found = _split(lines)
  kept = []
  index = 0
  while index < len(found):
    text = found[index].text
    if _NOTE.match(text) or _NOTE_HEADING.fullmatch(text):
      index = _end_of_note(found, index)
    else:
      if not _is_of_the_file(text):
        kept.append(found[index].lines)
      index += 1
  return kept


def drop_marks(text):
  """Returns a paragraph without its marks of pages and pictures."""
  return _MARK.sub(lambda mark: mark[1] or mark[2], text)


def _split(lines):
  """Returns the list of `_Paragraph` of a document."""
  found = []
  gap = 0
  for is_blank, group in itertools.groupby(lines, key=lambda line: not line):
    group = list(group)
    if is_blank:
      gap = len(group)
      continue
    first = group[0].expandtabs()
    indent = len(first) - len(first.lstrip())
    found.append(_Paragraph(gap, indent, [line.strip() for line in group]))
  return found


def _end_of_note(found, start):
  """Returns the index after the note that starts with paragraph `start`.

  A note under a heading continues to the next gap. Other notes are one
  paragraph or, if indented, all indented paragraphs that follow.
  """
  note = found[start]
  stop = start + 1
  is_heading_alone = bool(_NOTE_HEADING.fullmatch(note.text))
  if is_heading_alone:
    stop += 1

  def goes_on(paragraph):
    if paragraph.gap > 1 or _HEADING.match(paragraph.text):
      return False
    if is_heading_alone:
      return True
    is_bracketed = note.text.startswith(_OPENING_BRACKETS)
    return paragraph.indent >= note.indent > 0 and not is_bracketed

  while stop < len(found) and goes_on(found[stop]):
    stop += 1
  return stop


def _is_of_the_file(text):
  """Returns whether a paragraph is about the file and not part of the book."""
  is_credit = _CREDIT.match(text) and _OF_COMPUTERS.search(text)
  return bool(_LAST_WORDS.match(text) or is_credit)
