"""Reads text files as a stream of documents, each a list of sentences.

Formats of a text file (`input_format`):
  sentences   one sentence per line, a blank line between documents: the format
              of google-research/bert.
  paragraphs  one paragraph per line, a blank line between documents;
              paragraphs are split into sentences.
  prose       text as published: hard-wrapped lines, a blank line between
              paragraphs, three or more between documents (chapters), or two
              before "CHAPTER II." and the like. What Project Gutenberg adds to
              a book is left out (gutenberg.py).
  auto        the format that the beginning of the file looks like.
The end of a file ends a document in every format. Byte-order marks and carriage
returns are dropped, a few bytes that are not UTF-8 are ignored. A line longer
than any sequence is cut into several.

A corpus is read in chunks: byte ranges of about equal size whose ends are moved
to the next end of a document, so that any chunk can be read by itself and
memory does not depend on the size of the corpus.
"""

import bisect
import codecs
import contextlib
import dataclasses
import functools
import itertools
import os
import re
import unicodedata
import zlib

from absl import logging

from keras_bert_impl import files as files_lib
from tfrecords.text import gutenberg, sentences

FORMATS = ("auto", "sentences", "paragraphs", "prose")

_CHUNK_BYTES = 4 << 20
_SAMPLE_BYTES = 64 << 10
# A document that goes on for longer than this after the nominal end of a chunk
# is cut at the end of a line, so that memory need not hold an endless document.
_LONGEST_DOCUMENT_BYTES = 4 << 20
_BLOCK_BYTES = 1 << 20
_LONGEST_LINE = 1 << 16
_PROSE_BLANK_LINES = 3
_HEADING_BLANK_LINES = 2
# Share of the beginning of a file; a text may have a stray byte here and there.
_MOST_NOT_UTF8 = 0.1

_BLANK_LINE = re.compile(rb"\n[^\S\n]*\n")
_PROSE_BREAK = re.compile(
  rb"\n(?:[^\S\n]*\n){%d}|\n(?:[^\S\n]*\n){%d}(?=[^\S\n]*%s)"
  % (
    _PROSE_BLANK_LINES,
    _HEADING_BLANK_LINES,
    gutenberg.HEADING_PATTERN.encode("ascii"),
  )
)
_END_OF_SENTENCE = re.compile(
  r"[.!?:;\u2026\u3002\uff01\uff1f][\"'\u201d\u2019)\]]*$"
)


@dataclasses.dataclass(frozen=True)
class TextFile:
  """A text file and the byte range of its text.

  Attributes:
    path: str, local or anything tf.io.gfile opens (gs://...).
    format: "sentences", "paragraphs" or "prose".
    start: int, first byte of the text.
    stop: int, the byte after the last one.
  """

  path: str
  format: str
  start: int
  stop: int


def open_files(input_files, input_format="auto"):
  """Returns the `TextFile`s of `input_files`, with their formats.

  Empty files are kept.

  Args:
    input_files: sequence of paths, glob patterns or folders.
    input_format: one of `FORMATS`.

  Raises:
    ValueError: nothing matches, or a file is not text; FileNotFoundError: a
      file does not exist.
  """
  if input_format not in FORMATS:
    raise ValueError(
      f"input_format ({input_format!r}) must be one of {', '.join(FORMATS)}."
    )
  return [_inspect(path, input_format) for path in _expand(input_files)]


