"""Scores of pre-training say on which data they are."""

import types

import pytest

from keras_bert_impl.runs.pretraining import pretraining_report

TASK = types.SimpleNamespace(
  short_names={"masked_lm": "MLM"}, guesses=lambda evaluation: {}
)


@pytest.mark.parametrize(
  ("evaluated", "data"), [("b.tfrecord", "held-out"), (None, "training-data")]
)
@pytest.mark.parametrize("later", [None, "c.tfrecord"])
def test_a_later_command_does_not_change_what_was_evaluated(
  evaluated, data, later
):
  evaluation = {"masked_lm_accuracy": 0.5, "eval_input_file": evaluated}
  configuration = {"eval_input_file": later}
  results = {"eval": evaluation, "configuration": configuration}
  [score] = pretraining_report.scores(results, TASK)
  assert score.name == f"{data} MLM accuracy"
