"""Reads and writes files of dependency trees, one word per line.

  CoNLL-U   of Universal Dependencies: 10 columns. Rows that begin with 1-2 or
            1.1, words of several syntactic words and empty nodes, are no words.
            They and the comments, which begin with #, stay where they are.
  KLUE-DP   6 columns, comments that begin with #.

An empty line ends a sentence. "_" as head of each word: the tree is not known.
"""

import dataclasses
import re

from keras_bert_impl import files

_UNKNOWN = "_"
# {number of columns: those of head and relation}.
_COLUMNS = {10: (6, 7), 6: (4, 5)}
# Index of a row that is not one word.
_NO_WORD = re.compile(r"\d+[-.]\d+")


@dataclasses.dataclass(frozen=True)
class ParsedSentence:
  """A sentence as words, and its dependency tree.

  Attributes:
    words: tuple of str.
    heads: tuple of int, of each word the number of its head, from 1; 0 for the
      root. None where the tree is unknown.
    relations: tuple of str, of each word to its head; None likewise.
    lines: tuple of str, as in its file, comments too.
    origin: str, file and row of the first line, for messages.
  """

  words: tuple[str, ...]
  heads: tuple[int, ...] | None = None
  relations: tuple[str, ...] | None = None
  lines: tuple[str, ...] = dataclasses.field(default=(), repr=False)
  origin: str = dataclasses.field(default="", repr=False)

  @property
  def is_labelled(self):
    """Whether the tree is known."""
    return self.heads is not None


def read(path):
  """Reads the sentences of a file.

  Args:
    path: str, local or gs://..., UTF-8.

  Returns:
    list of `ParsedSentence`.

  Raises:
    FileNotFoundError: there is no such file.
    ValueError: it is not UTF-8, has no sentence, or a row is wrong; names file
      and row.
  """
  content = files.decode(files.read_bytes(path, "File of trees"), path)
  sentences, lines = [], []
  for number, line in enumerate([*content.split("\n"), ""], start=1):
    line = line.removesuffix("\r")
    if line.strip():
      lines.append((f"{path}:{number}", line))
    elif any(not line.startswith("#") for _, line in lines):
      sentences.append(_sentence(lines))
      lines = []
    # Comments before an empty line are of the sentence that follows.
  if not sentences:
    raise ValueError(f"{path} has no sentences: give a file with some.")
  return sentences


def _sentence(lines):
  """Returns the `ParsedSentence` of [(origin, line)]."""
  rows = []
  for origin, line in lines:
    columns = line.split("\t")
    if line.startswith("#") or _NO_WORD.fullmatch(columns[0]):
      continue
    if len(columns) not in _COLUMNS:
      raise ValueError(
        f"{origin}: {len(columns)} columns, but must have 10 (CoNLL-U) or 6"
        " (KLUE-DP), with tabs between them."
      )
    if columns[0] != str(len(rows) + 1):
      raise ValueError(
        f"{origin}: the index {columns[0]!r} must be {len(rows) + 1}: words are"
        " numbered from 1, and an empty line ends a sentence."
      )
    rows.append((origin, columns))
  if not rows:
    raise ValueError(f"{lines[0][0]}: the sentence has no words: leave it out.")
  words = tuple(columns[1] for _, columns in rows)
  return ParsedSentence(
    words, *_tree(rows), tuple(line for _, line in lines), lines[0][0]
  )


def _tree(rows):
  """Returns heads and relations of [(origin, columns)]; None, None if none."""
  head, relation = _COLUMNS[len(rows[0][1])]
  found = [(columns[head], columns[relation]) for _, columns in rows]
  if all(value == _UNKNOWN for value, _ in found):
    return None, None
  origins = [f"{origin}: HEAD" for origin, _ in rows]
  heads = check_heads(
    [int(h) if h.isdecimal() else h for h, _ in found], origins
  )
  for (origin, _), (_, name) in zip(rows, found, strict=True):
    if name in ("", _UNKNOWN):
      raise ValueError(f"{origin}: the relation ({name!r}) must have a name.")
  return heads, tuple(name for _, name in found)


def check_heads(heads, places):
  """Returns the heads of words as a tuple of int.

  Args:
    heads: list, one value for each word.
    places: list of str, where they stand, for messages.

  Raises:
    ValueError: one is no number of a word, or the word itself.
  """
  for number, (value, place) in enumerate(zip(heads, places, strict=True), 1):
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= len(heads) or value == number:
      raise ValueError(
        f"{place} ({value!r}) must be the number of another word, from 1 to"
        f" {len(heads)}, or 0 for the root."
      )
  return tuple(heads)


def lines_of(sentence, heads, relations):
  """Returns the lines of a sentence with another tree, list of str.

  Args:
    sentence: `ParsedSentence`; of one from no file, the lines are CoNLL-U.
    heads: sequence of int.
    relations: sequence of str.
  """
  lines = sentence.lines or [
    "\t".join([str(number), word, *8 * [_UNKNOWN]])
    for number, word in enumerate(sentence.words, start=1)
  ]
  found, tree = [], zip(heads, relations, strict=True)
  for line in lines:
    columns = line.split("\t")
    if not (line.startswith("#") or _NO_WORD.fullmatch(columns[0])):
      head, relation = _COLUMNS[len(columns)]
      columns[head], columns[relation] = map(str, next(tree))
    found.append("\t".join(columns))
  return found
