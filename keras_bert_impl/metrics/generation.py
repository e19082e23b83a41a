"""Scores of generated texts: ROUGE, BLEU, chrF and exact match.

All are fractions, not per cent. ROUGE is our own, because rouge-score, whose
digits it has, knows no letters but a to z: of Korean nothing would be left.
BLEU and chrF are those of sacrebleu.

Source: Lin 2004 (ROUGE); Papineni et al. 2002 (BLEU); Popović 2015 (chrF).
"""

import collections
import functools
import importlib.util
import unicodedata

import numpy as np

from keras_bert_impl import options

ROUGE = ("rouge1", "rouge2", "rougeL", "rougeLsum")
EXACT_MATCH = "exact_match"
# Those of a text; they are means over all. The others are of a whole corpus.
OF_TEXTS = (*ROUGE, EXACT_MATCH)
_OF_CORPORA = ("bleu", "chrf")
METRICS = (*OF_TEXTS, *_OF_CORPORA)


def check(names):
  """Raises ValueError if a name is no metric, or lacks what computes it."""
  for name in names:
    options.check_choice("metrics", name, METRICS)
  if {*names} & {*_OF_CORPORA} and not importlib.util.find_spec("sacrebleu"):
    raise ValueError(
      f"metrics ({', '.join(names)}): BLEU and chrF need sacrebleu: pip install"
      " 'keras-bert-impl[generation]'"
    )


def score(references, predictions, metrics=OF_TEXTS):
  """Returns {metric: float} of the metrics that are asked for.

  Args:
    references: list of N str, N > 0.
    predictions: list of as many str.
    metrics: list of names of `METRICS`.

  Raises:
    ValueError: as `check`, or the lengths differ.
  """
  check(metrics)
  of_texts = [name for name in metrics if name in OF_TEXTS]
  means = np.mean(score_each(references, predictions, of_texts), axis=0)
  found = dict(zip(of_texts, means.tolist(), strict=True))
  for name, function in (("bleu", bleu), ("chrf", chrf)):
    if name in metrics:
      found[name] = function(references, predictions)
  return {name: found[name] for name in metrics}


def score_each(references, predictions, metrics=OF_TEXTS):
  """Returns the scores of each text, float64 [N, number of metrics].

  Args:
    references: list of N str, N > 0.
    predictions: list of as many str.
    metrics: list of names of `OF_TEXTS`.

  Raises:
    ValueError: the lengths differ.
  """
  _check_lengths(references, predictions)
  of_pair = [_OF_A_PAIR[name] for name in metrics]
  rows = [
    [function(*pair) for function in of_pair]
    for pair in zip(references, predictions, strict=True)
  ]
  return np.array(rows, np.float64).reshape(len(references), len(of_pair))


def rouge(references, predictions):
  """Returns {metric of `ROUGE`: float}, the mean F1 over all texts.

  Words are runs of letters, marks and digits of any script in lower case; an
  ideograph is a word of its own. There is no stemming. rougeLsum takes each
  line as a sentence.

  Args: as `score`.

  Raises:
    ValueError: the lengths differ.
  """
  return score(references, predictions, ROUGE)


def bleu(references, predictions):
  """Returns the BLEU of a corpus, float in [0, 1]; args as `score`.

  Raises:
    ValueError: sacrebleu is missing, or the lengths differ.
  """
  return _of_corpus("BLEU", references, predictions)


def chrf(references, predictions):
  """Returns the chrF2 of a corpus, float in [0, 1]; see `bleu`."""
  return _of_corpus("CHRF", references, predictions)


def _of_corpus(name, references, predictions):
  check(_OF_CORPORA)
  import sacrebleu.metrics

  _check_lengths(references, predictions)
  metric = getattr(sacrebleu.metrics, name)()
  return metric.corpus_score([*predictions], [[*references]]).score / 100


