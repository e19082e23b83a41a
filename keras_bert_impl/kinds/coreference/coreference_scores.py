"""Scores and prediction files of clusters of mentions."""

import collections
import dataclasses
import os

import numpy as np

from keras_bert_impl import files
from keras_bert_impl.kinds.coreference import coreference_rows
from keras_bert_impl.metrics import (
  conll_documents,
  coreference,
  intervals,
)
from keras_bert_impl.tasks.basics import fine_tuning


@dataclasses.dataclass(frozen=True)
class CoreferenceEvaluator(fine_tuning.Evaluator):
  """Scores clusters: `metrics.coreference`, and GAP's rule for its files.

  Attributes:
    keep_singletons: bool, whether mentions alone are scored.
    is_gap: bool, whether the files that are scored are GAP's.
  """

  keep_singletons: bool = False
  is_gap: bool = False

  baseline_name = "the true mentions, each alone"
  token_outputs = (
    *("span_starts", "span_ends", "clusters", "span_scores"),
    *("mention_losses", "antecedent_losses"),
  )

  @property
  def main_metric(self):
    """The score that runs are selected by."""
    return "gap_f1" if self.is_gap else "conll_f1"

  def answers(self, examples, rows, outputs):
    """Returns the clusters of each document, lists of (start, end)."""
    names = ("clusters", "span_starts", "span_ends")
    columns = zip(*(outputs[name] for name in names), strict=True)
    return [_found(*each) for each in columns]

  def score(self, examples, answers):
    """Returns {metric: float}: F1 of each metric, and CoNLL's; or GAP's."""
    if self.is_gap:
      return self._gap_scores(examples, answers)
    gold = [self._gold(example) for example in examples]
    return coreference.score(gold, answers)

  def _gold(self, example):
    least = 1 if self.keep_singletons else 2
    return [x for x in example.clusters if len(x) >= least]

  def _gap_scores(self, examples, answers):
    questions = [example.gap for example in examples]
    return coreference.gap_scores(
      [question.pronoun for question in questions],
      [question.is_meant for question in questions],
      [*map(_is_meant, questions, answers)],
    )

  def write(self, examples, answers, scores, folder):
    """Writes predictions.conll and, of GAP's files, predictions.tsv."""
    lines = [
      line
      for example, answer in zip(examples, answers, strict=True)
      for line in conll_documents.lines_of(
        example.name, example.sentences, answer
      )
    ]
    paths = {"predictions": os.path.join(folder, "predictions.conll")}
    files.write_atomically(paths["predictions"], "\n".join(lines) + "\n")
    if self.is_gap:
      paths["gap"] = os.path.join(folder, "predictions.tsv")
      rows = [
        "\t".join([x.gap.name, *(str(y).upper() for y in _is_meant(x.gap, a))])
        for x, a in zip(examples, answers, strict=True)
      ]
      files.write_atomically(paths["gap"], "\n".join(rows) + "\n")
    return paths

  def baselines(self, examples):
    """Returns the scores of the true mentions, each alone."""
    alone = [[[m] for x in example.clusters for m in x] for example in examples]
    return self.score(examples, alone)

  def intervals(self, examples, answers, scores):
    """Returns the interval of CoNLL's F1, by resampling documents."""
    if self.is_gap:
      return {}
    counts = [
      coreference.count(self._gold(example), answer)
      for example, answer in zip(examples, answers, strict=True)
    ]
    shape = np.shape(counts)[1:]

    def f1_of(rows, weights):
      scores = coreference.f1_of(np.reshape(rows, (-1, *shape)), weights)
      return {"conll_f1": scores["conll_f1"]}

    return intervals.bootstrap(f1_of, np.reshape(counts, (len(counts), -1)))

  def label_counts(self, examples):
    """Returns the numbers of clusters by their sizes."""
    sizes = sorted(len(c) for x in examples for c in x.clusters or ())
    counts = collections.Counter(sizes)
    return {f"mentions in a cluster: {k}": n for k, n in counts.items()}

  def describe(self):
    """Returns whether mentions alone count."""
    return {"keep_singletons": self.keep_singletons}


def _found(clusters, starts, ends):
  """Returns the clusters of arrays [n], the model's outputs for a row."""
  found = collections.defaultdict(list)
  is_found = clusters != coreference_rows.NONE
  columns = (x[is_found].tolist() for x in (clusters, starts, ends))
  for cluster, start, end in zip(*columns, strict=True):
    found[cluster].append((start, end + 1))
  return list(found.values())


def _is_meant(question, answer):
  """Returns whether a pronoun's cluster has the one and the other name.

  Mentions are those of exactly the words that GAP gives.
  """
  of_pronoun = {
    mention
    for cluster in answer
    if question.mention in cluster
    for mention in cluster
  }
  return tuple(name in of_pronoun for name in question.names)
