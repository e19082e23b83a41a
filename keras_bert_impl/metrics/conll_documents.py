"""Documents of CoNLL-2012: a word on each line, clusters of mentions.

  #begin document (bc/cctv/00/cctv_0000); part 000
  bc/cctv/00/cctv_0000  0  0  Ada   NNP  ...  (3
  bc/cctv/00/cctv_0000  0  1  King  NNP  ...  3)|(4)
  #end document

Blanks or tabs stand between the columns. The fourth one is the word, the last
one the mentions that begin and end there, by the numbers of their clusters;
with 12 columns and more, the tenth one is who speaks. Files to be scored may
have the first and the last one alone. An empty line ends a sentence.

Source: Pradhan et al. 2012.
"""

import collections
import dataclasses
import re

from keras_bert_impl import files

_BEGIN, _END = "#begin document", "#end document"
_NAME = re.compile(re.escape(_BEGIN) + r" \((.*?)\);?(?:.*part (\d+))?")
_MENTION = re.compile(r"(\()?([^()|]+)(\))?")
_PART = re.compile(r"(.*?)(?: (\d+))?")
_NOTHING = ("-", "_", "*")
_WORD, _SPEAKER, _FEWEST = 3, 9, 12


@dataclasses.dataclass(frozen=True)
class Document:
  """A document and its clusters.

  Attributes:
    name: str, with its part.
    sentences: tuple of tuples of str, the words; "" where there are none.
    clusters: list of clusters, lists of mentions (start, end), the numbers of
      the first word and the one after the last, from 0 in the document.
    speakers: tuple of str, of each word; "" where nobody is known to speak.
    origin: str, file and row of its first line, for messages.
  """

  name: str
  sentences: tuple
  clusters: list = dataclasses.field(default_factory=list)
  speakers: tuple = ()
  origin: str = ""


def read(path):
  """Reads the documents of a file, list of `Document`.

  Args:
    path: str, local or gs://..., UTF-8.

  Raises:
    FileNotFoundError: there is no such file.
    ValueError: it is not UTF-8, has no document, or a row is wrong; names file
      and row.
  """
  content = files.decode(files.read_bytes(path, "File of documents"), path)
  documents, reader = [], None
  for number, line in enumerate(content.split("\n"), start=1):
    line, origin = line.strip(), f"{path}:{number}"
    if line.startswith(_BEGIN) and reader is None:
      name = _NAME.match(line)
      name = " ".join(filter(None, name.groups())) if name else line
      reader = _Reader(name, origin)
    elif line == _END and reader is not None:
      documents.append(reader.document())
      reader = None
    elif reader is not None and not line.startswith(_BEGIN):
      reader.add(line, origin)
    elif line:
      raise ValueError(
        f"{origin}: {line[:40]!r} must stand between {_BEGIN} (name); part 000"
        f" and {_END}, of one document each: add what is missing."
      )
  if reader is not None:
    raise ValueError(f"{reader.origin}: the document has no {_END}: add it.")
  if not documents:
    raise ValueError(f"{path} has no documents: give a file with some.")
  return documents


class _Reader:
  """Reads the lines of a document.

  Args:
    name: str.
    origin: str, file and row of its first line.
  """

  def __init__(self, name, origin):
    self._name, self.origin = name, origin
    self._sentences, self._speakers = [[]], []
    self._clusters, self._open = {}, {}

  def add(self, line, origin):
    """Reads a line; raises ValueError if it is wrong."""
    if not line:
      self._sentences.append([])
    if not line or line.startswith("#"):
      return
    columns = re.split(r"[ \t]+", line)
    if len(columns) < 2:
      raise ValueError(
        f"{origin}: one column, but must have document, part, number, word,"
        " ..., mentions; or document and mentions alone, to be scored."
      )
    place = len(self._speakers)
    has_words = len(columns) > _WORD + 1
    self._sentences[-1].append(columns[_WORD] if has_words else "")
    speaker = columns[_SPEAKER] if len(columns) >= _FEWEST else "-"
    self._speakers.append("" if speaker in _NOTHING else speaker)
    if columns[-1] not in _NOTHING:
      self._add_mentions(columns[-1], place, origin)

  def _add_mentions(self, column, place, origin):
    found = _MENTION.findall(column)
    if not found or not all(begins or ends for begins, _, ends in found):
      raise ValueError(
        f"{origin}: the last column ({column!r}) must be - or mentions such as"
        " (3, 3), (3) and (3|4)."
      )
    for begins, cluster, ends in found:
      if begins:
        self._open.setdefault(cluster, []).append((place, origin))
        self._clusters.setdefault(cluster, [])
      if ends and not self._open.get(cluster):
        raise ValueError(
          f"{origin}: {cluster}) closes a mention that is not open: write"
          f" ({cluster} at its first word."
        )
      if ends:
        start, _ = self._open[cluster].pop()
        self._clusters[cluster].append((start, place + 1))

  def document(self):
    """Returns the `Document`; raises ValueError if it is wrong."""
    for cluster, places in self._open.items():
      for _, origin in places:
        raise ValueError(
          f"{origin}: the mention ({cluster} is not closed in its document:"
          f" write {cluster}) at its last word."
        )
    if not self._speakers:
      raise ValueError(f"{self.origin}: the document is empty: leave it out.")
    return Document(
      self._name,
      tuple(map(tuple, filter(None, self._sentences))),
      list(self._clusters.values()),
      tuple(self._speakers),
      self.origin,
    )


def lines_of(name, sentences, clusters):
  """Returns the lines of a document with clusters, list of str.

  Args:
    name: str, as of `Document`; one that ends with a number has a part.
    sentences: sequence of sequences of str.
    clusters: list of lists of (start, end).
  """
  begins, ends = collections.defaultdict(list), collections.defaultdict(list)
  mentions = [(m, k) for k, cluster in enumerate(clusters) for m in cluster]
  for (start, end), number in sorted(mentions, key=lambda x: -x[0][1]):
    begins[start].append(f"({number}" + ")" * (end == start + 1))
  for (start, end), number in sorted(mentions, key=lambda x: -x[0][0]):
    ends[end - 1] += [f"{number})"] * (end > start + 1)
  name, part = _PART.fullmatch(name).groups("000")
  lines, place = [f"{_BEGIN} ({name}); part {part}"], 0
  for words in sentences:
    for number, word in enumerate(words):
      found = "|".join([*begins[place], *ends[place]]) or "-"
      columns = (name, str(int(part)), str(number), word, *7 * "-", found)
      lines.append("\t".join(columns))
      place += 1
    lines.append("")
  return [*lines, _END, ""]
