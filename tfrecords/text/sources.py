"""Documents of any source: text files, TensorFlow Datasets, Wikipedia dumps."""

import itertools
import os
import re
import zlib

from keras_bert_impl import files
from tfrecords.text import documents, tfds_documents, wikipedia


def iter_documents(input_files, input_format="auto"):
  """Yields the documents of all sources, one after the other.

  Args:
    input_files: sequence of paths, glob patterns, folders, sources of
      TensorFlow Datasets (tfds_documents.py) or dumps of Wikipedia
      (wikipedia.py).
    input_format: one of `documents.FORMATS`.

  Yields:
    non-empty list of non-empty str, the sentences of one document.

  Raises:
    ValueError: nothing matches, or a file is not text; FileNotFoundError: a
      file does not exist.
  """
  for read, names in itertools.groupby(_expand(input_files), _reader):
    if read:
      for name in names:
        yield from read(name)
    else:
      for chunk in documents.open_chunks(list(names), input_format):
        yield from documents.read_chunk(chunk)


def check(input_files, input_format="auto"):
  """Checks that sources can be opened, without reading them.

  Args and errors: as for `iter_documents`.
  """
  names = [name for name in _expand(input_files) if not _reader(name)]
  if names:
    documents.open_files(names, input_format)


def replace_by_text(input_files, beside):
  """Returns `input_files` with text files in place of other sources.

  Unlike text, these cannot be read from the middle. The text files are kept, so
  that a restart finds them.

  Args:
    input_files: sequence of str.
    beside: str, local or gs://..., a file; the text is written to a folder
      `source_text` beside it.
  """
  folder = os.path.join(os.path.dirname(beside), "source_text")
  return [
    write_text(name, folder) if _reader(name) else name
    for name in _expand(input_files)
  ]


def write_text(source, folder):
  """Writes a source as a text file, if that file does not exist yet.

  Args:
    source: str, of TensorFlow Datasets or a dump of Wikipedia. A dump of the
      same name and another size is written again.
    folder: str, local or gs://...; created if necessary.

  Returns:
    str, path of a file of the format "sentences".
  """
  if tfds_documents.is_source(source):
    name, version = tfds_documents.parse(source).name, source
  else:
    name = os.path.basename(source)
    version = f"{source} {files.size(source)}"
  name = re.sub(r"\W+", "_", name)
  path = os.path.join(folder, f"{name}_{zlib.crc32(version.encode()):08x}.txt")
  if not files.exists(path):
    documents.write_sentences(path, _reader(source)(source))
  return path


def _expand(input_files):
  """Returns the names, with the files in place of patterns of dumps."""
  for name in documents.checked_list(input_files):
    found = [] if tfds_documents.is_source(name) else files.matches(name)
    if any(map(wikipedia.is_dump, found)):
      yield from found
    else:
      yield name


def _reader(name):
  """Returns the reader of a source that is no text file; None for a file."""
  if tfds_documents.is_source(name):
    return tfds_documents.iter_documents
  return wikipedia.iter_documents if wikipedia.is_dump(name) else None