def open_chunks(input_files, input_format="auto"):
  """Returns the chunks for reading text files one after the other.

  Args and errors: as for `open_files`.

  Returns:
    list of tuples of `TextFile`, for `read_chunk`.
  """
  files = open_files(input_files, input_format)
  total = sum(file.stop - file.start for file in files)
  return plan_chunks(files, 1 + total // _CHUNK_BYTES)


def plan_chunks(files, num_chunks):
  """Cuts files, joined into one, into chunks of whole documents.

  Reads only a little around each cut.

  Args:
    files: sequence of `TextFile`.
    num_chunks: int, number of chunks; some are empty if documents are few.

  Returns:
    list of `num_chunks` tuples of `TextFile`, parts of the given files.
  """
  ends = list(itertools.accumulate(f.stop - f.start for f in files))
  total = ends[-1] if ends else 0
  cuts = [(0, files[0].start)] if files else []
  for k in range(1, num_chunks):
    nominal = total * k // num_chunks
    index = min(bisect.bisect_right(ends, nominal), len(files) - 1)
    file = files[index]
    cuts.append(
      (index, _next_document(file, file.stop - ends[index] + nominal))
    )
  cuts.append((len(files) - 1, files[-1].stop) if files else (0, 0))
  # Two cuts inside one long document both move to its end.
  return [
    _between(files, start, stop) for start, stop in itertools.pairwise(cuts)
  ]


def read_chunk(chunk):
  """Yields the documents (list[str]) of a chunk made by `plan_chunks`."""
  for part in chunk:
    yield from _read_documents(part)


def fingerprint(file):
  """Returns a fingerprint of a text file without reading all of it.

  Args:
    file: `TextFile`.

  Returns:
    str: format, size, and checksums of the beginning and the end.
  """
  size = min(_SAMPLE_BYTES, file.stop - file.start)
  head = zlib.crc32(files_lib.read_range(file.path, file.start, size))
  tail = zlib.crc32(files_lib.read_range(file.path, file.stop - size, size))
  return f"{file.format} {file.stop - file.start} {head:08x} {tail:08x}"


def count_documents(files, at_most):
  """Returns the number of documents in `files`, or `at_most`.

  Memory is constant, however long a document is.

  Args:
    files: sequence of `TextFile`.
    at_most: int, where counting stops.
  """
  starts = (
    is_first
    for file in files
    for is_first, _ in _lines_of_documents(_stream_lines(file), file.format)
    if is_first
  )
  return len(list(itertools.islice(starts, at_most)))


def write_sentences(path, documents):
  """Writes documents atomically to a file of the format "sentences".

  Args:
    path: str, local or gs://...
    documents: iterable of lists of str.
  """
  with files_lib.writing(path) as file:
    for document in documents:
      file.write(("\n".join(document) + "\n\n").encode("utf-8"))


def checked_list(input_files):
  """Returns the names as a list of str; a single str is a ValueError."""
  if isinstance(input_files, str | os.PathLike):
    raise ValueError(
      f"input_files ({input_files!r}) must be a list of paths, not one path."
    )
  return [os.fspath(name) for name in input_files]


def _expand(input_files):
  """Returns the files that paths, patterns and folders match, in order."""
  paths = []
  for name in checked_list(input_files):
    paths += files_lib.matches(name)
  if not paths:
    raise ValueError(
      f"input_files ({', '.join(map(str, input_files))!r}) match no file; give "
      "text files, glob patterns or folders of text files."
    )
  return paths


def _inspect(path, input_format):
  """Returns the `TextFile` of a path."""
  size = files_lib.size(path)
  head = files_lib.read_range(path, 0, _SAMPLE_BYTES)
  _check_text(path, head)
  start, stop = 0, size
  if head.startswith(codecs.BOM_UTF8):
    start = len(codecs.BOM_UTF8)
  book_start = gutenberg.find_start(head)
  if book_start is not None and input_format in ("auto", "prose"):
    input_format, start = "prose", book_start
    tail_start = max(start, size - _SAMPLE_BYTES)
    stop = tail_start + gutenberg.find_end(
      files_lib.read_range(path, tail_start, _SAMPLE_BYTES)
    )
  if input_format == "auto":
    input_format = guess_format(head.decode("utf-8", "ignore"))
  return TextFile(path, input_format, start, stop)


def _check_text(path, head):
  """Raises ValueError if the beginning of a file is not UTF-8 text."""
  if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
    raise ValueError(f"{path} is UTF-16 text; convert it to UTF-8 first.")
  if b"\0" in head:
    raise ValueError(
      f"{path} is a binary file (byte {head.index(0)} is zero): give text "
      "files, in UTF-8."
    )
  # An incremental decoder waits for the rest of a character that is cut.
  decoder = codecs.getincrementaldecoder("utf-8")("ignore")
  text = decoder.decode(head)
  unfinished, _ = decoder.getstate()
  num_others = len(head) - len(text.encode("utf-8")) - len(unfinished)
  if num_others > _MOST_NOT_UTF8 * len(head):
    raise ValueError(
      f"{path} is not UTF-8 text: {num_others:,} of its first {len(head):,} "
      "bytes are not. Convert it to UTF-8 first, if it is text."
    )
  if num_others:
    _warn_of_bytes(path, num_others, len(head))


@functools.cache  # The files of a corpus are opened more than once.
def _warn_of_bytes(path, num_others, size):
  logging.warning(
    "%s: %d of its first %d bytes are not UTF-8 and are left out, as are others"
    " behind them. If it is in another encoding, such as Latin-1, convert it.",
    path,
    num_others,
    size,
  )


def guess_format(text):
  """Returns the format that the beginning of a text looks like.

  Prose has hard-wrapped lines: nearly all lines inside a paragraph are almost
  as wide as the widest, and most end within a sentence. Paragraphs hold two
  sentences per line or more on average. Everything else is sentences.

  Args:
    text: str; the last line may be cut.
  """
  lines = [line.rstrip() for line in text.split("\n")][:-1]
  inner = [a for a, b in itertools.pairwise(lines) if a and b.strip()]
  if len(inner) >= 3:
    widths = sorted(map(len, inner))
    width = widths[len(widths) * 49 // 50]
    full = sum(0.75 * width <= w <= width for w in widths)
    open_ended = sum(not _END_OF_SENTENCE.search(line) for line in inner)
    if (
      40 <= width <= 100
      and full > len(inner) / 2
      and open_ended > len(inner) / 2
    ):
      return "prose"
  filled = [line for line in lines if line.strip()]
  count = sum(len(sentences.split_sentences(line)) for line in filled)
  return "paragraphs" if count > 2 * len(filled) else "sentences"


def _next_document(file, offset):
  """Returns the start of the first document after `offset`, or the text's end.

  If that is further away than the longest document, the next line's start.
  """
  pattern = _PROSE_BREAK if file.format == "prose" else _BLANK_LINE
  for reach in (_SAMPLE_BYTES, _LONGEST_DOCUMENT_BYTES):
    data = files_lib.read_range(
      file.path, offset, min(reach, file.stop - offset)
    )
    match = pattern.search(data)
    if match:
      return offset + match.end()
    if offset + len(data) >= file.stop:
      return file.stop
  blank = _BLANK_LINE.search(data) if file.format == "prose" else None
  end_of_line = blank.end() if blank else data.find(b"\n") + 1
  return offset + (end_of_line or data.rfind(b" ") + 1 or len(data))


def _between(files, start, stop):
  """Returns the parts of `files` between two cuts (file index, offset)."""
  parts = []
  for index in range(start[0], stop[0] + 1):
    file = files[index]
    first = start[1] if index == start[0] else file.start
    last = stop[1] if index == stop[0] else file.stop
    if first < last:
      parts.append(dataclasses.replace(file, start=first, stop=last))
  return tuple(parts)


def _stream_text(part):
  """Yields the text of a part of a file in blocks."""
  decoder = codecs.getincrementaldecoder("utf-8")("ignore")
  with contextlib.closing(files_lib.open_binary(part.path)) as file:
    file.seek(part.start)
    left = part.stop - part.start
    while block := file.read(min(left, _BLOCK_BYTES)):
      yield decoder.decode(block)
      left -= len(block)


def _stream_lines(part):
  """Yields the lines of a part of a file, without white space at their ends.

  Lines that are too long are cut, so memory is constant.
  """
  rest = ""
  for text in _stream_text(part):
    *lines, rest = (rest + text).split("\n")
    for line in lines:
      yield from map(str.rstrip, _cut(line))
    *cut, rest = _cut(rest)
    yield from map(str.rstrip, cut)
  yield rest.rstrip()


def _cut(line):
  """Cuts a long line after blanks and returns its parts."""
  parts = []
  while len(line) > _LONGEST_LINE:
    stop = line.rfind(" ", 0, _LONGEST_LINE) + 1 or _LONGEST_LINE
    parts.append(line[:stop])
    line = line[stop:]
  return [*parts, line]


def _lines_of_documents(lines, text_format):
  """Yields (is_first, line): whether a line is the first of a document.

  Blank lines between documents are left out.

  Args:
    lines: iterable of str without white space at their ends.
    text_format: format of the file; prose needs more blank lines.
  """
  is_prose = text_format == "prose"
  needed = _PROSE_BLANK_LINES if is_prose else 1
  blanks = needed
  for line in lines:
    if not line:
      blanks += 1
      continue
    is_first = blanks >= needed or (
      blanks >= _HEADING_BLANK_LINES and gutenberg.is_heading(line)
    )
    if not is_first:
      yield from [(False, "")] * blanks
    yield is_first, line
    blanks = 0


def _read_documents(part):
  """Yields the documents (list[str]) of a part of a file."""
  to_sentences = _TO_SENTENCES[part.format]
  lines = []
  marked = _lines_of_documents(_stream_lines(part), part.format)
  for is_first, line in itertools.chain(marked, [(True, "")]):
    if is_first:
      document = to_sentences(lines)
      if document:
        yield document
      lines = []
    lines.append(line)


def _sentences_of_prose(lines):
  """Returns the sentences of hard-wrapped lines with blank lines between."""
  texts = map(join_lines, gutenberg.paragraphs(lines))
  return _sentences_of_paragraphs(map(gutenberg.drop_marks, texts))


def _sentences_of_paragraphs(lines):
  return [s for line in lines for s in sentences.split_sentences(line)]


def _stripped(lines):
  return [line.strip() for line in lines]


_TO_SENTENCES = {
  "sentences": _stripped,
  "paragraphs": _sentences_of_paragraphs,
  "prose": _sentences_of_prose,
}


def join_lines(lines):
  """Joins hard-wrapped lines with spaces.

  Between two characters of scripts without spaces (Han, kana) none is added.

  Args:
    lines: iterable of non-empty stripped str.
  """
  text = ""
  for line in lines:
    if text and not (
      _writes_no_spaces(text[-1]) and _writes_no_spaces(line[0])
    ):
      text += " "
    text += line
  return text


def _writes_no_spaces(character):
  return character > "\u2e80" and "HANGUL" not in unicodedata.name(
    character, ""
  )
