"""Scores, files and pictures of answers."""

import json
import os
import pathlib

import numpy as np
import pytest

from keras_bert_impl import tokenizers
from keras_bert_impl.kinds.answers import answer_scores, squad_files
from tests.kinds.answers.questions import example, pointing, preprocessor
from tests.tasks.basics.parts import (
  by_column,
  judge,
  make_rows,
  score,
  write,
)


def make_evaluator(**options):
  return answer_scores.AnswerEvaluator(**options)


def test_an_empty_text_is_one_window(wordpiece):
  task = preprocessor(version_2_with_negative=True)
  examples = [example(context=" ", answers=())]
  [row], _ = make_rows(task, examples, wordpiece)
  assert row["input_ids"][-2:].tolist() == [wordpiece.vocabulary.sep_id] * 2
  evaluator = make_evaluator(version_2_with_negative=True)
  table = by_column(task, [row])
  assert score(evaluator, examples, table, pointing([row]))["f1"] == 1.0


def test_sure_outputs_give_full_scores(wordpiece):
  task = preprocessor(max_seq_length=13, max_query_length=6, doc_stride=3)
  examples = [
    example("1871", 22, 1, question="when ?"),
    example("from\nNorway", 29, 2, question="where ?"),
  ]
  rows, _ = make_rows(task, examples, wordpiece)
  table = by_column(task, rows)
  scores = score(make_evaluator(), examples, table, pointing(rows))
  assert scores == {"exact_match": 1.0, "f1": 1.0}
  assert make_evaluator().baseline(examples) == 0.0


def test_the_threshold_is_tuned_unless_it_is_given(wordpiece, tmp_path):
  examples = [example(), example(number=2, answers=())]
  task = preprocessor(version_2_with_negative=True)
  rows, _ = make_rows(task, examples, wordpiece)
  logits = np.zeros((2, len(rows[0]["input_ids"])), np.float32)
  logits[:, 13] = 1.0
  # Twice: the null scores higher than 1871, by 1 and by 4.
  logits[:, 0] = 1.5, 3.0
  outputs = {"start_logits": [*logits], "end_logits": [*logits]}
  table = by_column(task, rows)
  scores = {}
  for threshold in (None, 0.0, 9.0):
    evaluator = make_evaluator(
      version_2_with_negative=True, null_score_diff_threshold=threshold
    )
    scores[threshold] = score(evaluator, examples, table, outputs)
    assert scores[threshold]["best_f1"] == 1.0
    assert scores[threshold]["best_f1_thresh"] == 1.0
    folder = tmp_path / str(threshold)
    write(evaluator, examples, table, outputs, folder)
    predictions = json.loads((folder / "predictions.json").read_text())
    expected = {None: ["1871", ""], 0.0: ["", ""], 9.0: ["1871", "1871"]}
    assert list(predictions.values()) == expected[threshold]
  assert scores[None]["f1"] == 1.0
  assert scores[0.0]["f1"] == scores[0.0]["NoAns_f1"] / 2 == 0.5
  assert scores[9.0]["HasAns_exact"] == 1.0
  assert scores[9.0]["NoAns_exact"] == 0.0
  assert evaluator.baseline(examples) == 0.5
  # Questions without labels are answered by the scores of others.
  for known, answer in (({"best_f1_thresh": 5.0}, "1871"), ({}, "")):
    evaluator = make_evaluator(version_2_with_negative=True)
    write(evaluator, examples, table, outputs, tmp_path, known)
    predictions = json.loads((tmp_path / "predictions.json").read_text())
    assert predictions["q2"] == answer


