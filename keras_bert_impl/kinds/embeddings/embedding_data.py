"""Reads examples of text vectors: pairs, triplets, scored pairs, retrieval.

a table    (`table_files`) a column for each text, the anchor first, and maybe
           one of scores; or premises, hypotheses and the labels of NLI, of
           which triplets are made. One text alone is a pair with itself.
BEIR       a folder with corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv
SQuAD      a JSON file of questions (`squad_files`): each with its paragraph
"""

import collections
import dataclasses
import os

from keras_bert_impl import files
from keras_bert_impl.kinds.answers import squad_files
from keras_bert_impl.kinds.texts import classification_data
from keras_bert_impl.tasks.basics import example_types
from tfrecords.labelled import data_sets, table_files

_CORPUS, _QUERIES = "corpus.jsonl", "queries.jsonl"
# Labels of NLI, as data sets spell them.
_ENTAILED, _CONTRADICTED = "entailment", ("contradiction", "contradictory")
_NLI = {_ENTAILED, "neutral", *_CONTRADICTED}
_UNDECIDED = ("", "-")  # where annotators did not agree
_SPLITS = {"train": ("train",), "dev": ("dev", "test"), "test": ("test",)}


@dataclasses.dataclass(frozen=True)
class Columns:
  """Columns of a table.

  Attributes:
    texts: tuple of str, the anchor first; empty for all but the label.
    label: str, of scores or of the labels of NLI; need not be there.
    names: tuple of str, of all columns of files that do not name them; or None.
  """

  texts: tuple[str, ...] = ()
  label: str = "label"
  names: tuple[str, ...] | None = None


def read(path, columns=None, split="train"):
  """Returns the examples of a file or folder, list of `EmbeddingExample`.

  Args:
    path: str, as above; of tables also "tfds:...".
    columns: `Columns`.
    split: "train", "dev" or "test", of a folder of BEIR.

  Raises:
    FileNotFoundError: there is no such file.
    ValueError: it is malformed; names file and row.
  """
  if files.is_folder(path):
    examples = read_judged(path, split)
    judged = {example.names[1] for example in examples}
    return examples + [
      example_types.EmbeddingExample(
        name, None, (text,), origin=f"{path}:{name}", names=(name,)
      )
      for name, text in beir_documents(path)
      if name not in judged
    ]
  if _is_squad(path):
    return [
      example(e.id, (e.question, e.context), e.origin)
      for e in squad_files.read(path)
    ]
  columns = columns or Columns()
  rows = table_files.read(path, columns.names)
  if not rows:
    raise ValueError(f"{path} has no rows: check the file.")
  if not columns.texts:
    _check_texts(path, rows, columns)
  labels = {row.values.get(columns.label, "").strip() for row in rows}
  if labels - {*_UNDECIDED} and labels <= _NLI | {*_UNDECIDED}:
    return _triplets(rows, columns)
  return with_themselves(
    [
      example(str(number), _texts(row, columns), row.origin, score)
      for number, row in enumerate(rows)
      for score in [_score(row, columns.label)]
    ]
  )


def read_corpus(path, columns=None):
  """Returns the documents of a file or folder to search, without questions.

  Args: as of `corpus_texts`.
  """
  return documents(corpus_texts(path, columns), path)


def corpus_texts(path, columns=None):
  """Yields the texts to search of a file or folder, without questions.

  Args:
    path: str, a folder of BEIR; a file of SQuAD, or a table, whose last column
      of text is taken. Of BEIR, and of .jsonl whose columns of texts are named,
      one text at a time is in memory.
    columns: `Columns`.
  """
  if files.is_folder(path):
    yield from (text for _, text in beir_documents(path))
  elif path.endswith(".jsonl") and columns and columns.texts:
    for row in table_files.iterate(path):
      yield example("", _texts(row, columns), row.origin).texts[-1]
  else:
    yield from (e.others[-1] for e in read(path, columns))


def beir_documents(folder):
  """Yields (id, text) of the documents of a folder of BEIR.

  Raises:
    ValueError: an id is there twice; names the line.
  """
  return _beir_texts(folder, _CORPUS)


def documents(texts, origin):
  """Returns texts to search, each once, list of `EmbeddingExample`."""
  return [
    example_types.EmbeddingExample(
      f"{origin}:{number}", None, (text,), origin=f"{origin}:{number}"
    )
    for number, text in enumerate(dict.fromkeys(texts))
  ]


