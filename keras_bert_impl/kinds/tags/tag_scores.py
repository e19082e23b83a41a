"""Scores and prediction files of tagged sentences, entities as in conlleval."""

import abc
import collections
import dataclasses
import itertools
import json
import operator
import os

import numpy as np
import tensorflow as tf

from keras_bert_impl import files
from keras_bert_impl.kinds.tags import tag_rows as rows_lib
from keras_bert_impl.layers.heads import crf, spans
from keras_bert_impl.metrics import intervals, tagging
from keras_bert_impl.tasks.basics import fine_tuning, pictures

PREDICTIONS_NAME = "predictions.txt"
SPANS_NAME = "predictions.jsonl"
REPORT_NAME = "conlleval.txt"
UNTAGGED = "_"
# Traced once: by itself each op of the loop would take longer.
_without_crossing = tf.function(spans.without_crossing, reduce_retracing=True)
# Paths that are searched at a time.
_SENTENCES = 1024
_CERTAINTY = "mean probability of the tags"


class SentenceEvaluator(fine_tuning.Evaluator):
  """Scores the tags of sentences. Abstract.

  Attributes:
    labels: tuple of str, in the order of the logits.
    tag_scheme: scheme of the data files.
  """

  token_outputs = ("logits",)

  @abc.abstractmethod
  def text(self, example, tags):
    """Returns tags of a sentence as the report shows them, str."""

  def write(self, examples, answers, scores, folder):
    """Writes predictions.txt: "token gold predicted" in each line.

    An empty line ends a sentence. If the sentences have no gold tags, that
    column is left out. For an empty token stands "_".
    """
    lines = []
    for example, tags in zip(examples, answers, strict=True):
      gold = [example.tags] if example.is_labelled else []
      tokens = [token or UNTAGGED for token in example.tokens]
      columns = zip(tokens, *gold, tags, strict=True)
      lines += [*map(" ".join, columns), ""]
    path = os.path.join(folder, PREDICTIONS_NAME)
    files.write_atomically(path, "\n".join(lines) + "\n")
    return {"predictions": path}

  def judge(self, examples, rows, outputs, answers, scores):
    """Returns the tags of the sentences and how sure they are.

    Right are sentences without a fault.
    """
    gold = [*map(self.text, examples, _gold(examples))]
    found = [*map(self.text, examples, answers)]
    return fine_tuning.Judgement(
      gold,
      found,
      np.array([*map(operator.eq, gold, found)], bool),
      _certainties(examples, rows, outputs),
      _CERTAINTY,
    )

  def describe(self):
    """Returns the scheme of the data files."""
    return {"tag_scheme": self.tag_scheme}

  def _evaluate(self, examples, answers):
    """Returns the `tagging.Evaluation` of sentences."""
    return tagging.evaluate(_gold(examples), answers)

  def _counts_of_each(self, examples, answers):
    """Returns [N, 5]: right tokens, tokens, right, found and gold entities."""
    evaluations = [
      self._evaluate([example], [answer])
      for example, answer in zip(examples, answers, strict=True)
    ]
    return np.array(
      [
        (
          each.num_correct_tokens,
          each.num_tokens,
          each.correct.total(),
          each.found.total(),
          each.gold.total(),
        )
        for each in evaluations
      ]
    )


