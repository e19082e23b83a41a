"""Scores and prediction files of dependency trees.

  uas, las     shares of words with the right head, and with head and relation:
               all words, punctuation too, and of a relation what stands before
               its colon. As the scorer of the CoNLL 2018 shared task, where
               the words are the same ones.
  *_macro_f1   those of KLUE-DP, of trees with its relations only: the mean F1
               of the numbers of the heads; and of the 15 relations that it
               names and of all others as one, where a word with a wrong head
               has a class of its own.

Source: Zeman et al. 2018, section 5; Park et al. 2021, section 3.6 and the
released code.
"""

import collections
import dataclasses
import os
import re
from typing import NamedTuple

import numpy as np

from keras_bert_impl import files
from keras_bert_impl.kinds.parsing import parsing_files
from keras_bert_impl.metrics import classification, intervals
from keras_bert_impl.tasks.basics import fine_tuning

_NAMED = (
  *("NP", "NP_AJT", "VP", "NP_SBJ", "VP_MOD", "NP_OBJ", "AP", "NP_CNJ"),
  *("NP_MOD", "VNP", "DP", "VP_AJT", "VNP_MOD", "NP_CMP", "VP_SBJ"),
)
_OTHER, _WRONG_HEAD = len(_NAMED), len(_NAMED) + 1
# A phrase, and its function.
_OF_KLUE = re.compile(
  r"(NP|VP|VNP|AP|DP|IP|X|L|R)(_(SBJ|OBJ|MOD|AJT|CMP|CNJ|SVJ))?"
)


class Tree(NamedTuple):
  """A tree that was found.

  Attributes:
    heads: list of int, as of `ParsedSentence`.
    relations: list of str.
    certainty: float, the mean probability of head and relation of a word.
  """

  heads: list
  relations: list
  certainty: float = 1.0


@dataclasses.dataclass(frozen=True)
class ParsingEvaluator(fine_tuning.Evaluator):
  """Scores trees.

  Attributes:
    labels: tuple of str, the relations in the order of the logits.
  """

  labels: tuple[str, ...]

  main_metric = "las"
  baseline_name = "the next or the previous word as head"
  token_outputs = (
    *("arc_logits", "heads", "logits", "head_scores", "gold_head_logits"),
  )

  def answers(self, examples, rows, outputs):
    """Returns the `Tree` of each sentence."""
    return [
      self._tree(len(example.words), *columns)
      for example, *columns in zip(
        examples,
        outputs["heads"],
        outputs["logits"],
        outputs["head_scores"],
        strict=True,
      )
    ]

  def _tree(self, size, heads, logits, scores):
    words = slice(1, size + 1)  # without the root
    shares = fine_tuning.softmax(logits[words])  # [words, C]
    scores = scores[words] * np.max(shares, axis=-1)
    relations = [self.labels[k] for k in np.argmax(shares, axis=-1)]
    return Tree(heads[words].tolist(), relations, float(np.mean(scores)))

  def score(self, examples, answers):
    """Returns {metric: float}: uas, las, and KLUE's for its relations."""
    rates = _rates(_counts(examples, answers), np.ones(len(examples)))
    scores = {name: float(value) for name, value in rates.items()}
    names = {name for example in examples for name in example.relations}
    if all(map(_OF_KLUE.fullmatch, names)):
      scores |= _macro_f1(examples, answers)
    return scores

  def write(self, examples, answers, scores, folder):
    """Writes predictions.conllu, or .tsv of KLUE-DP: the file, other trees."""
    lines = []
    for example, tree in zip(examples, answers, strict=True):
      found = parsing_files.lines_of(example, tree.heads, tree.relations)
      lines += [*found, ""]
    is_klue = lines[-2].count("\t") == 5
    name = f"predictions.{'tsv' if is_klue else 'conllu'}"
    path = os.path.join(folder, name)
    files.write_atomically(path, "\n".join(lines) + "\n")
    return {"predictions": path}

  def baselines(self, examples):
    """Returns the scores of chains of words, with the most frequent relation.

    In one each word is the head of the word before it, in the other of the word
    after it; each metric is that of the better one.
    """
    relations = [name for example in examples for name in example.relations]
    [(usual, _)] = collections.Counter(relations).most_common(1)
    found = []
    for step in (1, -1):
      chains = []
      for example in examples:
        size = len(example.words)
        heads = [number + step for number in range(1, size + 1)]
        heads = [head if head <= size else 0 for head in heads]
        chains.append(Tree(heads, size * [usual]))
      found.append(self.score(examples, chains))
    return {name: max(each[name] for each in found) for name in found[0]}

  def intervals(self, examples, answers, scores):
    """Returns the intervals of UAS and LAS, by resampling sentences."""
    return intervals.bootstrap(_rates, _counts(examples, answers))

  def judge(self, examples, rows, outputs, answers, scores):
    """Returns the trees as texts; right are those without a fault."""
    gold = [_text(x.words, x.heads, x.relations) for x in examples]
    found = [
      _text(example.words, tree.heads, tree.relations)
      for example, tree in zip(examples, answers, strict=True)
    ]
    return fine_tuning.Judgement(
      gold,
      found,
      np.array([a == b for a, b in zip(gold, found, strict=True)], bool),
      np.array([tree.certainty for tree in answers]),
      "mean probability of the arcs",
    )

  def label_counts(self, examples):
    """Returns the numbers of the relations."""
    relations = (name for x in examples for name in x.relations or ())
    return dict(collections.Counter(relations).most_common())


def _text(words, heads, relations):
  """Returns a tree as people read it: "a -nsubj-> b, ..."."""
  nodes = ("ROOT", *words)
  return ", ".join(
    f"{word} -{relation}-> {nodes[head]}"
    for word, head, relation in zip(words, heads, relations, strict=True)
  )


def _counts(examples, answers):
  """Returns [N, 3]: words with the right head, and relation; all words."""
  rows = []
  for example, tree in zip(examples, answers, strict=True):
    is_head = np.equal(example.heads, tree.heads)
    is_relation = [
      a.partition(":")[0] == b.partition(":")[0]
      for a, b in zip(example.relations, tree.relations, strict=True)
    ]
    right = is_head & is_relation
    rows.append((np.sum(is_head), np.sum(right), len(example.words)))
  return np.array(rows)


def _rates(rows, weights):
  """Returns {metric: float [...]} of `_counts`, weighted by [..., N]."""
  heads, both, words = (weights @ rows).T
  return {"uas": heads / words, "las": both / words}


def _macro_f1(examples, answers):
  """Returns KLUE's scores."""
  classes = {name: number for number, name in enumerate(_NAMED)}

  def columns(trees):
    heads = [head for tree in trees for head in tree.heads]
    names = [name for tree in trees for name in tree.relations]
    ids = [classes.get(name, _OTHER) for name in names]
    return np.array(heads), np.array(ids)

  (gold_heads, gold), (heads, found) = columns(examples), columns(answers)
  found = np.where(heads == gold_heads, found, _WRONG_HEAD)
  return {
    "uas_macro_f1": float(classification.macro_f1(gold_heads, heads)),
    "las_macro_f1": float(classification.macro_f1(gold, found)),
  }