def check_training(examples, loss, name):
  """Returns the examples that a loss can learn from.

  Args:
    examples: list of `EmbeddingExample`; documents without anchor, and pairs of
      grade 0, are left out.
    loss: `losses.Loss`.
    name: str, of the loss, for messages.

  Raises:
    ValueError: they are not of the kind of the loss, or too few, or all the
      same; names file and row.
  """
  examples = [e for e in examples if e.anchor is not None and e.grade > 0]
  if len(examples) < 2:
    raise ValueError(
      f"the training data have {len(examples)} examples with two texts, but"
      " vectors learn from their differences: give at least two."
    )
  number = len(examples[0].texts)
  for example in examples:
    if len(example.texts) != number:
      raise ValueError(
        f"{example.origin} has {len(example.texts)} texts, but must have"
        f" {number} like {examples[0].origin}."
      )
    if loss.reads_scores and example.score is None:
      raise ValueError(
        f"{example.origin} has no score, which loss={name} learns: name its"
        " column with --label_column, or give --loss=in_batch."
      )
    if example.score is not None and not loss.reads_scores:
      raise ValueError(
        f"{example.origin} has a score, which loss={name} does not learn: leave"
        " the scores out, or give --loss=cosent."
      )
    if name == "cosine" and not -1 <= example.score <= 1:
      raise ValueError(
        f"{example.origin} has the score {example.score:g}, but loss=cosine"
        " needs scores from -1 to 1: divide them by the highest, or give"
        " --loss=cosent."
      )
  if not loss.num_texts <= number <= (loss.most_texts or number):
    raise ValueError(
      f"{examples[0].origin} has {number} texts, but loss={name} learns from"
      f" {loss.texts}."
    )
  _check_differences(examples, loss, name)
  return examples


def check_relevant(examples):
  """Raises ValueError unless a document is relevant to a query.

  Args:
    examples: list of `EmbeddingExample`: by their scores, or else grades.
  """
  grades = [
    e.grade if e.score is None else e.score for e in examples if e.anchor
  ]
  if examples and all(grade <= 0 for grade in grades):
    raise ValueError(
      f"{examples[0].origin} has no relevant document, nor has any other query:"
      " give some a grade or score above 0."
    )


def check_searched(examples, others):
  """Reads texts to search beside examples once, and raises their errors.

  Args:
    examples: list of `EmbeddingExample`.
    others: list of functions that return iterables of texts.

  Raises:
    ValueError: the examples have scores and are not searched for; or a file is
      malformed.
  """
  for read_texts in others:
    for _ in read_texts():
      if examples[0].score is not None:
        raise ValueError(
          f"{examples[0].origin} has a score, so nothing is searched: leave the"
          " corpus out."
        )


def in_proportions(examples_of_files, weights):
  """Returns the examples of several files, each as often as its weight says.

  Args:
    examples_of_files: list of lists.
    weights: list of as many float above 0: 2 takes every example twice, 0.5 a
      half of them, the same at each call; None for 1 each.
  """
  result = []
  weights = weights or [1.0] * len(examples_of_files)
  for examples, weight in zip(examples_of_files, weights, strict=True):
    times, share = divmod(weight, 1)
    result += int(times) * examples
    if round(share * len(examples)):
      result += data_sets.hold_out(examples, share)[1]
  return result


def _check_differences(examples, loss, name):
  """Raises ValueError if there is nothing to tell apart."""
  if loss.reads_scores:
    if name != "cosine" and len({e.score for e in examples}) < 2:
      raise ValueError(
        f"all scores are {examples[0].score:g}, but loss={name} learns their"
        " order: give pairs of different scores."
      )
  elif len({text for e in examples for text in e.others}) < 2:
    raise ValueError(
      f"all positives are {examples[0].others[0]!r}, but vectors learn from"
      " differences: give different ones."
    )


def with_themselves(examples):
  """Returns examples; where each is a text alone, as pairs with themselves.

  Args:
    examples: list of `EmbeddingExample`, not empty.

  Raises:
    ValueError: some are a text alone, others not; names the first.
  """
  alone = [e for e in examples if not e.others]
  if alone and len(alone) < len(examples):
    raise ValueError(
      f"{alone[0].origin} has one text, but others have more: give each a"
      " second one."
    )
  return [dataclasses.replace(e, others=(e.anchor,)) for e in alone] or examples


def example(name, texts, origin, score=None, grade=1.0):
  """Returns an `EmbeddingExample`.

  Args:
    name: str.
    texts: list of str, the anchor first; maybe it alone.
    origin: str, for messages.
    score: float, or None.
    grade: float.

  Raises:
    ValueError: a text is empty; names file and row.
  """
  for text in texts:
    if not text.strip():
      raise ValueError(
        f"{origin} has an empty text: remove the row, or name the columns of"
        " texts with --text_columns."
      )
  anchor, *others = texts
  return example_types.EmbeddingExample(
    name, anchor, tuple(others), score, grade, origin
  )


