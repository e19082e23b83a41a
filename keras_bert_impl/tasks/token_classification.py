"""Labels for the tokens of sentences: named entities, chunks.

The first piece of a token carries its label; the others have none. A row is
one sentence with as much of its document around it as a row takes, evenly left
and right: Devlin et al. 2019, section 5.3, "the maximal document context
provided by the data". Loss and predictions belong to the sentence alone.

A sentence too long for a row is cut into sliding windows, and each token
counts in the window where it has most context, so nothing is dropped.
"""

import dataclasses
import itertools
import os

import numpy as np
from keras import ops

from keras_bert_impl import features, files, models, pictures
from keras_bert_impl.checkpoints import names
from keras_bert_impl.metrics import tagging
from keras_bert_impl.models import feature_models
from keras_bert_impl.tasks import cross_entropy, fine_tuning, windows
from keras_bert_impl.tokenizers import token_pieces

PREDICTIONS_NAME = "predictions.txt"
REPORT_NAME = "conlleval.txt"

TOKEN_INDEX = "token_index"
EXAMPLE_INDEX = "example_index"
# Of the pieces that are not the first of a token of the sentence.
_NONE = -1


@dataclasses.dataclass(frozen=True)
class TaggedSentence:
  """A sentence as tokens, and their tags.

  Attributes:
    tokens: tuple of str.
    tags: tuple of str as in the file, of any scheme; None where unknown.
    document: hashable; the sentences of a document stand together. None for a
      sentence that is a document of its own.
    origin: str, file and row of the first token, for messages.
  """

  tokens: tuple[str, ...]
  tags: tuple[str, ...] | None = None
  document: str | None = None
  origin: str = ""


def labels_of(sentences):
  """Returns the labels that tagged sentences need, in IOB2.

  "O", then B and I of each type by name: an entity of several tokens can be
  found although training had one of its type with a single token.

  Raises:
    ValueError: no sentence has an entity.
  """
  types = sorted(
    {
      entity.type
      for sentence in sentences
      for entity in tagging.entities_of(sentence.tags)
    }
  )
  if not types:
    raise ValueError(
      "The training sentences have no entities, only O: is it the right column "
      "of tags?"
    )
  tags = [tagging.OUTSIDE]
  for entity_type in types:
    tags += tagging.tags_of([tagging.Entity(0, 2, entity_type)], 2)
  return tuple(tags)


