"""Documents with clusters of mentions, and their files.

  .jsonl     an object on each line: "sentences", lists of words; "clusters",
             lists of mentions [first, last], the numbers of their words in the
             document, from 0; and, where known, "speakers", lists like those of
             the words, and "doc_key".
  .tsv       GAP: a text, a pronoun in it and two names that it may mean.
  any other  CoNLL-2012, as `metrics.conll_documents` reads it.

A name that begins as OntoNotes' do, such as nw/xinhua, tells the genre.
"""

import dataclasses
import functools
import itertools
import json
import re

from keras_bert_impl import files
from keras_bert_impl.kinds.coreference import coreference_rows
from keras_bert_impl.metrics import conll_documents
from tfrecords.labelled import table_files

_GENRE = re.compile(r"([a-z]{2})/")


@dataclasses.dataclass(frozen=True)
class GapQuestion:
  """What GAP asks of a text; mentions are (start, end) in words.

  Attributes:
    name: str, its ID.
    pronoun: str.
    mention: tuple, the pronoun's.
    names: two of them, those of the names.
    is_meant: two bool, whether the pronoun means them.
  """

  name: str
  pronoun: str
  mention: tuple
  names: tuple
  is_meant: tuple


@dataclasses.dataclass(frozen=True)
class CoreferenceDocument:
  """A document as sentences of words, and its clusters.

  Attributes:
    sentences: tuple of tuples of str.
    clusters: tuple of tuples of mentions (start, end), the numbers of the first
      word and the one after the last; None where they are unknown.
    speakers: tuple of str, of each word, "" for nobody; may be empty.
    name: str; it may begin with a genre.
    gap: `GapQuestion` or None.
    origin: str, file and row, for messages.
  """

  sentences: tuple
  clusters: tuple | None = None
  speakers: tuple = ()
  name: str = "document"
  gap: GapQuestion | None = None
  origin: str = dataclasses.field(default="", repr=False)

  @property
  def genre(self):
    """Genre of OntoNotes, str; "" for none."""
    found = _GENRE.match(self.name)
    return found[1] if found else ""

  @property
  def is_labelled(self):
    """Whether the clusters are known."""
    return self.clusters is not None

  @functools.cached_property
  def words(self):
    """The words, list of str."""
    return [*itertools.chain.from_iterable(self.sentences)]

  @property
  def ends_sentence(self):
    """Whether a sentence ends at each word, list of bool."""
    return [
      number == len(sentence)
      for sentence in self.sentences
      for number in range(1, len(sentence) + 1)
    ]


def make(sentences, clusters, speakers, name, place):
  """Returns a document of lists, such as jsonlines and Python have.

  Args:
    sentences: list of lists of str.
    clusters: list of lists of [first, last], or None.
    speakers: list of lists of str, or None.
    name: str.
    place: str, where they stand, for messages.

  Raises:
    ValueError: there are no words, or something does not fit them.
  """
  sentences = _lists(sentences, str, f"{place}: sentences")
  sentences = tuple(tuple(words) for words in sentences if words)
  size = sum(map(len, sentences))
  if not size:
    raise ValueError(f"{place}: the document is empty: leave it out.")
  spoken = _lists(speakers or [], str, f"{place}: speakers")
  spoken = tuple("" if x == "-" else x for x in itertools.chain(*spoken))
  if spoken and len(spoken) != size:
    raise ValueError(
      f"{place}: {len(spoken)} speakers of {size} words: give one for each."
    )
  if clusters is not None:
    clusters = tuple(
      tuple(_mention(mention, size, place) for mention in cluster)
      for cluster in _lists(clusters, list | tuple, f"{place}: clusters")
    )
  return CoreferenceDocument(sentences, clusters, spoken, name, origin=place)


def _lists(value, kind, place):
  """Returns a list of lists of values of a type, which it is checked to be."""
  is_list = isinstance(value, list | tuple)
  if not is_list or not all(
    isinstance(inner, list | tuple) and all(isinstance(x, kind) for x in inner)
    for inner in value
  ):
    what = "words" if kind is str else "mentions [first, last]"
    shown = repr(value)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    raise ValueError(f"{place} ({shown}) must be a list of lists of {what}.")
  return value


