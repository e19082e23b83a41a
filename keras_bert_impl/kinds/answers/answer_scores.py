"""Scores and prediction files of the official SQuAD scripts."""

import collections
import dataclasses
import json
import os

import numpy as np

from keras_bert_impl import files, options
from keras_bert_impl.kinds.answers import answer_beams
from keras_bert_impl.kinds.answers import answers as answers_lib
from keras_bert_impl.kinds.answers import question_rows as rows_lib
from keras_bert_impl.metrics import intervals
from keras_bert_impl.metrics import question_answering as metrics
from keras_bert_impl.tasks.basics import fine_tuning, pictures

PREDICTIONS_NAME = "predictions.json"
NBEST_NAME = "nbest_predictions.json"
NULL_ODDS_NAME = "null_odds.json"

BEST_THRESHOLD = "best_f1_thresh"
_NO_ANSWER = "(no answer)"
# Scores that evaluate-v2.0.py does not give in per cent.
_THRESHOLDS = ("best_exact_thresh", BEST_THRESHOLD)


@dataclasses.dataclass(frozen=True)
class AnswerEvaluator(fine_tuning.Evaluator):
  """Scores answers to questions.

  Attributes:
    version_2_with_negative: bool, whether questions may have no answer.
    null_score_diff_threshold: float, null odds above which the answer is "";
      None for the threshold with the best F1 on the scored questions, 0 if
      there are none.
    n_best_size: int, answers to keep in nbest_predictions.json.
    max_answer_length: int, maximum number of pieces of an answer.
    rules: how answers are compared, one of `metrics.question_answering.RULES`.

  Raises:
    ValueError: n_best_size or max_answer_length is not positive.
  """

  version_2_with_negative: bool = False
  null_score_diff_threshold: float | None = None
  n_best_size: int = 20
  max_answer_length: int = 30
  rules: str = "squad"

  main_metric = "f1"
  token_outputs = ("start_logits", "end_logits")

  def __post_init__(self):
    options.check_numbers(
      options.POSITIVE,
      n_best_size=self.n_best_size,
      max_answer_length=self.max_answer_length,
    )

  def answers(self, examples, rows, outputs):
    """Returns the model's answers, list of `answers.Answer`."""
    contexts = [example.context for example in examples]
    windows = answers_lib.Windows(
      rows[rows_lib.EXAMPLE_INDEX],
      rows[rows_lib.PIECE_STARTS],
      rows[rows_lib.PIECE_ENDS],
      rows[rows_lib.IS_MAX_CONTEXT],
      outputs["start_logits"],
      outputs["end_logits"],
      rows[rows_lib.CLS_POSITIONS],
    )
    config = answers_lib.SpanConfig(
      self.n_best_size, self.max_answer_length, self.version_2_with_negative
    )
    if "cls_logits" in outputs:
      return answer_beams.find(contexts, windows, outputs, config)
    return answers_lib.find(contexts, windows, config)

  def score(self, examples, answers):
    """Returns the official scores, as fractions, and the best thresholds.

    If questions may have no answer, the best thresholds are searched for; the
    scores use null_score_diff_threshold or, if it is None, the best for F1.
    """
    golds, texts = _golds(examples), _texts(examples, answers)
    if not self.version_2_with_negative:
      scores = metrics.evaluate(golds, texts, self.rules)
    else:
      best = metrics.evaluate_with_unanswerable(
        golds, texts, _null_odds(examples, answers), self.rules
      )
      best = {k: v for k, v in best.items() if k.startswith("best_")}
      decided = self._decided(examples, answers, best)
      scores = metrics.evaluate_with_unanswerable(
        golds, decided, rules=self.rules
      )
      scores |= best
    return {
      name: value if name in _THRESHOLDS else value / 100
      for name, value in scores.items()
      if not name.endswith("total")
    }

  def baselines(self, examples):
    """Returns the score of the constant answer "": the unanswerable share."""
    return {"f1": float(np.mean([not each.answers for each in examples]))}

  def write(self, examples, answers, scores, folder):
    """Writes predictions.json, nbest_predictions.json and null_odds.json.

    The formats are those of run_squad.py of google-research/bert. The last file
    is only written if questions may have no answer.
    """
    nbest = {e.id: _nbest(a) for e, a in zip(examples, answers, strict=True)}
    contents = {
      "predictions": (
        PREDICTIONS_NAME,
        self._decided(examples, answers, scores),
      ),
      "nbest": (NBEST_NAME, nbest),
    }
    if self.version_2_with_negative:
      contents["null odds"] = (NULL_ODDS_NAME, _null_odds(examples, answers))
    paths = {}
    for what, (name, content) in contents.items():
      paths[what] = os.path.join(folder, name)
      text = json.dumps(content, indent=4) + "\n"
      files.write_atomically(paths[what], text)
    return paths

  def plot(self, examples, answers, scores):
    """Returns a picture of the scores by threshold (2.0) or length (1.1)."""
    golds = _golds(examples)
    has_null = self.version_2_with_negative
    each = metrics.score_each(
      golds, _texts(examples, answers), self.rules, has_null
    )
    canvas = pictures.new_figure(6, 4)
    axes = canvas.add_subplot()
    if has_null:
      _plot_by_threshold(axes, examples, answers, each)
      axes.axvline(self._threshold(scores), color="gray", linestyle="--")
    else:
      _plot_by_length(axes, golds, each)
    axes.set_ylabel("%")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return canvas

  def intervals(self, examples, answers, scores):
    """Returns the intervals of exact match, a share, and F1, by resampling."""
    each = self._score_each(examples, answers, scores)
    f1 = intervals.bootstrap(
      lambda rows, weights: {"f1": weights @ rows[:, 0] / weights.sum(-1)},
      each.f1[:, None],
    )
    exact = "exact" if self.version_2_with_negative else "exact_match"
    return f1 | {exact: intervals.wilson(each.exact.sum(), len(examples))}

  def judge(self, examples, rows, outputs, answers, scores):
    """Returns the answers; right are those that match one exactly."""
    decided = self._decided(examples, answers, scores)
    found = [decided[example.id] for example in examples]
    golds = [
      " / ".join(dict.fromkeys(text for text, _ in example.answers))
      for example in examples
    ]
    return fine_tuning.Judgement(
      [gold or _NO_ANSWER for gold in golds],
      [text or _NO_ANSWER for text in found],
      self._score_each(examples, answers, scores).exact == 1,
      np.array([*map(_probability, answers, found)]),
    )

  def label_counts(self, examples):
    """Returns how many questions have an answer."""
    num_answered = sum(bool(example.answers) for example in examples)
    rest = len(examples) - num_answered
    return {"with an answer": num_answered, "without": rest}

  def _score_each(self, examples, answers, scores):
    """Returns the `Scores` of the questions as they are answered."""
    return metrics.score_each(
      _golds(examples),
      self._decided(examples, answers, scores),
      self.rules,
      self.version_2_with_negative,
    )

  def _threshold(self, scores):
    """Returns the null odds above which the answer is "".

    Args:
      scores: {metric: float}, with the best threshold if it is known.
    """
    if self.null_score_diff_threshold is not None:
      return self.null_score_diff_threshold
    return scores.get(BEST_THRESHOLD, 0.0)

  def _decided(self, examples, answers, scores):
    """Returns {id: answer}, "" if the null odds are above the threshold."""
    texts = _texts(examples, answers)
    if not self.version_2_with_negative:
      return texts
    threshold = self._threshold(scores)
    null_odds = _null_odds(examples, answers)
    return {
      name: "" if null_odds[name] > threshold else text
      for name, text in texts.items()
    }


