"""Scores and schemes of entity tags."""

import os
import pathlib
import random

import pytest

from keras_bert_impl.metrics import tagging

FIXTURES = os.environ.get("KERAS_BERT_DATA")

# The same two sentences in each scheme.
SENTENCES = {
  "IOB1": ["I-PER I-PER B-PER O I-LOC", "I-ORG I-PER O"],
  "IOB2": ["B-PER I-PER B-PER O B-LOC", "B-ORG B-PER O"],
  "BIOES": ["B-PER E-PER S-PER O S-LOC", "S-ORG S-PER O"],
}


def sentences_of(scheme):
  return [tags.split() for tags in SENTENCES[scheme]]


def random_sentences():
  rng = random.Random(0)
  tags = ["O", *(f"{p}-{t}" for p in "BI" for t in ("PER", "LOC", "A-B"))]
  return [rng.choices(tags, k=rng.randrange(1, 9)) for _ in range(300)]


@pytest.mark.parametrize("scheme", tagging.SCHEMES)
@pytest.mark.parametrize("origin", tagging.SCHEMES)
def test_every_scheme_becomes_every_other(origin, scheme):
  converted = [tagging.convert(t, scheme) for t in sentences_of(origin)]
  assert converted == sentences_of(scheme)


def test_the_scheme_is_iob2_where_nothing_tells_or_b_stands_without_need():
  assert tagging.detect_scheme([["O", "O"]]) == "IOB2"
  assert tagging.detect_scheme([["I-PER", "O"], ["O", "B-PER"]]) == "IOB2"


@pytest.mark.parametrize("scheme", tagging.SCHEMES)
@pytest.mark.parametrize("stray", ["B-MISC", "I-MISC", "E-MISC", "S-MISC"])
def test_the_scheme_of_sentences_is_found_and_a_stray_tag_no_change(
  scheme, stray
):
  assert tagging.detect_scheme(sentences_of(scheme)) == scheme
  sentences = [["O", stray], *3 * sentences_of(scheme)]
  assert tagging.detect_scheme(sentences) == scheme


@pytest.mark.parametrize(
  "labels, scheme",
  [
    ("O", "IOB2"),
    ("O B-PER I-PER B-LOC", "IOB2"),
    ("O B-PER I-PER I-LOC", "IOB1"),
    ("O B-PER I-PER E-PER S-PER", "BIOES"),
  ],
)
def test_the_labels_of_a_model_tell_its_scheme(labels, scheme):
  assert tagging.scheme_of_labels(labels.split()) == scheme


def test_entities_may_break_their_scheme_or_have_no_type():
  found = tagging.entities_of(["I-PER", "I-LOC", "O", "E-LOC", "I-LOC"])
  assert found == [(0, 1, "PER"), (1, 2, "LOC"), (3, 4, "LOC"), (4, 5, "LOC")]
  # S stands alone on both sides, E ends what is before it.
  found = tagging.entities_of(["I-A", "S-A", "I-A", "E-A", "I-A", "B-A"])
  assert [entity[:2] for entity in found] == [
    (0, 1),
    (1, 2),
    (2, 4),
    (4, 5),
    (5, 6),
  ]
  assert tagging.entities_of(["B", "I", "B", "O"]) == [(0, 2, ""), (2, 3, "")]
  assert tagging.convert(["B", "I", "B"], "BIOES") == ["B", "E", "S"]


def test_tags_come_back_from_their_entities():
  for scheme in tagging.SCHEMES:
    for tags in random_sentences():
      converted = tagging.convert(tags, scheme)
      assert tagging.convert(converted, scheme) == converted
      assert tagging.entities_of(converted) == tagging.entities_of(tags)


def test_an_unknown_prefix_is_a_fault():
  for tag in ("X-PER", "PER", "", "B-", "b-PER", "-PER"):
    assert repr(tag) in tagging.find_fault(tag)
  for tag in ("O", "B-PER", "I-A-B", "B", "S-LOC", "E-LOC"):
    assert tagging.find_fault(tag) is None


def test_scores_are_counted_by_hand():
  gold = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-LOC"]]
  predicted = [["B-PER", "I-PER", "O", "O"], ["B-ORG", "B-LOC"]]
  scores = tagging.evaluate(gold, predicted).scores()
  assert scores["accuracy"] == 4 / 6
  assert scores["precision"] == 2 / 3 and scores["recall"] == 2 / 3
  assert scores["f1"] == pytest.approx(2 / 3)
  assert scores["f1_PER"] == 1.0 and scores["f1_ORG"] == 0.0
  assert scores["recall_LOC"] == 0.5 and scores["precision_LOC"] == 1.0


def test_sentences_without_entities_score_zero():
  scores = tagging.evaluate([["O"]], [["O"]]).scores()
  assert scores == {"accuracy": 1.0, "precision": 0, "recall": 0, "f1": 0}


def test_a_prefix_is_all_before_the_hyphen():
  # Unlike in seqeval, which reads the first letter of "SBAR" as a prefix.
  tags = [["B-SBAR", "I-SBAR", "B-NP"]]
  scores = tagging.evaluate(tags, [["B-SBAR", "I-SBAR", "O"]]).scores()
  assert (scores["recall_SBAR"], scores["recall_NP"]) == (1.0, 0.0)


@pytest.mark.skipif(not FIXTURES, reason="KERAS_BERT_DATA names no data")
def test_reports_equal_those_of_conlleval():
  folder = pathlib.Path(FIXTURES, "fixtures/seqeval")
  expected = (folder / "EXPECTED_conlleval.txt").read_text().split("### ")[1:]
  for part in expected:
    name, _, report = part.partition("\n")
    blocks = (folder / name).read_text().strip().split("\n\n")
    rows = [[line.split() for line in b.split("\n")] for b in blocks]
    gold, predicted = ([[r[i] for r in b] for b in rows] for i in (-2, -1))
    assert tagging.evaluate(gold, predicted).report() == report