def _is_squad(path):
  """Whether a JSON file has SQuAD's layout."""
  if not path.lower().endswith(".json"):
    return False
  start = files.read_bytes(path, "Data file").lstrip()[:200]
  return start[:1] == b"{" and (b'"data"' in start or b'"version"' in start)


def _texts(row, columns):
  """Returns the texts of a row, the anchor first."""
  names = columns.texts or [k for k in row.values if k != columns.label]
  if not names:
    raise ValueError(f"{row.origin} has no column of texts.")
  return [row.value(name, "text_columns") for name in names]


def _check_texts(path, rows, columns):
  """Raises ValueError if a column that nobody named holds no texts."""
  for name in rows[0].values:
    values = {row.values.get(name, "").strip() for row in rows} - {*_UNDECIDED}
    if name == columns.label or not values:
      continue
    what = None
    if values <= _NLI:
      what = "labels: give --label_column"
    # Most, so that a single wrong one does not make texts of scores.
    elif 2 * sum(map(is_number, values)) > len(values):
      what = "numbers: give --label_column if they are scores"
    if what:
      raise ValueError(
        f"The column {name!r} of {path} holds {what}, or name the columns of"
        " texts with --text_columns."
      )


def is_number(text):
  """Returns whether a str is written like a number."""
  try:
    float(text)
  except ValueError:
    return False
  return True


def _score(row, column):
  """Returns the score of a row, or None if there is no such column."""
  text = row.values.get(column)
  if text is None:
    return None
  return classification_data.score_of(text, row.origin)


def _triplets(rows, columns):
  """Returns premise, entailed and contradicting hypothesis, of NLI.

  Premises that lack one of these are left out. Source: Gao et al. 2021, SimCSE,
  section 4.
  """
  by_premise = collections.defaultdict(lambda: ({}, {}))
  for row in rows:
    premise, hypothesis, *_ = _texts(row, columns)
    label = row.value(columns.label).strip()
    if label == _ENTAILED:
      by_premise[premise][0][hypothesis] = row.origin
    elif label in _CONTRADICTED:
      by_premise[premise][1][hypothesis] = row.origin
  triplets = []
  for premise, (entailed, contradicted) in by_premise.items():
    for (positive, origin), negative in zip(
      entailed.items(), contradicted, strict=False
    ):
      texts = (premise, positive, negative)
      triplets.append(example(str(len(triplets)), texts, origin))
  if not triplets:
    raise ValueError(
      f"{rows[0].origin.rpartition(':')[0]} has no premise with an entailed and"
      " a contradicting hypothesis."
    )
  return triplets


def read_judged(folder, split):
  """Returns the judged pairs of a folder of BEIR, list of `EmbeddingExample`.

  Args:
    folder: str.
    split: as of `read`.

  Raises: as `read`.
  """
  paths = [
    os.path.join(folder, "qrels", f"{name}.tsv") for name in _SPLITS[split]
  ]
  path = next(filter(files.exists, paths), None)
  if path is None:
    raise FileNotFoundError(f"There is none of {', '.join(paths)}.")
  rows = table_files.read(path)
  judged = {row.value("corpus-id") for row in rows}
  queries = dict(_beir_texts(folder, _QUERIES))
  corpus = {k: text for k, text in beir_documents(folder) if k in judged}
  examples = []
  for row in rows:
    query, document = row.value("query-id"), row.value("corpus-id")
    for name, known, file in (
      (query, queries, _QUERIES),
      (document, corpus, _CORPUS),
    ):
      if name not in known:
        raise ValueError(f"{row.origin} has the id {name!r}, not in {file}.")
    grade = classification_data.score_of(row.value("score"), row.origin)
    texts = (queries[query], corpus[document])
    pair = example(query, texts, row.origin, grade=grade)
    examples.append(dataclasses.replace(pair, names=(query, document)))
  return examples


def _beir_texts(folder, name):
  """Yields (id, text) of a file, with the title before a text."""
  known = set()
  for row in table_files.iterate(os.path.join(folder, name)):
    title, own = row.values.get("title", ""), row.value("_id")
    if own in known:
      raise ValueError(
        f"{row.origin} has the _id {own!r} of an earlier row: give each one of"
        " its own."
      )
    known.add(own)
    yield own, f"{title} {row.value('text')}".strip()
