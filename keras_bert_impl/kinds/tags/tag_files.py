"""Reads files of tagged tokens, one token per line.

  columns      of CoNLL-2003 and most others: the token, then columns separated
               by blanks or tabs, one of them the tag. An empty line ends a
               sentence; a line that begins with -DOCSTART- or "# newdoc" begins
               a document. Lines that begin with # and have other columns than
               the rows are comments. Where the token is not the first column,
               as of GermEval and CoNLL-U, rows that begin with 1-2 or 1.1 are
               left out: they stand for several words or for none.
  characters   of KLUE-NER: a character, which may be a blank, a tab, the tag.
               Lines that begin with ## are comments.

Without a column of tags (only tokens) the sentences have no tags.

Of spans there is a column of tags for each level, as in GENIA's files.
"""

import itertools
import random
import re

from keras_bert_impl import files
from keras_bert_impl.metrics import tagging
from keras_bert_impl.tasks.basics import example_types
from keras_bert_impl.tokenizers.graph import token_pieces

_DOCUMENT_STARTS = ("-DOCSTART-", "# newdoc")
_COMMENT = "##"
# Index of a row of CoNLL-U that is not one word.
_NO_WORD = re.compile(r"\d+[-.]\d+")


def read(
  path,
  token_unit=token_pieces.WORD,
  tag_column=-1,
  tag_scheme=None,
  token_column=0,
):
  """Reads the sentences of a file.

  Args:
    path: str, local or gs://..., UTF-8.
    token_unit: "word" for columns, "character" for characters.
    tag_column: int, which column is the tag: counted from 0, or with a minus
      from the last, which is -1.
    tag_scheme: `tagging.NO_SCHEME` for any tags; `tagging.SPANS` for entities
      of several levels, whose tags are all columns from tag_column on, or after
      the token where that is -1; None for those of entities.
    token_column: int, which column is the token, counted likewise.

  Returns:
    list of `TaggedSentence`.

  Raises:
    FileNotFoundError: there is no such file.
    ValueError: it is not UTF-8, has no sentence, or a row has another number of
      columns or an unknown tag; names file and row.
  """
  is_character = token_unit == token_pieces.CHARACTER
  split = _split_character if is_character else _split_columns
  sentences, blanks, num_columns = [], [], None
  for document, lines in _sentences_of(path, is_character):
    rows = []
    for number, line in lines:
      origin, columns = f"{path}:{number}", split(line, num_columns)
      if token_column and _NO_WORD.fullmatch(columns[0]):
        continue
      num_columns = num_columns or len(columns)
      _check_row(columns, num_columns, origin)
      levels = _levels(columns, token_column, tag_column, tag_scheme)
      for level in levels:
        _check_tag(columns, origin, token_column, level, tag_scheme)
      rows.append((origin, columns))
      if not columns[token_column]:
        blanks.append(origin)
    if rows:
      found = _sentence(rows, document, token_column, levels, tag_scheme)
      sentences.append(found)
  if not sentences:
    raise ValueError(f"{path} has no sentences: give a file with some.")
  _check_unit(sentences, blanks)
  return sentences


def split_off(sentences, share, seed=0):
  """Splits sentences into two random parts, the same each time.

  Documents stay whole; both parts keep the order of the file.

  Args:
    sentences: list of `TaggedSentence`.
    share: float in (0, 1), of the documents that go into the second part.
    seed: int.

  Returns:
    (list, list) of `TaggedSentence`.

  Raises:
    ValueError: a part would be empty.
  """
  documents = list(dict.fromkeys(map(_document_of, sentences)))
  order = random.Random(seed).sample(documents, len(documents))
  drawn = frozenset(order[: round(share * len(order))])
  parts = [], []
  for sentence in sentences:
    parts[_document_of(sentence) in drawn].append(sentence)
  if not all(parts):
    raise ValueError(
      f"A share of {share} of {len(documents)} documents (or sentences, where "
      "there are none) leaves one part empty: give a file for each part."
    )
  return parts


def _document_of(sentence):
  return sentence.document or sentence.origin


def _read_lines(path):
  """Reads the lines of a UTF-8 file, without line ends."""
  # Not splitlines: it ends lines at characters that are tokens here.
  lines = files.read_text(path, "File of tagged tokens").split("\n")
  return [line.removesuffix("\r") for line in lines]


