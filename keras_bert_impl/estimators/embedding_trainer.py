"""Trains and scores text vectors from Python, for `TextEncoder`."""

import os

import keras
import numpy as np

from keras_bert_impl import files, heads
from keras_bert_impl.estimators import estimator, records
from keras_bert_impl.runs.fine_tuning import sentence_folder, task_parts
from keras_bert_impl.runs.labelled_data import task_options
from keras_bert_impl.sentences import folder_models, folders
from tfrecords.labelled import embedding_data

# Keys of an example, and settings that name columns of a file.
FIELDS = ("texts", "anchor", "positive", "negative", "score")
COLUMNS = ("text_columns", "label_column")
_START = "start"  # in the folder of a run, what it begins with


class EmbeddingTrainer(estimator.Estimator):
  """Trains the folder of a sentence encoder.

  An example is a str; a tuple of texts, the anchor first; two texts and a
  number; or a dict with the keys anchor, positive, and negative (a str or a
  list) or score.
  """

  head = heads.ENCODER
  _fields = FIELDS
  _columns = COLUMNS
  _options_class = task_options.EmbeddingOptions

  def _answer(self, row):
    return row["embeddings"]

  def _example(self, record, place, number):
    return example_of(record, place, number)

  def _read_file(self, path, **columns):
    return read_file(path, **columns)

  def _parts(self, run, splits, task_options):
    return task_parts.of_embeddings(run, splits, task_options)


def example_of(record, place, number):
  """Returns the `EmbeddingExample` of a record, see `EmbeddingTrainer`."""
  texts = record.get("texts")
  if texts is None:
    negative = record.get("negative", ())
    texts = [record.get("anchor"), record.get("positive")]
    texts += [negative] if isinstance(negative, str) else [*negative]
  texts = [texts] if isinstance(texts, str) else [*texts]
  score = record.get("score")
  if len(texts) == 3 and not isinstance(texts[2], str) and score is None:
    score = texts.pop()
  return embedding_data.example(
    str(number),
    [
      records.checked_text(text, f"{place}[{k}]")
      for k, text in enumerate(texts)
    ],
    place,
    None if score is None else records.number_of(score, f"{place}.score"),
  )


def read_file(path, split="train", text_columns=None, label_column="label"):
  """Returns the examples of a file or folder; see `embedding_data.read`."""
  columns = embedding_data.Columns(tuple(text_columns or ()), label_column)
  return embedding_data.read(path, columns, split)


def examples_of(data, targets=None, corpus=None, split="dev", **columns):
  """Returns the examples to score, list of `EmbeddingExample`.

  Args:
    data: as of `EmbeddingTrainer`, or a path.
    targets: list of scores, or None.
    corpus: list of str, or a path: other texts to search; or None.
    split: "train", "dev" or "test", of a folder of BEIR.
    **columns: text_columns and label_column, of a file.
  """
  if isinstance(data, str | os.PathLike):
    examples = read_file(os.fspath(data), split, **columns)
  else:
    examples = [
      example_of(record, place, number)
      for number, (place, record) in enumerate(
        records.read(data, targets, FIELDS)
      )
    ]
  if isinstance(corpus, str | os.PathLike):
    return examples + embedding_data.read_corpus(os.fspath(corpus))
  return examples + embedding_data.documents(corpus or (), "corpus")


def fit(encoder, data, targets, validation_data, output_dir, settings):
  """Trains a `TextEncoder`, whose model gets the new weights.

  Args:
    encoder: `TextEncoder`.
    data: as `TextEncoder.fit`.
    targets: the same.
    validation_data: the same.
    output_dir: str.
    settings: dict, the same.

  Returns:
    (`keras.callbacks.History`, results: dict, `folders.Texts` of the run).
  """
  start = os.path.join(output_dir, _START)
  _keep_start(encoder, start)
  trainer = EmbeddingTrainer(start, encoder.texts.max_seq_length)
  history = trainer.fit(
    data, targets, validation_data, output_dir=output_dir, **settings
  )
  name = sentence_folder.NAMES[encoder.head]
  trained = folders.read(os.path.join(trainer.checkpoint, name))
  weights = _weights(folder_models.load(trained))
  for weight in encoder.model.weights:
    if weight.path in weights:
      weight.assign(weights[weight.path])
  return history, trainer.results, trained.texts


def vectors_of(encoder, examples, batch_size):
  """Returns the vectors of all texts of examples, in their order, [N, D].

  Args:
    encoder: `TextEncoder`, whose prompts "query" and "document" are put
      before anchors and others.
    examples: list of `EmbeddingExample`.
    batch_size: int.
  """
  keys = []
  for example in examples:
    if example.anchor is not None:
      keys.append(("query", example.anchor))
    keys += [("document", text) for text in example.others]
  vectors = {}
  for kind in ("query", "document"):
    texts = [*dict.fromkeys(text for own, text in keys if own == kind)]
    prompt = encoder.texts.prompts.get(kind, "")
    found = encoder.vectors(texts, prompt, batch_size)
    vectors |= {(kind, text): v for text, v in zip(texts, found, strict=True)}
  return np.stack([vectors[key] for key in keys])


def _keep_start(encoder, path):
  """Writes the folder that a run starts from, or checks that it is there.

  Raises:
    ValueError: that is another model.
  """
  if not files.exists(path):
    encoder.save(path)
    return
  before = _weights(folder_models.load(folders.read(path)))
  for name, weight in _weights(encoder.model).items():
    if name in before and not np.array_equal(weight, before[name]):
      raise ValueError(
        f"output_dir ({os.path.dirname(path)}) holds a run that began with"
        " other weights than the model has: choose another."
      )


def _weights(model):
  """Returns {path: array} of a model."""
  return {w.path: keras.ops.convert_to_numpy(w) for w in model.weights}
