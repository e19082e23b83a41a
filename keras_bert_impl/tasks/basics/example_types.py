"""Examples of fine-tuning: texts with labels, as in the files."""

import dataclasses

# Between the labels of a text that may have several, in files.
LABEL_SEPARATOR = "|"


def _origin():
  """Returns the field of an example's place in a file.

  It is not in the text that tells examples apart, because files may move.
  """
  return dataclasses.field(default="", repr=False)


class _Example:
  """Base class of examples. Abstract.

  Attributes:
    truth: str, the field that is None where the truth is not known; None where
      it always is.
  """

  truth = None

  @property
  def is_labelled(self):
    """Whether it can be learned or scored."""
    return self.truth is None or getattr(self, self.truth) is not None


@dataclasses.dataclass(frozen=True)
class TextExample(_Example):
  """A text or a pair of texts, and its label.

  Attributes:
    id: str, its name in the files of predictions.
    text: str; may be empty.
    text_pair: str, or None if it is no pair.
    label: str, the name of the class; tuple of str, all labels that apply, of
      several at once; float, the score; or None if unknown.
    origin: str, "file:row", for messages.
  """

  id: str
  text: str
  text_pair: str | None = None
  label: str | tuple[str, ...] | float | None = None
  origin: str = _origin()

  truth = "label"


@dataclasses.dataclass(frozen=True)
class WeightedTextExample(TextExample):
  """A text whose loss counts `weight` times, a float from 0 on."""

  weight: float = 1.0

  @classmethod
  def of(cls, example, weight):
    """Returns a `TextExample` that counts `weight` times as much as before."""
    weight *= getattr(example, "weight", 1.0)
    return cls(**vars(example) | {"weight": weight})


@dataclasses.dataclass(frozen=True)
class MultipleChoiceExample(_Example):
  """A text and the choices for it.

  Attributes:
    id: str, its name in the files of predictions.
    text: str, what the choices continue or answer.
    choices: tuple of str.
    label: int, the right one, from 0; or None if unknown.
    origin: str, "file:row", for messages.
  """

  id: str
  text: str
  choices: tuple[str, ...]
  label: int | None = None
  origin: str = _origin()

  truth = "label"


@dataclasses.dataclass(frozen=True)
class TaggedSentence(_Example):
  """A sentence as tokens, and their tags.

  Attributes:
    tokens: tuple of str.
    tags: tuple of str as in the file, of any scheme, or of the entities
      themselves, `metrics.tagging.Entity`, which may nest; None where unknown.
    document: hashable; the sentences of a document stand together. None for a
      sentence that is a document of its own.
    origin: str, file and row of the first token, for messages.
  """

  tokens: tuple[str, ...]
  tags: tuple[str, ...] | None = None
  document: str | None = None
  origin: str = _origin()

  truth = "tags"


@dataclasses.dataclass(frozen=True)
class QuestionExample(_Example):
  """A question about a text.

  Attributes:
    id: str.
    question: str.
    context: str.
    answers: tuple of (text, first character), None for a character that is not
      known; None where there are no labels; empty if it has no answer.
    title: str, of the article the context is from.
    origin: str, file and place, for messages.
  """

  id: str
  question: str
  context: str
  answers: tuple | None = None
  title: str = ""
  origin: str = _origin()

  truth = "answers"


@dataclasses.dataclass(frozen=True)
class EmbeddingExample(_Example):
  """Texts whose vectors are to be near or far, or like to some degree.

  Attributes:
    id: str, its name in files of predictions.
    anchor: str, such as a question; None for a document that is only searched.
    others: tuple of str: a positive and any number of negatives; or the second
      of two texts with a score.
    score: float, how like two texts are; None without.
    grade: float, how relevant the positive is, above 0 if it is at all.
    origin: str, "file:row", for messages.
    names: tuple of str, what its data set calls each of `texts`; () where that
      names none.
  """

  id: str
  anchor: str | None
  others: tuple[str, ...]
  score: float | None = None
  grade: float = 1.0
  origin: str = _origin()
  names: tuple[str, ...] = dataclasses.field(default=(), repr=False)

  @property
  def texts(self):
    """All of its texts, tuple of str."""
    return tuple(text for _, text in self.keys)

  @property
  def keys(self):
    """(kind, text) of each text, "query" or "document"."""
    anchor = () if self.anchor is None else (("query", self.anchor),)
    return (*anchor, *(("document", text) for text in self.others))


@dataclasses.dataclass(frozen=True)
class RankingExample(_Example):
  """A query and documents, which are to be put in order.

  Attributes:
    id: str, its name in files of predictions.
    query: str.
    documents: tuple of str.
    grades: tuple of float, how relevant each is, above 0 if it is at all.
    missing_grades: tuple of float, grades of relevant documents that are not
      among these.
    origin: str, "file:row", for messages.
  """

  id: str
  query: str
  documents: tuple[str, ...]
  grades: tuple[float, ...]
  missing_grades: tuple[float, ...] = ()
  origin: str = _origin()
