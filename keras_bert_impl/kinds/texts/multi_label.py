"""Several labels at once: any number of them for a text or pair of texts.

The three parts of a fine-tuning task. The head is that of classes, but each
label has a probability of its own and applies if that is above 0.5.

Source: transformers, problem_type "multi_label_classification".
"""

import collections
import dataclasses

import numpy as np
from keras import ops

from keras_bert_impl import configs, features, heads, models
from keras_bert_impl.kinds.texts import text_rows, text_scores
from keras_bert_impl.metrics import classification
from keras_bert_impl.tasks.basics import (
  cross_entropy,
  example_types,
  fine_tuning,
)


@dataclasses.dataclass(frozen=True)
class MultiLabelPreprocessor(text_rows.TextPreprocessor):
  """Makes rows of `TextExample`s, whose labels are tuples of str.

  Attributes: as `TextPreprocessor`.
  """

  @property
  def columns(self):
    """{name: `Column`}: the ids of a text, and 1 for each label it has."""
    marks = fine_tuning.Column(shape=(len(self.labels),))
    return super().columns | {features.LABEL_IDS: marks}

  def _target(self, label):
    return _marks(self.labels, label or ())


@dataclasses.dataclass(frozen=True)
class MultiLabelTask(fine_tuning.BilstmTask, cross_entropy.ClassifyingTask):
  """Decides on each label by itself, by the mean of binary cross-entropies.

  Attributes:
    config: `EncoderConfig`.
    labels: tuple of str, in the order of the logits.
    bilstm_width: as `models.SequenceClassifier`.

  Raises:
    ValueError: there are no labels, or one is repeated.
  """

  config: configs.EncoderConfig
  labels: tuple[str, ...]
  bilstm_width: int | None = None

  head = heads.MULTI_LABEL
  taught_outputs = ("logits",)

  def __post_init__(self):
    if not self.labels or len(set(self.labels)) < len(self.labels):
      raise ValueError(
        f"labels ({', '.join(self.labels)}) must be one or more, each once."
      )

  def build_model(self):
    """Returns a `SequenceClassifier` with a logit for each label."""
    return models.SequenceClassifier(
      self.config, len(self.labels), bilstm_width=self.bilstm_width
    )

  def weights(self, batch):
    """Returns 1 for each label of an example, 0 for those of padding rows."""
    marks = ops.ones_like(batch[features.LABEL_IDS], "float32")  # [B, C]
    return {"label": cross_entropy.row_weights(batch)[:, None] * marks}

  def predictions(self, batch, outputs):
    """Returns a yes or no for each label."""
    marks = batch[features.LABEL_IDS]
    return {"label": cross_entropy.binary(outputs["logits"], marks)}


@dataclasses.dataclass(frozen=True)
class MultiLabelEvaluator(text_scores.ValueEvaluator):
  """Scores labels together, and each by itself.

  Attributes:
    labels: tuple of str, in the order of the logits.
    metrics: as `ValueEvaluator`.

  Raises:
    ValueError: a metric is none of labels.
  """

  labels: tuple[str, ...]
  metrics: tuple[str, ...] = ("micro_f1", "macro_f1", "exact_match")

  known = classification.OF_LABELS

  @property
  def shown_metrics(self):
    """The metrics: a summary leaves out the scores of each label."""
    return list(self.metrics)

  def answers(self, examples, rows, outputs):
    """Returns the logits, float32 [N, C]."""
    return outputs["logits"]

  def targets(self, examples):
    """Returns 1 for each label that applies, int32 [N, C]."""
    return np.stack([_marks(self.labels, each.label) for each in examples])

  def values(self, answers):
    """Returns 1 for each label with a probability above 0.5, int32 [N, C]."""
    return (answers > 0).astype(np.int32)

  def constants(self, targets):
    """Returns the best sets of labels for exact match, micro- and macro-F1."""
    sets, counts = np.unique(targets, axis=0, return_counts=True)
    # Of all sets of one size the commonest labels have the best micro-F1.
    totals = targets.sum(axis=0)
    order = np.argsort(-totals, kind="stable")
    sizes = np.arange(1, len(totals) + 1)
    found = sizes * len(targets) + totals.sum()
    best = np.argmax(2 * np.cumsum(totals[order]) / found)
    common = np.isin(np.arange(len(totals)), order[: best + 1]).astype(np.int32)
    return sets[np.argmax(counts)], common, np.ones_like(common)

  def score(self, examples, answers):
    """Returns the metrics; and `precision_x`, `recall_x`, `f1_x` of label x."""
    rates = classification.label_rates(
      self.targets(examples), self.values(answers)
    )
    return super().score(examples, answers) | {
      f"{name}_{label}": float(value)
      for name, values in rates.items()
      for label, value in zip(self.labels, values, strict=True)
    }

  def write(self, examples, answers, scores, folder):
    """Writes predictions.tsv: id, labels, probability of each label."""
    columns = zip(self.labels, _sigmoid(answers).T, strict=True)
    separator = example_types.LABEL_SEPARATOR
    found = self._texts(self.values(answers), separator)
    return self.write_values(examples, folder, found, dict(columns))

  def judge(self, examples, rows, outputs, answers, scores):
    """Returns the labels and the probability of those that were found."""
    targets, found = self.targets(examples), self.values(answers)
    return fine_tuning.Judgement(
      self._texts(targets, ", "),
      self._texts(found, ", "),
      np.all(targets == found, axis=-1),
      np.prod(_sigmoid(np.abs(answers)), axis=-1),
    )

  def label_counts(self, examples):
    """Returns how many examples have each label, in their order."""
    counts = collections.Counter(x for each in examples for x in each.label)
    return {label: counts[label] for label in self.labels}

  def _texts(self, marks, separator):
    """Returns the names of labels [N, C], list of N str."""
    names = np.array(self.labels, object)
    return [separator.join(names[row == 1]) for row in marks]


def _marks(labels, chosen):
  """Returns 1 for each label that is chosen, else 0; int32 [C]."""
  marks = np.zeros(len(labels), np.int32)
  marks[[labels.index(label) for label in chosen]] = 1
  return marks


def _sigmoid(logits):
  return fine_tuning.softmax(np.stack([0 * logits, logits], -1))[..., 1]
