"""Scores of clusters of mentions, as those of the official scorer, and GAP's.

  muc    links that are needed to join the mentions of a cluster
  bcub   B3: for each mention, the share of its cluster that is right
  ceafm  one to one of clusters that shares the most mentions (phi 3)
  ceafe  the same of clusters, each counted alike (phi 4)
  blanc  pairs of mentions, mean of those that corefer and those that do not
  lea    links within clusters, weighted by the sizes of these

A mention is a span of words [start, end); those that are the same span count as
the same. CoNLL F1 is the mean F1 of muc, bcub and ceafe. Numbers are summed
over documents and then divided.

Source: Pradhan et al. 2014 and conll/reference-coreference-scorers 8.01; Luo
et al. 2014 (BLANC); Moosavi and Strube 2016 (LEA); Webster et al. 2018 (GAP).
"""

import numpy as np
from scipy import optimize

from keras_bert_impl.metrics import conll_documents

NAMES = ("muc", "bcub", "ceafm", "ceafe", "blanc", "lea")
_CONLL = ("muc", "bcub", "ceafe")
_MASCULINE = ("he", "him", "his", "himself")


def score_files(key, response):
  """Returns {metric: [recall, precision, F1]}, in per cent, as printed.

  Like those of the official scorer, numbers are cut after the second digit.

  Args:
    key: str, a file of CoNLL-2012 columns, the right clusters.
    response: str, another one, those that were found. Documents that it lacks
      have none.

  Raises:
    FileNotFoundError: there is no such file.
    ValueError: a file is wrong, or has a document that key lacks; names file
      and row.
  """
  gold = {d.name: d for d in conll_documents.read(key)}
  found = {d.name: d for d in conll_documents.read(response)}
  for name in found.keys() - gold.keys():
    raise ValueError(
      f"{found[name].origin}: {key} has no document {name!r}: score it with its"
      " own file."
    )
  counts = [
    count(document.clusters, found[name].clusters if name in found else [])
    for name, document in gold.items()
  ]
  return {
    name: [int(10000 * float(value)) / 100 for value in values]
    for name, values in rates(np.array(counts), np.ones(len(gold))).items()
  }


def score(gold, found):
  """Returns {metric: float}, F1 as fractions: "conll_f1", and "muc_f1", ...

  Args:
    gold: list, of each document its clusters, lists of (start, end).
    found: the same.
  """
  counts = np.array([count(*each) for each in zip(gold, found, strict=True)])
  scores = f1_of(counts, np.ones(len(counts)))
  return {name: float(value) for name, value in scores.items()}


def f1_of(counts, weights):
  """Returns {metric: float [...]}, as `score`, of documents with weights.

  Args:
    counts: float [N, 6, 6], of each document what `count` returns.
    weights: float [..., N].
  """
  f1 = {name: found[2] for name, found in rates(counts, weights).items()}
  mean = np.mean([f1[name] for name in _CONLL], axis=0)
  return {"conll_f1": mean} | {f"{name}_f1": x for name, x in f1.items()}


def count(gold, found):
  """Returns what the scores of a document are made of, float [6, 6].

  Rows are those of `NAMES`: numerator and denominator of recall, the same of
  precision, and 0, 0; of BLANC what `_blanc` returns. A mention that stands
  twice counts where it stands first.

  Args:
    gold: list of clusters, lists of (start, end).
    found: the same.
  """
  gold, found = _without_repeated(gold), _without_repeated(found)
  at = {span: k for k, cluster in enumerate(gold) for span in cluster}
  both = np.zeros((len(gold), len(found)))  # mentions in common
  for k, cluster in enumerate(found):
    for span in cluster:
      if span in at:
        both[at[span], k] += 1
  sizes = np.array([*map(len, gold)]), np.array([*map(len, found)])
  counted = (_muc, _b_cubed, _ceaf_m, _ceaf_e, _blanc, _lea)
  return np.array([one(both, *sizes) for one in counted])


def rates(counts, weights):
  """Returns {metric: (recall, precision, F1)}, float [...] each.

  Args: as `f1_of`.
  """
  sums = np.tensordot(weights, counts, axes=1)  # [..., 6, 6]
  return {
    name: (_blanc_rates if name == "blanc" else _rates)(
      *np.moveaxis(sums[..., k, :], -1, 0)
    )
    for k, name in enumerate(NAMES)
  }


def _rates(recalled, gold, precise, found, *_):
  recall, precision = _share(recalled, gold), _share(precise, found)
  return recall, precision, _share(2 * precision * recall, precision + recall)