class TokenClassificationTask(fine_tuning.FineTuningTask):
  """Tags tokens; scored by entity as conlleval does.

  The model learns IOB2 whatever the scheme of the files is; files and scores
  are in the latter.

  Args:
    config: `EncoderConfig`.
    max_seq_length: int, most ids of a row.
    labels: tuple of str, of `labels_of`.
    scheme: one of `tagging.SCHEMES`, of the files.
    context: "document", or "sentence" for rows without what is around them.
    doc_stride: int, pieces from one window of a long sentence to the next;
      None for half a window.
    token_unit: what a token is, one of `token_pieces.UNITS`.
    approach: "fine_tuning" for a linear layer on the encoder; "features" for a
      BiLSTM on a frozen one; "fine_tuning_bilstm" for both to be trained.
    features: what the BiLSTM reads, one of `choices.FEATURES`.
    lstm_width: int, size of the BiLSTM's state in each direction.

  Raises:
    ValueError: max_seq_length leaves no room for a piece.
  """

  main_metric = "f1"
  # Those of each type are in the report.
  shown_metrics = ["precision", "recall", "f1", "accuracy"]
  head = names.TOKEN_CLASSIFICATION
  has_token_outputs = True
  columns = {
    features.INPUT_IDS: fine_tuning.Column(),
    features.SEGMENT_IDS: fine_tuning.Column(),
    features.LABEL_IDS: fine_tuning.Column(padding=_NONE),
    TOKEN_INDEX: fine_tuning.Column(padding=_NONE, in_batch=False),
    EXAMPLE_INDEX: fine_tuning.Column(shape=(), in_batch=False),
  }

  def __init__(
    self,
    config,
    max_seq_length,
    labels,
    scheme="IOB2",
    context="document",
    doc_stride=None,
    token_unit=token_pieces.WORD,
    approach="fine_tuning",
    features="last",
    lstm_width=768,
  ):
    super().__init__(config, max_seq_length)
    if max_seq_length < 3:
      raise ValueError(
        f"max_seq_length ({max_seq_length}) must be at least 3: two special "
        "tokens and one of the sentence."
      )
    self.labels = tuple(labels)
    self.scheme = scheme
    self.context = context
    self.token_unit = token_unit
    self.approach = approach
    self.features = features
    self.lstm_width = lstm_width
    if approach != "fine_tuning":
      self.head = None  # None that other programs know.
    self._size = max_seq_length - 2  # pieces of a row
    self._stride = doc_stride or max(1, self._size // 2)

  # Rows.

  def texts(self, example):
    """Returns the sentence."""
    between = " " if self.token_unit == token_pieces.WORD else ""
    return [between.join(example.tokens)]

  def make_rows(self, examples, tokenizer, counts):
    """Yields the rows of each sentence; see `FineTuningTask`."""
    sentences = [
      _PiecedSentence(pieces, self._label_ids(example, counts))
      for example, pieces in zip(
        examples,
        token_pieces.tokenize(
          tokenizer, [example.tokens for example in examples], self.token_unit
        ),
        strict=True,
      )
    ]
    for start, end in self._documents(examples):
      document = sentences[start:end]
      ids = np.concatenate([sentence.ids for sentence in document])
      first = 0
      for index, sentence in enumerate(document, start=start):
        if len(sentence.ids) > self._size:
          counts["sentences cut into windows"] += 1
        if sentence.num_empty:
          counts["tokens without pieces"] += sentence.num_empty
        for row in self._rows_of(sentence, ids, first, tokenizer.vocabulary):
          yield {**row, EXAMPLE_INDEX: np.int32(index)}
        first += len(sentence.ids)

  def _documents(self, examples):
    """Yields (start, end) of the sentences that are each other's context."""

    def document_of(index):
      document = examples[index].document
      is_alone = self.context == "sentence" or document is None
      return index if is_alone else document

    for _, members in itertools.groupby(range(len(examples)), document_of):
      members = list(members)
      yield members[0], members[-1] + 1

  def _rows_of(self, sentence, document, first, vocabulary):
    """Yields the rows of a sentence whose pieces begin at `first`.

    Args:
      sentence: `_PiecedSentence`.
      document: int32 [pieces], all of its document.
      first: int, place of the sentence in the document.
      vocabulary: `Vocabulary`.
    """
    length = len(sentence.ids)
    if not length:
      return
    spans = windows.slide(length, self._size, self._stride)
    best = windows.best_windows(spans, length)
    for number, (start, end) in enumerate(spans):
      left, right = _extend(
        first + start, first + end, self._size, len(document)
      )
      counted = np.where(
        best[start:end] == number, sentence.token_index[start:end], _NONE
      )
      token_index = np.full(right - left + 2, _NONE, np.int32)
      place = 1 + first + start - left
      token_index[place : place + end - start] = counted
      is_counted = token_index != _NONE
      yield {
        features.INPUT_IDS: np.array(
          [vocabulary.cls_id, *document[left:right], vocabulary.sep_id],
          np.int32,
        ),
        features.SEGMENT_IDS: np.zeros_like(token_index),
        features.LABEL_IDS: np.where(
          is_counted, sentence.label_ids[token_index], _NONE
        ).astype(np.int32),
        TOKEN_INDEX: token_index,
      }

  def _label_ids(self, example, counts):
    """Returns int32 [tokens]; no label, and no loss, where it is unknown."""
    if example.tags is None:
      return np.full(len(example.tokens), _NONE, np.int32)
    tags = tagging.convert(example.tags, "IOB2")
    ids = {label: index for index, label in enumerate(self.labels)}
    for tag in tags:
      if tag not in ids:
        counts[f"tokens labelled {tag}, which training has not"] += 1
    return np.array([ids.get(tag, _NONE) for tag in tags], np.int32)

  # Model.

  def build_model(self):
    """Returns the model of the approach, with fresh weights."""
    num_classes = len(self.labels)
    if self.approach == "fine_tuning":
      return models.TokenClassifier(self.config, num_classes)
    return feature_models.FeatureTagger(
      self.config,
      num_classes,
      self.features,
      is_frozen=self.approach == "features",
      lstm_width=self.lstm_width,
    )

  def weights(self, batch):
    """Returns {"tag": float32 [B, L]}, 1 at the first pieces of tokens."""
    return {"tag": ops.cast(batch[features.LABEL_IDS] >= 0, "float32")}

  def predictions(self, batch, outputs):
    """Returns {"tag": `Prediction`}."""
    labels = ops.maximum(batch[features.LABEL_IDS], 0)
    return {"tag": cross_entropy.Prediction(outputs["logits"], labels)}

  # Scores and files.

  def has_labels(self, examples):
    """Returns whether all sentences are tagged."""
    return all(example.tags is not None for example in examples)

  def predicted_tags(self, examples, rows, outputs):
    """Returns the predicted tags of each sentence, in the scheme of the files.

    A token without pieces is inside of the entity that goes on after it, if
    there is one, and else outside.

    Args:
      examples: list of `TaggedSentence`.
      rows: as `FineTuningTask.score`.
      outputs: as `FineTuningTask.score`.

    Returns:
      list of lists of str.
    """
    predicted = [[None] * len(example.tokens) for example in examples]
    token_index, sentence_of = rows[TOKEN_INDEX], rows[EXAMPLE_INDEX]
    for index, logits in enumerate(outputs["logits"]):
      is_counted = token_index[index] != _NONE
      best = np.argmax(logits[is_counted], axis=-1)
      tags = predicted[int(sentence_of[index])]
      for token, label in zip(
        token_index[index][is_counted], best, strict=True
      ):
        tags[token] = self.labels[label]
    return [tagging.convert(_fill(tags), self.scheme) for tags in predicted]

  def score(self, examples, rows, outputs):
    """Returns what conlleval says of the file of predictions, as fractions."""
    return self._evaluate(examples, rows, outputs).scores()

  def write_predictions(self, examples, rows, outputs, folder):
    """Writes tokens with gold and predicted tags, as conlleval reads them.

    One token a line, its columns parted by a blank, an empty line after each
    sentence; without gold tags two columns. With them also what conlleval says.
    """
    predicted = self.predicted_tags(examples, rows, outputs)
    lines = []
    for example, tags in zip(examples, predicted, strict=True):
      gold = [example.tags] if example.tags is not None else []
      columns = zip(example.tokens, *gold, tags, strict=True)
      lines += [*map(" ".join, columns), ""]
    paths = {"predictions": os.path.join(folder, PREDICTIONS_NAME)}
    files.write_atomically(paths["predictions"], "\n".join(lines) + "\n")
    if self.has_labels(examples):
      paths["report"] = os.path.join(folder, REPORT_NAME)
      report = tagging.evaluate([e.tags for e in examples], predicted).report()
      files.write_atomically(paths["report"], report)
    return paths

  def plot(self, examples, rows, outputs, path):
    """Draws precision, recall and F1 of each type."""
    evaluation = self._evaluate(examples, rows, outputs)
    types = evaluation.types
    if not types:
      return False
    canvas = pictures.new_figure(2.5 + 1.1 * len(types), 4)
    axes = canvas.add_subplot()
    places = np.arange(len(types))
    rates = [evaluation.rates_of(entity_type) for entity_type in types]
    for offset, name in enumerate(("precision", "recall", "f1")):
      heights = [rate[name] for rate in rates]
      axes.bar(places + 0.27 * (offset - 1), heights, 0.25, label=name)
    labels = [f"{t or 'entity'}\n{evaluation.gold[t]}" for t in types]
    axes.set_xticks(places, labels)
    axes.set_yticks(np.linspace(0, 1, 6))
    axes.set_ylim(0, 1.15)  # The legend is above the bars.
    axes.set_xlabel("type and number of its entities")
    axes.set_title(f"F1 of all entities: {evaluation.scores()['f1']:.4f}")
    axes.grid(axis="y", alpha=0.3)
    axes.legend(loc="upper center", ncols=3)
    pictures.save(canvas, path)
    return True

  def describe(self):
    """Returns what a server or a later run must know."""
    return {
      **super().describe(),
      "scheme": self.scheme,
      "context": self.context,
      "doc_stride": self._stride,
      "token_unit": self.token_unit,
      "approach": self.approach,
      "features": self.features,
      "lstm_width": self.lstm_width,
    }

  def _evaluate(self, examples, rows, outputs):
    return tagging.evaluate(
      [example.tags for example in examples],
      self.predicted_tags(examples, rows, outputs),
    )


class _PiecedSentence:
  """A sentence as pieces.

  Args:
    pieces: list of int32 [pieces], of each token.
    label_ids: int32 [tokens].

  Attributes:
    label_ids: as given.
    ids: int32 [n], the pieces of all tokens.
    token_index: int32 [n], the token that a piece is the first of, else -1.
    num_empty: int, tokens without pieces.
  """

  def __init__(self, pieces, label_ids):
    self.label_ids = label_ids
    lengths = np.array([len(each) for each in pieces])
    self.ids = np.concatenate(pieces)
    self.token_index = np.full(len(self.ids), _NONE, np.int32)
    has_pieces = lengths > 0
    starts = np.cumsum(lengths) - lengths
    self.token_index[starts[has_pieces]] = np.flatnonzero(has_pieces)
    self.num_empty = int(np.sum(~has_pieces))


def _extend(start, end, size, length):
  """Returns [start, end) grown to `size` places of [0, length), evenly.

  What one side has no room for, the other gets.
  """
  room = size - (end - start)
  left = min(start, room // 2)
  right = min(length - end, room - left)
  left = min(start, room - right)
  return start - left, end + right


def _fill(tags):
  """Returns IOB2 tags, with tags where None stood."""
  followers, following = [], tagging.OUTSIDE
  for tag in reversed(tags):
    following = following if tag is None else tag
    followers.append(following)
  filled, before = [], tagging.OUTSIDE
  for tag, following in zip(tags, reversed(followers), strict=True):
    if tag is None:
      prefix, entity_type = tagging.split_tag(following)
      goes_on = prefix == "I" and tagging.split_tag(before)[1] == entity_type
      tag = following if goes_on else tagging.OUTSIDE
    filled.append(tag)
    before = tag
  return filled
