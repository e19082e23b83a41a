"""Reads files of tagged tokens, one token per line.

  columns      of CoNLL-2003 and most others: the token, then columns separated
               by blanks or tabs, one of them the tag. An empty line ends a
               sentence; a line that begins with -DOCSTART- begins a document.
  characters   of KLUE-NER: a character, which may be a blank, a tab, the tag.
               Lines that begin with ## are comments.

Without a column of tags (only tokens) the sentences have no tags.
"""

import random

from keras_bert_impl import files
from keras_bert_impl.metrics import tagging
from keras_bert_impl.tasks.basics import example_types
from keras_bert_impl.tokenizers.graph import token_pieces

_DOCUMENT_START = "-DOCSTART-"
_COMMENT = "##"


def read(path, token_unit=token_pieces.WORD, tag_column=-1, tag_scheme=None):
  """Reads the sentences of a file.

  Args:
    path: str, local or gs://..., UTF-8.
    token_unit: "word" for columns, "character" for characters.
    tag_column: int, which column is the tag: counted from 0, which is the
      token, or with a minus from the last, which is -1.
    tag_scheme: `tagging.NO_SCHEME` for any tags; None for those of entities.

  Returns:
    list of `TaggedSentence`.

  Raises:
    FileNotFoundError: there is no such file.
    ValueError: it is not UTF-8, has no sentence, or a row has another number of
      columns or an unknown tag; names file and row.
  """
  is_character = token_unit == token_pieces.CHARACTER
  split_row = _split_character if is_character else _split_columns
  sentences, rows = [], []
  document, num_columns = None, None

  def end_sentence():
    if rows:
      sentences.append(_sentence(rows, path, tag_column, document))
      rows.clear()

  for number, line in enumerate(_read_lines(path), start=1):
    if not (line if is_character else line.strip()):
      end_sentence()
    elif is_character and line.startswith(_COMMENT):
      continue
    elif not is_character and line.startswith(_DOCUMENT_START):
      end_sentence()
      document = f"{path}:{number}"
    else:
      columns = split_row(line)
      if num_columns is None:
        num_columns = len(columns)
      _check_row(
        columns, num_columns, f"{path}:{number}", tag_column, tag_scheme
      )
      rows.append((number, columns))
  end_sentence()
  if not sentences:
    raise ValueError(f"{path} has no sentences: give a file with some.")
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
  content = files.read_bytes(path, "File of tagged tokens")
  # Not splitlines: it ends lines at characters that are tokens here.
  lines = files.decode(content, path).split("\n")
  return [line.removesuffix("\r") for line in lines]


def _split_columns(line):
  """Splits a row into columns, at tabs if it has any, or at blanks."""
  # Tokens may hold other white space: "10\xa0000".
  if "\t" in line:
    return [column.strip(" ") for column in line.split("\t")]
  return [column for column in line.split(" ") if column]


def _split_character(line):
  """Splits a row into token and columns; the token may be a blank or a tab."""
  token, rest = line[:1], line[1:]
  return [token, *rest.removeprefix("\t").split("\t")] if rest else [token]


def _check_row(columns, num_columns, origin, tag_column, tag_scheme):
  if len(columns) != num_columns:
    raise ValueError(
      f"{origin}: {len(columns)} columns ({' | '.join(columns)}), where the "
      f"rows before have {num_columns}: give all rows the same."
    )
  if not columns[0]:
    raise ValueError(
      f"{origin}: the row has no token. For files with one character per line, "
      "where spaces are tokens, give --token_unit=character."
    )
  if num_columns == 1:
    return
  # Column 0 is the token.
  if tag_column % num_columns == 0 or abs(tag_column) > num_columns:
    raise ValueError(
      f"{origin}: tag_column ({tag_column}) must be one of the row's "
      f"{num_columns} columns, and not 0, the token."
    )
  fault = tagging.find_fault(columns[tag_column], tag_scheme)
  if fault:
    raise ValueError(
      f"{origin}: {fault}. Check --tag_column; for files with one character per"
      " line give --token_unit=character, for tags that mark no entities (parts"
      " of speech) --tag_scheme=none."
    )


def _sentence(rows, path, tag_column, document):
  has_tags = len(rows[0][1]) > 1
  return example_types.TaggedSentence(
    tokens=tuple(columns[0] for _, columns in rows),
    tags=tuple(c[tag_column] for _, c in rows) if has_tags else None,
    document=document,
    origin=f"{path}:{rows[0][0]}",
  )