def _golds(examples):
  """Returns {id: list of correct answers}."""
  return {
    example.id: [text for text, _ in example.answers] for example in examples
  }


def _texts(examples, answers):
  """Returns {id: text of the best span}."""
  return {
    example.id: answer.text
    for example, answer in zip(examples, answers, strict=True)
  }


def _null_odds(examples, answers):
  """Returns {id: score of "no answer" minus score of the best span}."""
  return {
    example.id: answer.null_odds
    for example, answer in zip(examples, answers, strict=True)
  }


def _probability(answer, text):
  """Returns the probability of a text among the candidates of an answer."""
  texts = [candidate.text for candidate in answer.candidates]
  return answer.probabilities[texts.index(text)] if text in texts else 0.0


def _nbest(answer):
  """Returns an answer's entry in nbest_predictions.json, list of dicts."""
  return [
    {
      "text": candidate.text,
      "probability": float(probability),
      "start_logit": candidate.start_logit,
      "end_logit": candidate.end_logit,
    }
    for candidate, probability in zip(
      answer.candidates, answer.probabilities, strict=True
    )
  ]


def _plot_by_threshold(axes, examples, answers, scores):
  """Plots EM and F1 against the threshold of the null odds."""
  odds = np.array([answer.null_odds for answer in answers])
  is_null = np.array([not example.answers for example in examples])
  order = np.argsort(odds, kind="stable")
  for name, each in zip(("EM", "F1"), scores, strict=True):
    gains = np.where(is_null, -1.0, each)[order]
    totals = np.sum(is_null) + np.cumsum(gains)
    axes.plot(odds[order], 100 * totals / len(examples), label=name)
  axes.set_xlabel("null_score_diff_threshold")


def _plot_by_length(axes, golds, scores):
  """Plots EM and F1 against the length in words of the shortest answer."""
  groups = collections.defaultdict(list)
  longest = 10
  for index, texts in enumerate(golds.values()):
    length = min(len(text.split()) for text in texts)
    groups[min(length, longest)].append(index)
  lengths = sorted(groups)
  for name, each in zip(("EM", "F1"), scores, strict=True):
    means = [100 * np.mean(each[groups[length]]) for length in lengths]
    axes.plot(lengths, means, "o-", label=name)
  labels = [
    f"{length}{'+' if length == longest else ''}\n{len(groups[length])}"
    for length in lengths
  ]
  axes.set_xticks(lengths, labels)
  axes.set_xlabel("words of the answer, and number of questions")