def _sentences_of(path, is_character):
  """Yields (where the document begins or None, [(number, line)])."""
  lines = _read_lines(path)
  is_comment = _comments_of(lines, is_character)
  document, rows = None, []
  for number, line in enumerate([*lines, ""], start=1):
    is_start = not is_character and line.startswith(_DOCUMENT_STARTS)
    if is_start or not (line if is_character else line.strip()):
      if rows:
        yield document, rows
      rows = []
      document = f"{path}:{number}" if is_start else document
    elif not is_comment(line):
      rows.append((number, line))


def _comments_of(lines, is_character):
  """Returns the function that tells whether a line of a file is a comment."""
  if is_character:
    return lambda line: line.startswith(_COMMENT)
  starts = ("#", *_DOCUMENT_STARTS)
  others = (x for x in lines if x.strip() and not x.startswith(starts))
  first = next(others, "")
  # A comment has blanks where the rows have tabs.
  split = (lambda line: line.split("\t")) if "\t" in first else _split_columns
  width = len(split(first))
  return lambda line: line.startswith("#") and len(split(line)) != width


def _split_columns(line, num_columns=None):
  """Splits a row into columns, at tabs if it has any, or at blanks."""
  # Tokens may hold other white space: "10\xa0000".
  if "\t" in line:
    return [column.strip(" ") for column in line.split("\t")]
  columns = [column for column in line.split(" ") if column]
  # The blank after an empty token.
  is_short = len(columns) + 1 == num_columns and line.startswith(" ")
  return ["", *columns] if is_short else columns


def _split_character(line, _):
  """Splits a row into token and columns; the token may be a blank or a tab."""
  token, rest = line[:1], line[1:]
  return [token, *rest.removeprefix("\t").split("\t")] if rest else [token]


def _levels(columns, token_column, tag_column, tag_scheme):
  """Returns which of the columns are tags, a sequence of int."""
  if tag_scheme != tagging.SPANS:
    return (tag_column,)
  first = token_column + 1 if tag_column == -1 else tag_column
  # Without such a column, the check of tag_column says so.
  return range(len(columns))[first:] or (tag_column,)


def _check_row(columns, num_columns, origin):
  if len(columns) != num_columns:
    raise ValueError(
      f"{origin}: {len(columns)} columns ({' | '.join(columns)}), where the "
      f"rows before have {num_columns}: give all rows the same."
    )


def _check_tag(columns, origin, token_column, tag_column, tag_scheme):
  """Raises ValueError unless there are a token and a tag in two columns."""
  size = len(columns)
  if not -size <= token_column < size:
    raise ValueError(
      f"{origin}: token_column ({token_column}) must be one of the row's"
      f" {size} columns."
    )
  if size == 1:
    return
  if tag_column % size == token_column % size or abs(tag_column) > size:
    raise ValueError(
      f"{origin}: tag_column ({tag_column}) must be one of the row's {size}"
      f" columns, and not {token_column}, the token."
    )
  fault = tagging.find_fault(columns[tag_column], tag_scheme)
  if fault:
    raise ValueError(
      f"{origin}: {fault}. Check --tag_column; for files with one character per"
      " line give --token_unit=character, for tags that mark no entities (parts"
      " of speech) --tag_scheme=none."
    )


def _check_unit(sentences, blanks):
  """Raises ValueError if rows without a token are blanks among characters."""
  if blanks and all(len(t) < 2 for each in sentences for t in each.tokens):
    raise ValueError(
      f"{blanks[0]}: the row has no token, and all tokens are single"
      " characters. For files with one character per line, where spaces are"
      " tokens, give --token_unit=character."
    )


def _sentence(rows, document, token_column, levels, tag_scheme):
  """Returns the `TaggedSentence` of [(origin, columns)]."""
  tags = None
  if len(rows[0][1]) > 1:
    of_levels = [[columns[k] for _, columns in rows] for k in levels]
    tags = tuple(of_levels[0])
    if tag_scheme == tagging.SPANS:
      entities = map(tagging.entities_of, of_levels)
      tags = tuple(sorted({*itertools.chain.from_iterable(entities)}))
  return example_types.TaggedSentence(
    tokens=tuple(columns[token_column] for _, columns in rows),
    tags=tags,
    document=document,
    origin=rows[0][0],
  )