@dataclasses.dataclass(frozen=True)
class TagEvaluator(SentenceEvaluator):
  """Scores predicted entities as conlleval does.

  Attributes:
    labels: tuple of str in IOB2, in the order of the logits.
    tag_scheme: scheme of the data files, one of `tagging.SCHEMES`.
  """

  labels: tuple[str, ...]
  tag_scheme: str = "IOB2"

  main_metric = "f1"
  # The report has the scores of each type.
  shown_metrics = ["precision", "recall", "f1", "accuracy"]

  def answers(self, examples, rows, outputs):
    """Returns the predicted tags of each sentence, list of lists of str.

    A token without pieces continues the entity before it if that goes on after
    it, and is "O" otherwise.
    """
    return [
      tagging.convert(tagging.fill_gaps(tags), self.tag_scheme)
      for tags in _predicted(self.labels, examples, rows, outputs)
    ]

  def score(self, examples, answers):
    """Returns conlleval's scores, as fractions."""
    return self._evaluate(examples, answers).scores()

  def write(self, examples, answers, scores, folder):
    """Writes predictions.txt, conlleval's input, and its report.

    The report is left out if the sentences have no gold tags.
    """
    paths = super().write(examples, answers, scores, folder)
    if all(example.is_labelled for example in examples):
      paths["report"] = os.path.join(folder, REPORT_NAME)
      files.write_atomically(
        paths["report"], self._evaluate(examples, answers).report()
      )
    return paths

  def plot(self, examples, answers, scores):
    """Returns a picture of precision, recall and F1 of each entity type."""
    evaluation = self._evaluate(examples, answers)
    types = evaluation.types
    if not types:
      return None
    canvas = pictures.new_figure(2.5 + 1.1 * len(types), 4)
    axes = canvas.add_subplot()
    places = np.arange(len(types))
    rates = [evaluation.rates_of(entity_type) for entity_type in types]
    for offset, name in enumerate(("precision", "recall", "f1")):
      heights = [rate[name] for rate in rates]
      axes.bar(places + 0.27 * (offset - 1), heights, 0.25, label=name)
    labels = [f"{t or tagging.NO_TYPE}\n{evaluation.gold[t]}" for t in types]
    axes.set_xticks(places, labels)
    axes.set_yticks(np.linspace(0, 1, 6))
    axes.set_ylim(0, 1.15)  # The legend is above the bars.
    axes.set_xlabel("type and number of its entities")
    axes.set_title(f"F1 of all entities: {scores['f1']:.4f}")
    axes.grid(axis="y", alpha=0.3)
    axes.legend(loc="upper center", ncols=3, frameon=False)
    return canvas

  def intervals(self, examples, answers, scores):
    """Returns the intervals of the shown metrics, by resampling sentences."""
    counts = self._counts_of_each(examples, answers)
    return intervals.bootstrap(_rates_of_sums, counts)

  def text(self, example, tags):
    """Returns the entities as "Seoul: LOC, ...", or "none"."""
    # Characters stand without blanks between them.
    between = " " if any(len(token) > 1 for token in example.tokens) else ""
    entities = [
      f"{between.join(example.tokens[start:end])}: {name or tagging.NO_TYPE}"
      for start, end, name in tagging.entities_of(tags)
    ]
    return ", ".join(entities) or "none"

  def label_counts(self, examples):
    """Returns the numbers of the entities of each type."""
    counts = self._evaluate(examples, _gold(examples)).gold
    return {name or tagging.NO_TYPE: counts[name] for name in sorted(counts)}


@dataclasses.dataclass(frozen=True)
class SpanEvaluator(TagEvaluator):
  """Scores predicted entities by their words and types.

  Attributes:
    labels: tuple of str, "O" and the types, in the order of the logits.
    tag_scheme: `tagging.SPANS`.
  """

  shown_metrics = ["precision", "recall", "f1"]

  def answers(self, examples, rows, outputs):
    """Returns the entities of each sentence, list of tuples of `Entity`.

    They are the spans whose likeliest type is not none; of two that cross only
    the likelier one.
    """
    found = [()] * len(examples)
    places, logits = _by_sentence(rows, outputs)
    for (sentence, tokens), each in zip(places.items(), logits, strict=True):
      shares = fine_tuning.softmax(each)  # [tokens, W, C]
      types = np.argmax(shares, axis=-1)
      first, width = np.nonzero(types)
      scores = np.max(shares, axis=-1)[first, width]
      kept = _without_crossing(first, first + width, scores).numpy()
      found[sentence] = tuple(
        tagging.Entity(
          int(tokens[k]), int(tokens[k + w]) + 1, self.labels[types[k, w]]
        )
        for k, w in zip(first[kept], width[kept], strict=True)
      )
    return found

  def write(self, examples, answers, scores, folder):
    """Writes predictions.jsonl: tokens, entities if known, and those found."""
    lines = []
    for example, found in zip(examples, answers, strict=True):
      record = {"tokens": example.tokens, "predicted": found}
      if example.is_labelled:
        record["entities"] = tagging.entities_of(example.tags)
      lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    path = os.path.join(folder, SPANS_NAME)
    files.write_atomically(path, "".join(lines))
    return {"predictions": path}

  def _evaluate(self, examples, answers):
    return tagging.evaluate_entities(_gold(examples), answers)