def _check_lengths(references, predictions):
  if not len(references) == len(predictions) > 0:
    raise ValueError(
      f"There are {len(references)} references and {len(predictions)}"
      " predictions: give one for each, and at least one."
    )


@functools.lru_cache(maxsize=4096)
def words(text):
  """Returns the words of a text as ROUGE counts them, tuple of str."""
  return tuple("".join(map(_in_word, text.lower())).split())


@functools.cache
def _in_word(character):
  """Returns a character as it stands in words: with blanks around, or one."""
  if unicodedata.name(character, "").startswith("CJK UNIFIED IDEOGRAPH"):
    return f" {character} "
  return character if unicodedata.category(character)[0] in "LMN" else " "


def _of_ngrams(size, reference, prediction):
  """Returns the F1 of the n-grams of two texts."""

  def count(text):
    tokens = words(text)
    shifted = (tokens[k:] for k in range(size))
    return collections.Counter(zip(*shifted, strict=False))

  theirs, ours = count(reference), count(prediction)
  return _f1((theirs & ours).total(), theirs.total(), ours.total())


def _of_longest(reference, prediction):
  """Returns the F1 of the longest common subsequence of two texts."""
  theirs, ours = words(reference), words(prediction)
  return _f1(_longest_common(theirs, ours), len(theirs), len(ours))


def _longest_common(first, second):
  """Returns the length of the longest common subsequence of tuples, int.

  A row of the table is the bits of an integer: 0 where it grows by 1.

  Source: Hyyrö 2004, Bit-parallel LCS-length computation revisited.
  """
  places = collections.defaultdict(int)
  for place, word in enumerate(first):
    places[word] |= 1 << place
  everything = row = (1 << len(first)) - 1
  for word in second:
    common = row & places[word]
    row = ((row + common) | (row - common)) & everything
  return (everything & ~row).bit_count()


def _of_lines(reference, prediction):
  """Returns the F1 of the words of each line that are in the other text.

  Of a line, those of its longest common subsequences with each line of the
  other text count; each word once at most.
  """
  if "\n" not in reference and "\n" not in prediction:
    return _of_longest(reference, prediction)
  theirs, ours = (
    [words(line) for line in text.split("\n") if line]
    for text in (reference, prediction)
  )
  left = [
    collections.Counter(w for x in lines for w in x) for lines in (theirs, ours)
  ]
  number = 0
  for line in theirs:
    places = {k for other in ours for k in _common_places(line, other)}
    for place in sorted(places):
      if all(counts[line[place]] > 0 for counts in left):
        number += 1
        for counts in left:
          counts[line[place]] -= 1
  return _f1(number, *(sum(map(len, lines)) for lines in (theirs, ours)))


def _common_places(first, second):
  """Returns the places in `first` of a longest common subsequence, list.

  Of several, it is the one that rouge-score finds.
  """
  table = [[0] * (len(second) + 1)]
  for word in first:
    above, row = table[-1], [0]
    for place, other in enumerate(second):
      same = word == other
      row.append(above[place] + 1 if same else max(row[-1], above[place + 1]))
    table.append(row)
  found, i, j = [], len(first), len(second)
  while i and j:
    if first[i - 1] == second[j - 1]:
      i, j = i - 1, j - 1
      found.append(i)
    elif table[i][j - 1] > table[i - 1][j]:
      j -= 1
    else:
      i -= 1
  return found


def _f1(number, num_theirs, num_ours):
  """Returns the F1 of a number of common things, float."""
  recall, precision = number / max(num_theirs, 1), number / max(num_ours, 1)
  total = precision + recall
  return 2 * precision * recall / total if total else 0.0


def _is_exact(reference, prediction):
  return float(reference.strip() == prediction.strip())


_OF_A_PAIR = {
  "rouge1": functools.partial(_of_ngrams, 1),
  "rouge2": functools.partial(_of_ngrams, 2),
  "rougeL": _of_longest,
  "rougeLsum": _of_lines,
  EXACT_MATCH: _is_exact,
}
