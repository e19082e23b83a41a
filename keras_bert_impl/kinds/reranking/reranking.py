"""Reranking: scores of documents for a query, each pair read as one sequence.

pointwise  is a document relevant or not (Nogueira and Cho 2019)
pairwise   RankNet: of two documents, the more relevant one (Burges et al.
2005)
listwise   ListNet: a softmax over the documents (Cao et al. 2007)
"""

import collections
import dataclasses
import itertools

import numpy as np
from etils import epy

from keras_bert_impl import configs, features, heads
from keras_bert_impl.kinds.choices import multiple_choice
from keras_bert_impl.kinds.embeddings.tasks import embedding_scores
from keras_bert_impl.tasks.basics import cross_entropy, task

with epy.lazy_imports():
  from keras import ops

  from keras_bert_impl import models

_GRADES = "grades"
_LOWEST = -1e9


@dataclasses.dataclass(frozen=True)
class RerankingPreprocessor(multiple_choice.ChoicePreprocessor):
  """Makes rows of `RankingExample`s, of `num_choices` documents each.

  An example of more has several rows; the last document is repeated to fill
  the last one, without a grade.
  """

  @property
  def columns(self):
    """{name: `Column`} of the rows."""
    columns = super().columns
    grades = columns[features.LABEL_IDS]._replace(
      dtype="float32", shape=(self.num_choices,)
    )
    del columns[features.LABEL_IDS]
    # -1 where a document only fills the row.
    return columns | {_GRADES: grades}

  def texts(self, example):
    """Returns the query and the documents."""
    return [example.query, *example.documents]

  def make_rows(self, examples, tokenizer, counts):
    """Yields the rows of each example, in the order of its documents."""
    parts = [part for example in examples for part in self._parts(example)]
    choices = [
      _Choices(example.query, documents) for example, documents, _ in parts
    ]
    rows = super().make_rows(choices, tokenizer, counts)
    for row, (_, _, grades) in zip(rows, parts, strict=True):
      del row[features.LABEL_IDS]
      yield row | {_GRADES: np.array(grades, np.float32)}

  def _parts(self, example):
    """Yields (example, documents, grades) of the size of a row."""
    size = self.num_choices
    for start in range(0, len(example.documents), size):
      documents = example.documents[start : start + size]
      grades = example.grades[start : start + size]
      missing = size - len(documents)
      yield (
        example,
        (*documents, *missing * documents[-1:]),
        (*grades, *missing * (-1.0,)),
      )


_Choices = collections.namedtuple(
  "_Choices", ("text", "choices", "label"), defaults=(None,)
)


@dataclasses.dataclass(frozen=True)
class RerankingTask(task.Task):
  """Scores documents for a query, by the grades of some of them.

  Attributes:
    config: `EncoderConfig`.
    loss: str, of `choices.RANKING_LOSSES`.
  """

  config: configs.EncoderConfig
  loss: str = "listwise"

  head = heads.REGRESSION
  has_pooler = True

  def build_model(self):
    """Returns a `MultipleChoice`, the weights of which score one pair too."""
    return models.MultipleChoice(self.config)

  def denominators(self, batch):
    """Returns the number of queries."""
    return {self.loss: ops.sum(cross_entropy.row_weights(batch))}

  def losses(self, batch, outputs):
    """Returns the sum of the losses of the queries."""
    values = _FUNCTIONS[self.loss](outputs["logits"], batch[_GRADES])
    return {self.loss: ops.sum(cross_entropy.row_weights(batch) * values)}

  def metrics(self, batch, outputs):
    """Returns the loss and the padding share."""
    share = {"padding_share": cross_entropy.padding_share(batch)}
    return share | cross_entropy.loss_metrics(self, batch, outputs)

  def describe(self):
    """Returns the entries of `Task`; servers read that texts are pairs."""
    return super().describe() | {"text_pairs": True}


@dataclasses.dataclass(frozen=True)
class RerankingEvaluator(embedding_scores.RetrievalEvaluator):
  """Scores the order of the documents of each query, best first.

  Relevant documents that are not among them count as not found.

  Attributes:
    metrics: tuple of str, of `ranking.scores`, the main one first.
  """

  metrics: tuple[str, ...] = ("ndcg@10", "mrr@10", "map@10", "recall@1")

  baseline_name = "in the order given"

  def answers(self, examples, rows, outputs):
    """Returns the `embedding_scores.Rankings` of the queries."""
    scores = iter(outputs["logits"])
    size = outputs["logits"].shape[1]
    found = []
    for example in examples:
      number = -(-len(example.documents) // size)
      values = np.concatenate([*itertools.islice(scores, number)])
      found.append(values[: len(example.documents)])
    return rankings(examples, found)

  def baselines(self, examples):
    """Returns the scores of the order in which the documents are given."""
    found = [-np.arange(len(e.documents), dtype=np.float32) for e in examples]
    return self.score(examples, rankings(examples, found))

  def _texts(self, answers, places):
    return [
      documents[place]
      if place is not None and place < len(documents)
      else "(not among the documents)"
      for documents, place in zip(answers.documents, places, strict=True)
    ]


def rankings(examples, scores):
  """Returns the `Rankings` of scores.

  Args:
    examples: list of Q `RankingExample`s.
    scores: list of Q float32 arrays, of the documents of each.
  """
  depth = max(len(values) for values in scores)
  order = np.full((len(examples), depth), -1)
  ordered = np.full((len(examples), depth), np.nan, np.float32)
  for row, values in enumerate(scores):
    best = np.argsort(-values, kind="stable")
    order[row, : len(best)] = best
    ordered[row, : len(best)] = values[best]
  grades = []
  for example in examples:
    known = {k: g for k, g in enumerate(example.grades) if g > 0}
    # Those that are not among the documents have places that none has.
    others = enumerate(example.missing_grades, start=len(example.documents))
    grades.append(known | dict(others))
  queries = [example.query for example in examples]
  documents = [example.documents for example in examples]
  return embedding_scores.Rankings(queries, documents, order, ordered, grades)


def _listwise(scores, grades):
  """Returns the cross-entropy [B] of the shares of the grades."""
  is_filler = grades < 0
  scores = ops.where(is_filler, _LOWEST, scores)
  grades = ops.maximum(grades, 0.0)
  shares = grades / ops.maximum(ops.sum(grades, axis=1, keepdims=True), 1e-9)
  return -ops.sum(shares * ops.log_softmax(scores, axis=1), axis=1)


def _pairwise(scores, grades):
  """Returns the mean of log(1 + exp(score of j - score of i)), [B]."""
  is_pair = ops.expand_dims(grades, 2) > ops.expand_dims(grades, 1)
  is_pair &= ops.expand_dims(grades, 1) >= 0  # [B, i, j]
  weights = ops.cast(is_pair, "float32")
  losses = ops.softplus(ops.expand_dims(scores, 1) - ops.expand_dims(scores, 2))
  number = ops.maximum(ops.sum(weights, axis=(1, 2)), 1.0)
  return ops.sum(weights * losses, axis=(1, 2)) / number


def _pointwise(scores, grades):
  """Returns the mean of the cross-entropies of relevant or not, [B]."""
  weights = ops.cast(grades >= 0, "float32")
  labels = ops.clip(grades, 0.0, 1.0)
  losses = ops.softplus(scores) - labels * scores
  return ops.sum(weights * losses, axis=1) / ops.sum(weights, axis=1)


_FUNCTIONS = {
  "listwise": _listwise,
  "pairwise": _pairwise,
  "pointwise": _pointwise,
}