@dataclasses.dataclass(frozen=True)
class SingleTagEvaluator(SentenceEvaluator):
  """Scores tags that mark no entities, such as parts of speech, one by one.

  Attributes:
    labels: tuple of str, in the order of the logits.
  """

  labels: tuple[str, ...]

  main_metric = "accuracy"
  tag_scheme = tagging.NO_SCHEME

  def answers(self, examples, rows, outputs):
    """Returns the predicted tags of each sentence, list of lists of str.

    A token without pieces gets "_", the sign for no value in CoNLL's files.
    """
    return [
      [tag or UNTAGGED for tag in tags]
      for tags in _predicted(self.labels, examples, rows, outputs)
    ]

  def score(self, examples, answers):
    """Returns the share of tokens whose tag is right."""
    gold = itertools.chain(*(example.tags for example in examples))
    found = [*itertools.chain(*answers)]
    num_right = sum(map(operator.eq, gold, found))
    return {"accuracy": num_right / len(found)}

  def baselines(self, examples):
    """Returns the accuracy of the most frequent tag."""
    gold = collections.Counter(
      itertools.chain(*(example.tags for example in examples))
    )
    return {"accuracy": max(gold.values()) / gold.total()}

  def intervals(self, examples, answers, scores):
    """Returns the interval of the accuracy, by resampling sentences."""
    counts = self._counts_of_each(examples, answers)[:, :2]
    return intervals.bootstrap(_accuracy_of_sums, counts)

  def text(self, example, tags):
    """Returns the tags."""
    return " ".join(tags)

  def label_counts(self, examples):
    """Returns the numbers of the tags."""
    counts = collections.Counter(itertools.chain(*_gold(examples)))
    return dict(counts.most_common())


def make_evaluator(labels, tag_scheme):
  """Returns the `Evaluator` of a scheme."""
  if tag_scheme == tagging.SPANS:
    return SpanEvaluator(labels, tag_scheme)
  if tag_scheme == tagging.NO_SCHEME:
    return SingleTagEvaluator(labels)
  return TagEvaluator(labels, tag_scheme)


def _predicted(labels, examples, rows, outputs):
  """Returns the likeliest tags of each sentence; None: no piece, no tag."""
  predicted = [[None] * len(example.tokens) for example in examples]
  places, logits = _by_sentence(rows, outputs)
  paths = _paths(logits, outputs.get("transitions"))
  for (sentence, tokens), path in zip(places.items(), paths, strict=True):
    for token, label in zip(tokens, path, strict=True):
      predicted[sentence][token] = labels[label]
  return predicted


def _certainties(examples, rows, outputs):
  """Returns the mean probability of the likeliest tag of each token, [N]."""
  found = np.zeros(len(examples))
  places, logits = _by_sentence(rows, outputs)
  transitions = outputs.get("transitions")
  if transitions is None:
    probabilities = map(fine_tuning.softmax, logits)
  else:
    probabilities = _in_batches(crf.marginals, logits, transitions[0])
  for sentence, each in zip(places, probabilities, strict=True):
    found[sentence] = np.mean(np.max(each, axis=-1))
  return found


def _by_sentence(rows, outputs):
  """Returns {sentence: its tokens with pieces}, and [float32 [tokens, ...]]."""
  places, logits = {}, {}
  for index, sentence, found in zip(
    rows[rows_lib.TOKEN_INDEX],
    rows[rows_lib.EXAMPLE_INDEX],
    outputs["logits"],
    strict=True,
  ):
    is_counted = index != rows_lib.NONE
    places.setdefault(int(sentence), []).extend(index[is_counted])
    logits.setdefault(int(sentence), []).append(found[is_counted])
  # A sentence is a path, whatever the windows it was read in.
  return places, [np.concatenate(windows) for windows in logits.values()]


def _paths(logits, transitions):
  """Returns the likeliest label ids of each sentence, list of int [n].

  Args:
    logits: list of float32 [n, C].
    transitions: float32 [rows, C + 2, C], the same in each row; None where
      tags do not depend on each other.
  """
  if transitions is None:
    return [np.argmax(each, axis=-1) for each in logits]
  return _in_batches(crf.viterbi, logits, transitions[0])


def _in_batches(function, logits, scores):
  """Returns the results of a function of `layers.crf` by sentence, list."""
  found = []
  for start in range(0, len(logits), _SENTENCES):
    part = logits[start : start + _SENTENCES]
    lengths = np.array([len(each) for each in part])
    padded = np.zeros((len(part), max(lengths), part[0].shape[1]), "float32")
    for row, each in zip(padded, part, strict=True):
      row[: len(each)] = each
    each = np.array(function(padded, scores, lengths))
    found += [x[:n] for x, n in zip(each, lengths, strict=True)]
  return found


def _gold(examples):
  return [example.tags for example in examples]


def _rates_of_sums(rows, weights):
  """Returns {metric: float [B]} of `_counts_of_each` in resamples."""
  right, tokens, correct, found, gold = (weights @ rows).T
  accuracy = {"accuracy": right / tokens} if np.all(tokens) else {}
  return accuracy | {
    "precision": correct / np.maximum(1, found),
    "recall": correct / np.maximum(1, gold),
    "f1": 2 * correct / np.maximum(1, found + gold),
  }


def _accuracy_of_sums(rows, weights):
  """Returns the accuracy of tokens in resamples."""
  right, tokens = (weights @ rows).T
  return {"accuracy": right / tokens}