def test_the_files_are_those_of_the_original(wordpiece, tmp_path):
  task = preprocessor(version_2_with_negative=True)
  examples = [example(), example(number=2)]
  rows, _ = make_rows(task, examples, wordpiece)
  table, outputs = by_column(task, rows), pointing(rows)
  evaluator = make_evaluator(version_2_with_negative=True, n_best_size=3)
  paths = write(evaluator, examples, table, outputs, tmp_path)
  names = {what: os.path.basename(path) for what, path in paths.items()}
  assert names == {
    "predictions": "predictions.json",
    "nbest": "nbest_predictions.json",
    "null odds": "null_odds.json",
  }
  read = {w: json.loads(pathlib.Path(p).read_text()) for w, p in paths.items()}
  assert read["predictions"] == {"q1": "1871", "q2": "1871"}
  assert read["null odds"] == {"q1": -10.0, "q2": -10.0}
  best, *others = read["nbest"]["q1"]
  assert list(best) == ["text", "probability", "start_logit", "end_logit"]
  assert (best["text"], best["start_logit"]) == ("1871", 5.0)
  assert "" in [other["text"] for other in others]
  total = sum(each["probability"] for each in read["nbest"]["q1"])
  assert total == pytest.approx(1.0)


@pytest.mark.parametrize("has_null", [False, True])
def test_answers_are_judged_as_they_are_decided_and_drawn(
  wordpiece, tmp_path, has_null
):
  task = preprocessor(version_2_with_negative=has_null)
  examples = [example(), example("from\nNorway", 29, number=2)]
  if has_null:
    examples.append(example(number=3, answers=()))
  rows, _ = make_rows(task, examples, wordpiece)
  table, outputs = by_column(task, rows), pointing(rows)
  # The second question gets the answer to the first.
  for logits in outputs.values():
    logits[1] = logits[0]
  evaluator = make_evaluator(version_2_with_negative=has_null)
  scores, intervals, judged = judge(
    evaluator, examples, table, outputs, tmp_path
  )
  assert judged.gold[:2] == ["1871", "from\nNorway"]
  assert judged.found[:2] == ["1871", "1871"]
  assert judged.is_right.tolist()[:2] == [True, False]
  assert all(0.5 < certainty <= 1 for certainty in judged.certainty[:2])
  if has_null:
    assert judged.gold[2] == judged.found[2] == "(no answer)"
    assert judged.is_right[2]
  exact = "exact" if has_null else "exact_match"
  assert set(intervals) == {exact, "f1"}
  assert intervals[exact].low < scores[exact] < intervals[exact].high
  assert intervals["f1"].low <= scores["f1"] <= intervals["f1"].high
  counts = {"with an answer": 2, "without": int(has_null)}
  assert evaluator.label_counts(examples) == counts


@pytest.mark.slow
@pytest.mark.parametrize(
  "version, least",
  # The rest are answers that begin or end within a word, which come from
  # rebuilding the files, and those of more than 30 pieces.
  [("1.1", 0.993), ("2.0", 0.996)],
)
def test_outputs_sure_of_the_gold_pieces_score_nearly_all(version, least):
  folder = os.environ.get("KERAS_BERT_DATA")
  if not folder:
    pytest.skip("KERAS_BERT_DATA is not set")
  tokenizer = tokenizers.load(
    f"{folder}/vocab/google_uncased/vocab.txt", do_lower_case=True
  )
  examples = squad_files.read(
    f"{folder}/tasks/squad/derived/dev-v{version}.json"
  )
  has_null = version == "2.0"
  task = preprocessor(384, 64, version_2_with_negative=has_null)
  rows, counts = make_rows(task, examples, tokenizer)
  assert len(examples) == {"1.1": 10570, "2.0": 11873}[version]
  assert "answers not in the text, left out of training" not in counts
  evaluator = make_evaluator(version_2_with_negative=has_null)
  table = by_column(task, rows)
  scores = score(evaluator, examples, table, pointing(rows))
  assert scores["exact" if has_null else "exact_match"] > least
  assert scores["f1"] > least + 0.001


@pytest.mark.parametrize("name", ["n_best_size", "max_answer_length"])
def test_what_must_be_positive_is_checked(name):
  with pytest.raises(ValueError, match=rf"{name} \(0\) must be in"):
    make_evaluator(**{name: 0})
