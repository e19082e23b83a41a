"""Exact match and F1 of answers, as in the official scripts of SQuAD.

All scores are per cent, as the scripts print them. `RULES` holds the ways to
compare answers: "squad" (evaluate-v1.1.py and evaluate-v2.0.py), "korquad"
(evaluate-v1.0.py of KorQuAD) and "cmrc" (cmrc2018_evaluate.py).
"""

import collections
import difflib
import re
import string
from typing import NamedTuple

import numpy as np

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_KOREAN_SIGNS = re.compile("['\"《》<>〈〉()‘’]")
_CHINESE_SIGNS = frozenset("-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")
_IDEOGRAPH_OR_WORD = re.compile(r"[\u4e00-\u9fa5]|[^\W\u4e00-\u9fa5]+|[^\w\s]")


class AnswerRules(NamedTuple):
  """Rules for comparing two answers.

  Attributes:
    normalize: function (str) -> str; equal results are an exact match.
    units: function (str) -> list of units, such as words, for F1.
    num_common: function (units, units) -> number of units in common.
  """

  normalize: object
  units: object
  num_common: object


class Scores(NamedTuple):
  """Scores of each question of a data set, in its order.

  Attributes:
    exact: float [N], 0 or 1.
    f1: float [N] in [0, 1].
  """

  exact: np.ndarray
  f1: np.ndarray


def normalize_answer(text):
  """Returns `text` in lower case without punctuation, articles and blanks.

  Source: evaluate-v1.1.py of SQuAD.
  """
  text = text.lower().translate(_NO_PUNCTUATION)
  return " ".join(_ARTICLES.sub(" ", text).split())


def evaluate(golds, predictions, rules="squad"):
  """Returns the scores of SQuAD 1.1.

  Args:
    golds: {question id: list of answers}, each with at least one.
    predictions: {question id: answer}; a missing one counts as wrong.
    rules: one of `RULES`.

  Returns:
    {"exact_match": float, "f1": float}, per cent.
  """
  scores = score_each(golds, predictions, rules)
  return {
    "exact_match": _per_cent(scores.exact),
    "f1": _per_cent(scores.f1),
  }


def evaluate_with_unanswerable(
  golds, predictions, null_odds=None, rules="squad"
):
  """Returns the scores of SQuAD 2.0, where questions may have no answer.

  Args:
    golds: {question id: list of answers}, empty without an answer.
    predictions: {question id: answer}, "" for no answer.
    null_odds: {question id: float}, higher where no answer is likelier; None
      leaves the thresholds out.
    rules: one of `RULES`.

  Returns:
    {score: number}, per cent, and numbers of questions, with the names of
    evaluate-v2.0.py. An answer is given where the null odds do not exceed the
    threshold.

  Source: evaluate-v2.0.py of SQuAD. Differs from it: a missing prediction
  counts as wrong instead of stopping the script.
  """
  scores = score_each(golds, predictions, rules, may_be_none=True)
  has_answer = np.array([bool(answers) for answers in golds.values()], bool)
  result = _parts(scores, slice(None), "")
  for name, selected in (("HasAns_", has_answer), ("NoAns_", ~has_answer)):
    if selected.any():
      result |= _parts(scores, selected, name)
  if null_odds is not None:
    for name, each in zip(("exact", "f1"), scores, strict=True):
      best, threshold = best_threshold(golds, predictions, each, null_odds)
      result[f"best_{name}"] = best
      result[f"best_{name}_thresh"] = threshold
  return result


def best_threshold(golds, predictions, scores, null_odds):
  """Returns the best mean score of any threshold, and that threshold.

  Starting from no answers, the questions are answered one by one, the likeliest
  to have an answer first.

  Args:
    golds: {question id: list of answers}.
    predictions: {question id: answer}.
    scores: float [N], the score of each answer, in the order of `golds`.
    null_odds: {question id: float}.

  Returns:
    (float per cent, float).

  Source: evaluate-v2.0.py of SQuAD, find_best_thresh.
  """
  worth = dict(zip(golds, scores.tolist(), strict=True))
  asked = [key for key in null_odds if key in golds]
  odds = np.array([null_odds[key] for key in asked], np.float64)
  order = np.argsort(odds, kind="stable")
  gains = [
    worth[key] if golds[key] else -bool(predictions.get(key)) for key in asked
  ]
  num_unanswerable = sum(not answers for answers in golds.values())
  totals = np.cumsum([num_unanswerable, *np.array(gains)[order]])
  best = int(np.argmax(totals))
  threshold = float(odds[order[best - 1]]) if best else 0.0
  return 100.0 * float(totals[best]) / len(golds), threshold


def score_each(golds, predictions, rules="squad", may_be_none=False):
  """Returns the `Scores` of the questions of `golds`, in their order.

  Args:
    golds: {question id: list of answers}.
    predictions: {question id: answer}; a missing one counts as wrong.
    rules: one of `RULES`.
    may_be_none: bool, whether "" answers a question without answers.
  """
  rules = RULES[rules]
  exact, f1 = np.zeros([2, len(golds)])
  for index, (key, answers) in enumerate(golds.items()):
    if key not in predictions:
      continue
    if may_be_none:
      answers = [a for a in answers if rules.normalize(a)] or [""]
    prediction = predictions[key]
    exact[index] = max(
      rules.normalize(answer) == rules.normalize(prediction)
      for answer in answers
    )
    f1[index] = max(
      _f1(rules, answer, prediction, may_be_none) for answer in answers
    )
  return Scores(exact, f1)


def _f1(rules, answer, prediction, may_be_none):
  gold, found = rules.units(answer), rules.units(prediction)
  if may_be_none and not (gold and found):
    return float(gold == found)
  num_same = rules.num_common(gold, found)
  if not num_same:
    return 0.0
  precision, recall = num_same / len(found), num_same / len(gold)
  return 2 * precision * recall / (precision + recall)


def _parts(scores, selected, prefix):
  """Returns means over some questions, named as in evaluate-v2.0.py."""
  exact, f1 = scores.exact[selected], scores.f1[selected]
  return {
    f"{prefix}exact": _per_cent(exact),
    f"{prefix}f1": _per_cent(f1),
    f"{prefix}total": len(exact),
  }


def _per_cent(scores):
  # Summed one by one, as in the scripts, to be equal in every digit.
  return 100.0 * float(np.cumsum(scores)[-1]) / len(scores)


def _num_in_common(first, second):
  common = collections.Counter(first) & collections.Counter(second)
  return sum(common.values())


def _longest_common_run(first, second):
  """Returns the length of the longest run of units that both lists have."""
  matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
  return matcher.find_longest_match().size


def _normalize_korean(text):
  text = _KOREAN_SIGNS.sub(" ", text).lower().translate(_NO_PUNCTUATION)
  return " ".join(text.split())


def _normalize_chinese(text):
  text = text.lower().strip()
  return "".join(c for c in text if c not in _CHINESE_SIGNS)


RULES = {
  "squad": AnswerRules(
    normalize_answer,
    lambda text: normalize_answer(text).split(),
    _num_in_common,
  ),
  # Counts characters, not words, because Korean words carry particles.
  "korquad": AnswerRules(
    _normalize_korean,
    lambda text: list(_normalize_korean(text).replace(" ", "")),
    _num_in_common,
  ),
  # Differs from the original, which splits other text than Chinese by nltk's
  # rules for English; they differ only in words such as "don't".
  "cmrc": AnswerRules(
    _normalize_chinese,
    lambda text: _IDEOGRAPH_OR_WORD.findall(_normalize_chinese(text)),
    _longest_common_run,
  ),
}
