"""Scores of trees: those of the CoNLL 2018 shared task, and KLUE's."""

import numpy as np
import pytest

from keras_bert_impl.kinds.parsing import parsing_files, parsing_scores


def sentence(heads, relations):
  words = tuple(f"w{n}" for n in range(len(heads)))
  return parsing_files.ParsedSentence(words, tuple(heads), tuple(relations))


def score(gold, found):
  labels = tuple(sorted({name for x in gold for name in x.relations}))
  trees = [parsing_scores.Tree([*x.heads], [*x.relations]) for x in found]
  return parsing_scores.ParsingEvaluator(labels).score(gold, trees)


def test_punctuation_counts_and_subtypes_do_not():
  gold = [sentence([2, 0, 2, 2], ["nsubj:pass", "root", "obl", "punct"])]
  found = [sentence([2, 0, 2, 3], ["nsubj", "root", "obj", "punct"])]
  assert score(gold, found) == {"uas": 0.75, "las": 0.5}


def test_klue_has_the_mean_f1_of_classes():
  gold = [sentence([2, 3, 0], ["NP_SBJ", "NP", "VP"])]
  found = [sentence([3, 3, 0], ["NP_SBJ", "X_SBJ", "VP"])]
  scores = score(gold, found)
  # Heads: 0 is right; 2 is not found; 3 is found twice and right once.
  assert scores["uas_macro_f1"] == pytest.approx((1 + 0 + 2 / 3) / 3)
  # VP is right; NP and NP_SBJ are not found; others, and a wrong head, are.
  assert scores["las_macro_f1"] == pytest.approx(1 / 5)
  assert scores["las"] == pytest.approx(1 / 3)


def test_rare_relations_of_klue_are_one_class():
  gold = [sentence([2, 0], ["X_SBJ", "VNP_CMP"])]
  found = [sentence([2, 0], ["VNP_CMP", "X_SBJ"])]
  scores = score(gold, found)
  assert scores["las_macro_f1"] == 1 and scores["las"] == 0


def test_baselines_are_chains():
  gold = [sentence([2, 3, 0], ["NP", "NP", "VP"]), sentence([0], ["NP"])]
  evaluator = parsing_scores.ParsingEvaluator(("NP", "VP"))
  scores = evaluator.baselines(gold)
  assert scores["uas"] == 1 and scores["las"] == 0.75


def test_intervals_hold_the_scores():
  rng = np.random.default_rng(0)
  gold = [sentence([2, 0], ["NP", "VP"]) for _ in range(40)]
  found = [sentence([2, 0], [rng.choice(["NP", "AP"]), "VP"]) for _ in gold]
  labels = ("AP", "NP", "VP")
  trees = [parsing_scores.Tree([*x.heads], [*x.relations]) for x in found]
  evaluator = parsing_scores.ParsingEvaluator(labels)
  scores = evaluator.score(gold, trees)
  interval = evaluator.intervals(gold, trees, scores)["las"]
  assert interval.low < scores["las"] < interval.high
