"""Scores of clusters of mentions, and files of CoNLL-2012."""

import json
import os
import pathlib

import numpy as np
import pytest

from keras_bert_impl.metrics import conll_documents, coreference

FIXTURES = os.environ.get("KERAS_BERT_DATA")
FILE = """#begin document (nw/a); part 000
nw/a 0 0 Ada - - - - - Ada - (0
nw/a 0 1 King - - - - - Ada - 0)|(1(2)

nw/a 0 0 she - - - - - - - (0)1)
#end document
"""


def read(text, tmp_path):
  path = tmp_path / "documents.conll"
  path.write_text(text)
  return conll_documents.read(str(path))


@pytest.mark.skipif(not FIXTURES, reason="KERAS_BERT_DATA names no data")
def test_scores_are_those_of_the_official_scorer_in_every_digit():
  folder = pathlib.Path(FIXTURES)
  cases = folder / "fixtures/coreference"
  for case in json.loads((cases / "EXPECTED.json").read_text()):
    key = cases / case["key"]
    if not key.exists():
      key = folder / "tasks/litbank/coref" / case["key"]
    response = cases / case["response"]
    found = coreference.score_files(str(key), str(response))
    for name, values in case["scores"].items():
      assert found[name] == values, (key, response, name)


def test_scores_of_an_example_by_hand():
  # That of the LEA paper: K = {abc, defg}, R = {ab, cd, fghi}.
  gold = [
    [*zip("abc", "abc", strict=True)],
    [*zip("defg", "defg", strict=True)],
  ]
  found = [[(x, x) for x in cluster] for cluster in ("ab", "cd", "fghi")]
  rates = coreference.rates(
    np.array([coreference.count(gold, found)]), np.ones(1)
  )
  # Recall (3 * 1/3 + 4 * 1/6) / 7, precision (2 * 1 + 2 * 0 + 4 * 1/6) / 8.
  assert rates["lea"][:2] == pytest.approx((5 / 21, 1 / 3))
  assert rates["muc"][:2] == pytest.approx((2 / 5, 2 / 5))
  # Recall (4/3 + 1/3 + 1/4 + 4/4 + ...) / 7 with squares 4, 1, 1, 4.
  assert rates["bcub"][0] == pytest.approx((4 / 3 + 1 / 3 + 1 / 4 + 1) / 7)
  assert rates["ceafm"][:2] == pytest.approx((4 / 7, 4 / 8))


def test_singletons_are_links_to_themselves_in_lea():
  alone = coreference.score([[[(0, 1)], [(2, 3)]]], [[[(0, 1)]]])
  assert alone["lea_f1"] == pytest.approx(2 / 3)


def test_nothing_found_scores_0_and_the_key_scores_1():
  gold = [[[(0, 1), (2, 4)], [(5, 6), (7, 8)]]]
  assert set(coreference.score(gold, [[]]).values()) == {0.0}
  assert set(coreference.score(gold, gold).values()) == {1.0}


def test_a_repeated_mention_counts_once():
  once, twice = [[(0, 1), (2, 3)]], [[(0, 1), (2, 3)], [(2, 3)]]
  assert coreference.score([once], [twice]) == coreference.score([once], [once])


def test_a_document_has_words_speakers_and_clusters(tmp_path):
  (document,) = read(FILE, tmp_path)
  assert document.name == "nw/a 000"
  assert document.sentences == (("Ada", "King"), ("she",))
  assert document.speakers == ("Ada", "Ada", "")
  assert document.clusters == [[(0, 2), (2, 3)], [(1, 3)], [(1, 2)]]


@pytest.mark.parametrize(
  ("old", "new", "message"),
  [
    ("0)|(1(2)", "(1(2)", r":2: the mention \(0 is not closed"),
    ("- (0\n", "- -\n", r":3: 0\) closes a mention that is not open"),
    ("(0\n", "0\n", r":2: the last column \('0'\)"),
    ("#end document\n", "", ":1: the document has no #end"),
    ("nw/a 0 0 she", "#begin document (b)\nnw/a 0 0 she", ":5: .* between"),
  ],
)
def test_a_wrong_row_is_named(old, new, message, tmp_path):
  assert old in FILE
  with pytest.raises(ValueError, match=message):
    read(FILE.replace(old, new), tmp_path)


def test_an_empty_document_is_refused(tmp_path):
  with pytest.raises(ValueError, match=":1: the document is empty"):
    read("#begin document (a); part 000\n\n#end document\n", tmp_path)


def test_a_response_of_other_documents_is_refused(tmp_path):
  (tmp_path / "key").write_text(FILE)
  (tmp_path / "response").write_text(FILE.replace("(nw/a)", "(b)"))
  with pytest.raises(ValueError, match="response:1: .* no document 'b 000'"):
    coreference.score_files(str(tmp_path / "key"), str(tmp_path / "response"))


def test_gap_counts_names_of_pronouns_by_gender():
  scores = coreference.gap_scores(
    ["He", "his", "she", "Her"],
    [[1, 0], [0, 1], [1, 0], [0, 0]],
    [[1, 0], [0, 1], [1, 1], [0, 0]],
  )
  assert scores == {
    "gap_f1": pytest.approx(6 / 7),
    "gap_masculine_f1": 1.0,
    "gap_feminine_f1": pytest.approx(2 / 3),
    "gap_bias": pytest.approx(2 / 3),
  }
