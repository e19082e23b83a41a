"""EM and F1 as the official scripts of SQuAD have them."""

import json
import os
import pathlib

import pytest

from keras_bert_impl.metrics import question_answering

HALF = 100.0 * 2 / 3  # F1 of one word of two that is right.


@pytest.mark.parametrize(
  "text, expected",
  [
    ("The Norman's  a-b, an\tanthem!", "normans ab anthem"),
    ("the", ""),
    ("The „Haus“", "„haus“"),
    ("", ""),
  ],
)
def test_case_articles_punctuation_and_blanks_do_not_count(text, expected):
  assert question_answering.normalize_answer(text) == expected


def test_the_best_of_the_answers_counts():
  golds = {"1": ["Paris", "the city of Paris"], "2": ["Rome"], "3": ["x y"]}
  predictions = {"1": "paris.", "2": "Rome Italy", "3": "z", "4": "unasked"}
  assert question_answering.evaluate(golds, predictions) == {
    "exact_match": 100.0 / 3,
    "f1": pytest.approx((100.0 + HALF) / 3),
  }


def test_repeated_words_count_as_often_as_both_have_them():
  scores = question_answering.evaluate({"1": ["x x y"]}, {"1": "x x x"})
  assert scores["f1"] == pytest.approx(HALF)


def test_a_missing_prediction_is_wrong():
  golds = {"1": ["Paris"], "2": ["Rome"]}
  assert question_answering.evaluate(golds, {"2": "Rome"}) == {
    "exact_match": 50.0,
    "f1": 50.0,
  }
  scores = question_answering.evaluate_with_unanswerable(golds, {"2": "Rome"})
  assert (scores["exact"], scores["HasAns_total"]) == (50.0, 2)


def test_no_answer_is_right_where_there_is_none():
  golds = {"1": ["Paris"], "2": [], "3": [], "4": ["the"]}
  predictions = {"1": "", "2": "", "3": "Rome", "4": ""}
  assert question_answering.evaluate_with_unanswerable(golds, predictions) == {
    "exact": 50.0,
    "f1": 50.0,
    "total": 4,
    # "the" is nothing once articles are gone.
    **{"HasAns_exact": 50.0, "HasAns_f1": 50.0, "HasAns_total": 2},
    **{"NoAns_exact": 50.0, "NoAns_f1": 50.0, "NoAns_total": 2},
  }


def test_a_data_set_without_unanswerable_questions_has_no_score_of_them():
  scores = question_answering.evaluate_with_unanswerable(
    {"1": ["Paris"]}, {"1": "Paris"}, {"1": -1.0}
  )
  assert "NoAns_f1" not in scores
  assert scores["best_f1_thresh"] == -1.0


def test_the_best_threshold_answers_the_likeliest_questions():
  golds = {"right": ["Paris"], "none": [], "late": ["Rome"], "wrong": ["Oslo"]}
  predictions = {"right": "Paris", "none": "x", "late": "Rome", "wrong": "y"}
  odds = {"late": 5.0, "wrong": 1.0, "none": 2.0, "right": -3.5}
  scores = question_answering.evaluate_with_unanswerable(
    golds, predictions, odds
  )
  assert scores["exact"] == 50.0
  # One answered, one left unanswered; further on as many are lost as won.
  assert (scores["best_exact"], scores["best_exact_thresh"]) == (50.0, -3.5)
  del odds["right"]
  scores = question_answering.evaluate_with_unanswerable(
    golds, predictions, odds
  )
  assert (scores["best_exact"], scores["best_exact_thresh"]) == (25.0, 0.0)


@pytest.mark.parametrize(
  "rules, answer, prediction, exact, f1",
  [
    ("korquad", "《춘향전》", "'춘향전'", 100.0, 100.0),
    ("korquad", "1990년 3월", "1990년(3월)", 100.0, 100.0),
    # Characters: five of six, and of five.
    ("korquad", "서울특별시", "서울특별시에", 0.0, 100.0 * 10 / 11),
    ("korquad", "나", "가", 0.0, 0.0),
    ("cmrc", "《三国》", "三国。", 100.0, 100.0),
    # The longest run they share has two of four.
    ("cmrc", "大连海事", "海事大连", 0.0, 50.0),
    ("cmrc", "BERT模型", "bert 模", 0.0, 80.0),
    ("cmrc", "东", "西", 0.0, 0.0),
  ],
)
def test_other_languages_have_rules_of_their_own(
  rules, answer, prediction, exact, f1
):
  scores = question_answering.evaluate(
    {"1": [answer]}, {"1": prediction}, rules
  )
  assert scores == {"exact_match": exact, "f1": pytest.approx(f1)}


@pytest.fixture(scope="module")
def data():
  folder = os.environ.get("KERAS_BERT_DATA")
  if not folder:
    pytest.skip("KERAS_BERT_DATA is not set")
  folder = pathlib.Path(folder)

  def read(path):
    return json.loads((folder / path).read_text(encoding="utf-8"))

  return read


def _golds(data, version):
  return {
    question["id"]: [answer["text"] for answer in question["answers"]]
    for entry in data(f"tasks/squad/derived/dev-v{version}.json")["data"]
    for paragraph in entry["paragraphs"]
    for question in paragraph["qas"]
  }


@pytest.mark.slow  # The file below has all rules; here others' files.
def test_published_predictions_get_their_scores(data):
  folder = "fixtures/squad_predictions"
  expected = data(f"{folder}/EXPECTED.json")
  golds = _golds(data, "1.1")
  for name, wanted in expected["1.1"].items():
    predictions = data(f"{folder}/1.1/{name}")
    scores = question_answering.evaluate(golds, predictions)
    assert round(scores["exact_match"], 3) == wanted["EM"]
    assert round(scores["f1"], 3) == wanted["F1"]
    assert sum(key not in predictions for key in golds) == wanted["missing"]
  golds = _golds(data, "2.0")
  for name, wanted in expected["v2.0"].items():
    predictions = data(f"{folder}/v2.0/{name}")
    found = question_answering.evaluate_with_unanswerable(golds, predictions)
    assert found == wanted


def test_a_run_with_null_odds_gets_all_digits_and_thresholds(data):
  scores = question_answering.evaluate_with_unanswerable(
    _golds(data, "2.0"),
    data("fixtures/squad2_bert_run/predictions.json"),
    data("fixtures/squad2_bert_run/null_odds.json"),
  )
  wanted = data("fixtures/squad_predictions/EXPECTED.json")["squad2_bert_run"]
  assert scores == wanted