def _share(part, whole):
  """Returns part / whole, 0 where there is nothing."""
  return np.divide(
    part, whole, out=np.zeros(np.shape(part)), where=np.not_equal(whole, 0)
  )


def _without_repeated(clusters):
  seen, kept = set(), []
  for cluster in clusters:
    spans = [span for span in dict.fromkeys(cluster) if span not in seen]
    seen.update(spans)
    kept += [spans] if spans else []
  return kept


def _muc(both, gold, found):
  """Returns the numbers of MUC; arguments are those of all below.

  Args:
    both: float [K, R], mentions that a right cluster and one found share.
    gold: int [K], mentions of the right clusters.
    found: int [R].
  """
  links = np.sum(both) - np.count_nonzero(both)
  return links, np.sum(gold - 1), links, np.sum(found - 1), 0, 0


def _b_cubed(both, gold, found):
  squares = both**2
  return (
    *(np.sum(squares / gold[:, np.newaxis]), np.sum(gold)),
    *(np.sum(squares / found), np.sum(found)),
    *(0, 0),
  )


def _ceaf_m(both, gold, found):
  best = _assigned(both)
  return best, np.sum(gold), best, np.sum(found), 0, 0


def _ceaf_e(both, gold, found):
  best = _assigned(2 * both / (gold[:, np.newaxis] + found))
  return best, len(gold), best, len(found), 0, 0


def _assigned(similarities):
  places = optimize.linear_sum_assignment(similarities, maximize=True)
  return np.sum(similarities[places])


def _lea(both, gold, found):
  shared = both * (both - 1) / 2
  alone = (gold[:, np.newaxis] == 1) & (found == 1)
  shared = np.where(alone, both, shared)  # A mention alone is its own link.

  def resolved(sizes, axis):
    links = np.maximum(sizes * (sizes - 1) / 2, 1)
    return np.sum(sizes * np.sum(shared, axis=axis) / links), np.sum(sizes)

  return *resolved(gold, 1), *resolved(found, 0), 0, 0


def _blanc(both, gold, found):
  """Returns the numbers of pairs of mentions, of BLANC.

  Those of one cluster that key and answer have in common, that the key has and
  that the answer has; and the same numbers of pairs of two clusters.
  """

  def pairs(numbers):
    return np.sum(numbers * (numbers - 1) / 2)

  corefer = pairs(both), pairs(gold), pairs(found)
  in_gold, in_found = pairs(np.sum(both, axis=1)), pairs(np.sum(both, axis=0))
  all_pairs = pairs(np.sum(both)), pairs(np.sum(gold)), pairs(np.sum(found))
  apart = all_pairs[0] - in_gold - in_found + corefer[0]
  apart_gold, apart_found = (
    whole - one for whole, one in zip(all_pairs[1:], corefer[1:], strict=True)
  )
  return *corefer, apart, apart_gold, apart_found


def _blanc_rates(*sums):
  (both, gold, found), (apart, gold_apart, found_apart) = sums[:3], sums[3:]
  of_links = _rates(both, gold, both, found)
  of_others = _rates(apart, gold_apart, apart, found_apart)
  # Where the key has no pairs of a kind, the other kind alone counts.
  has_links, has_others = 1 * (gold > 0), 1 * (gold_apart > 0)
  kinds = np.maximum(1, has_links + has_others)
  return tuple(
    (has_links * a + has_others * b) / kinds
    for a, b in zip(of_links, of_others, strict=True)
  )


def gap_scores(pronouns, gold, found):
  """Returns {metric: float}, those of GAP: whether names are those of pronouns.

  "gap_f1" of all, "gap_masculine_f1" and "gap_feminine_f1" of their pronouns,
  and "gap_bias", the feminine one divided by the masculine one, 0 without.

  Args:
    pronouns: list of N str.
    gold: bool [N, 2], whether the pronoun means the one and the other name.
    found: bool [N, 2].
  """
  gold, found = np.asarray(gold, bool), np.asarray(found, bool)
  is_masculine = np.array([p.lower() in _MASCULINE for p in pronouns], bool)

  def f1(chosen):
    right = np.sum(gold[chosen] & found[chosen])
    all_pairs = np.sum(gold[chosen]) + np.sum(found[chosen])
    return float(2 * right / all_pairs) if all_pairs else 0.0

  masculine, feminine = f1(is_masculine), f1(~is_masculine)
  return {
    "gap_f1": f1(slice(None)),
    "gap_masculine_f1": masculine,
    "gap_feminine_f1": feminine,
    "gap_bias": feminine / masculine if masculine else 0.0,
  }
