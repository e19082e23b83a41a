"""Documents from TensorFlow Datasets.

A source is written `tfds:NAME[?split=SPLIT&feature=FEATURE&data_dir=DIR]`, for
example `tfds:wikipedia/20230601.en?split=train[:1%]`. Every example is a
document; its lines are paragraphs, which are split into sentences. Of Wikipedia
(`wikipedia`, `wiki40b`) only running text is kept; see wikipedia.py.
"""

import dataclasses
import re
import urllib.parse

from tfrecords.text import sentences, wikipedia

SCHEME = "tfds:"

# Wiki-40B marks its structure with special words in the text.
_HEADING = re.compile(r"_START_(?:ARTICLE|SECTION)_\s*[^\n]*")
_PARAGRAPH = "_START_PARAGRAPH_"
_NEWLINE = "_NEWLINE_"


@dataclasses.dataclass(frozen=True)
class Source:
  """A text feature of a split of a data set.

  Attributes:
    name: str, for tfds.builder: data set, configuration, version.
    split: str, "train", "train[:1%]", "train+test", ...
    feature: str, name of the text feature.
    data_dir: str or None, folder of prepared data sets.
  """

  name: str
  split: str = "train"
  feature: str = "text"
  data_dir: str | None = None


def is_source(name):
  """Returns whether `name` is a data set's and not a file's."""
  return name.startswith(SCHEME)


def parse(source):
  """Returns the `Source` that a string describes.

  Raises:
    ValueError: there is no name, or an unknown option.
  """
  name, _, query = source.removeprefix(SCHEME).partition("?")
  # A "+" joins splits here; it does not mean a space.
  query = query.replace("+", "%2B")
  options = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
  known = [field.name for field in dataclasses.fields(Source)[1:]]
  unknown = sorted(set(options) - set(known))
  if unknown or not name:
    fault = f"unknown option {unknown[0]!r}" if unknown else "no data set"
    form = "&".join(f"{key}=..." for key in known)
    raise ValueError(
      f"input file {source!r}: {fault}; write {SCHEME}NAME?{form}."
    )
  return Source(name, **options)


def open_builder(source, beam_options=None):
  """Returns the builder of a source; downloads and prepares it if necessary.

  Args:
    source: str, see the top of this file.
    beam_options: PipelineOptions of Apache Beam, for data sets that Beam
      generates; None: the defaults of TensorFlow Datasets.

  Raises:
    ValueError: the data set does not exist.
  """
  # Slow to import and needed for this kind of source only.
  import tensorflow_datasets as tfds

  wanted = parse(source)
  try:
    builder = tfds.builder(wanted.name, data_dir=wanted.data_dir)
  except tfds.core.DatasetNotFoundError as error:
    raise ValueError(
      f"data set {wanted.name!r} of {source} is not known to "
      "tensorflow_datasets; see tfds.list_builders()."
    ) from error
  builder.download_and_prepare(
    download_config=tfds.download.DownloadConfig(beam_options=beam_options)
  )
  return builder


def iter_documents(source):
  """Yields the documents of a source; downloads and prepares it if necessary.

  Args:
    source: str, see the top of this file.

  Yields:
    non-empty list of str sentences.

  Raises:
    ValueError: the data set, the split or the text feature does not exist.
  """
  # Slow to import and needed for this kind of source only.
  import tensorflow_datasets as tfds

  wanted = parse(source)
  builder = open_builder(source)
  feature = dict(builder.info.features).get(wanted.feature)
  if not isinstance(feature, tfds.features.Text):
    features = builder.info.features.items()
    texts = [k for k, v in features if isinstance(v, tfds.features.Text)]
    raise ValueError(
      f"feature {wanted.feature!r} of {source} is not a text; text features of "
      f"{wanted.name}: {', '.join(texts) or 'none'}."
    )
  decoders = tfds.decode.PartialDecoding({wanted.feature})
  examples = builder.as_dataset(
    split=wanted.split, shuffle_files=False, decoders=decoders
  )
  for example in examples.as_numpy_iterator():
    document = split_text(
      example[wanted.feature].decode("utf-8", "ignore"), wanted.name
    )
    if document:
      yield document


def split_text(text, name=""):
  """Returns the sentences of a text whose lines are paragraphs, list of str.

  Args:
    text: str.
    name: str, the data set; of Wikipedia only running text is kept.
  """
  # Titles and headings of Wiki-40B follow marks of their own.
  text = _HEADING.sub("\n", text).replace(_PARAGRAPH, "\n")
  text = text.replace(_NEWLINE, "\n")
  if wikipedia.is_data_set(name):
    return wikipedia.split_passages(text)
  return [
    sentence
    for line in text.split("\n")
    for sentence in sentences.split_sentences(line)
  ]
