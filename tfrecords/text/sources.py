"""Documents of any source: text files or TensorFlow Datasets."""

import itertools

from tfrecords.text import documents, tfds_documents


def iter_documents(input_files, input_format="auto"):
  """Yields the documents of text files and of TensorFlow Datasets.

  Args:
    input_files: sequence of paths, glob patterns, folders, or sources of
      TensorFlow Datasets (tfds_documents.py).
    input_format: one of `documents.FORMATS`.

  Yields:
    non-empty list of non-empty str, the sentences of one document.

  Raises:
    ValueError: nothing matches, or a file is not text; FileNotFoundError: a
      file does not exist.
  """
  for is_tfds, names in itertools.groupby(
    documents.checked_list(input_files), tfds_documents.is_source
  ):
    if is_tfds:
      for name in names:
        yield from tfds_documents.iter_documents(name)
    else:
      for chunk in documents.open_chunks(list(names), input_format):
        yield from documents.read_chunk(chunk)