def _mention(value, size, place):
  """Returns (start, end) of [first, last]."""
  is_pair = len(value) == 2 and all(type(x) is int for x in value)
  if not is_pair or not 0 <= value[0] <= value[1] < size:
    raise ValueError(
      f"{place}: the mention {value!r} must be [first, last], two numbers of"
      f" words from 0 to {size - 1}."
    )
  return value[0], value[1] + 1


def read(path):
  """Reads the documents of a file, list of `CoreferenceDocument`.

  Args:
    path: str, local or gs://..., UTF-8.

  Raises:
    FileNotFoundError: there is no such file.
    ValueError: it is not UTF-8, has no document, or a row is wrong; names file
      and row.
  """
  if path.endswith(".tsv"):
    return _read_gap(path)
  if path.endswith((".jsonl", ".jsonlines")):
    return _read_lines(path)
  documents = conll_documents.read(path)
  # A file without any mention is one to be predicted.
  is_labelled = any(document.clusters for document in documents)
  return [_of_conll(document, is_labelled) for document in documents]


def _of_conll(document, is_labelled):
  if not all(itertools.chain(*document.sentences)):
    raise ValueError(
      f"{document.origin}: the document has no words: give files with the"
      " columns document, part, number, word, ..., mentions."
    )
  return CoreferenceDocument(
    document.sentences,
    tuple(map(tuple, document.clusters)) if is_labelled else None,
    document.speakers,
    document.name,
    origin=document.origin,
  )


def _read_lines(path):
  content = files.decode(files.read_bytes(path, "File of documents"), path)
  documents = []
  for number, line in enumerate(content.split("\n"), start=1):
    place = f"{path}:{number}"
    if not line.strip():
      continue
    try:
      record = json.loads(line)
    except json.JSONDecodeError as error:
      raise ValueError(
        f"{place}: {error.msg}: write one JSON object."
      ) from None
    if not isinstance(record, dict) or "sentences" not in record:
      raise ValueError(f'{place}: the line must be an object with "sentences".')
    name = str(record.get("doc_key", f"line {number}"))
    columns = (record.get(x) for x in ("sentences", "clusters", "speakers"))
    documents.append(make(*columns, name, place))
  if not documents:
    raise ValueError(f"{path} has no documents: give a file with some.")
  return documents


def _read_gap(path):
  rows = table_files.read(path)
  columns = coreference_rows.split([row.value("Text") for row in rows])
  columns = zip(*(column.to_list() for column in columns), strict=True)
  return [_of_gap(row, *each) for row, each in zip(rows, columns, strict=True)]


def _of_gap(row, words, starts, ends, ends_sentence):
  """Returns the document of a `table_files.Row` of GAP and of its words."""

  def mention(column):
    text, start = row.value(column), row.value(f"{column}-offset")
    stop = int(start) + len(text) if start.isdecimal() else -1
    inside = [k for k in range(len(words)) if int(start) <= starts[k] < stop]
    if not inside or ends[inside[-1]] > stop:
      raise ValueError(
        f"{row.origin}: {column} ({text!r}) must stand in the text, whole"
        f" words from character {column}-offset ({start}) on."
      )
    return inside[0], inside[-1] + 1

  words = [word.decode() for word in words]
  stops = [k for k, is_end in enumerate(ends_sentence, start=1) if is_end]
  stops = dict.fromkeys([0, *stops, len(words)])
  sentences = tuple(tuple(words[a:b]) for a, b in itertools.pairwise(stops))
  pronoun, names = mention("Pronoun"), (mention("A"), mention("B"))
  # Without these columns what the pronoun means is unknown.
  labels = [row.values.get(f"{name}-coref", "") for name in "AB"]
  is_meant = tuple(label.upper() == "TRUE" for label in labels)
  meant = [name for name, is_so in zip(names, is_meant, strict=True) if is_so]
  name = row.value("ID")
  return CoreferenceDocument(
    sentences,
    ((*meant, pronoun),) if all(labels) else None,
    name=name,
    gap=GapQuestion(name, row.value("Pronoun"), pronoun, names, is_meant),
    origin=row.origin,
  )
