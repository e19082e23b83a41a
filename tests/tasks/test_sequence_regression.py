"""The loss of scores by hand."""

import json

import numpy as np
import pytest

from keras_bert_impl.tasks.basics import fine_tuning
from keras_bert_impl.tasks.texts import (
  sequence_regression,
  text_rows,
  text_scores,
)
from tests.tasks import steps
from tests.tasks.parts import CONFIG

# Two examples and a padding row.
BATCH = {
  "input_mask": np.array([[1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]]),
  "label_ids": np.array([4.0, 1.0, 0.0], "float32"),
}


def make_task(**options):
  return sequence_regression.SequenceRegressionTask(CONFIG, **options)


def test_the_loss_of_scores_is_the_squared_error():
  outputs = {"logits": np.array([[3.0], [1.5], [9.0]], "float32")}
  task = make_task()
  assert float(task.losses(BATCH, outputs)["label"]) == pytest.approx(1.25)
  assert float(task.denominators(BATCH)["label"]) == 2
  metrics = task.metrics(BATCH, outputs)
  total, count = metrics["label_loss"]
  assert float(total) / float(count) == pytest.approx(0.625)
  hidden, positions = metrics["padding_share"]
  assert (float(hidden), float(positions)) == (7, 12)


def test_a_new_head_begins_with_the_mean_score():
  model = make_task(mean_score=60.0).build_model()
  inputs = {name: np.ones((2, 3), "int32") for name in model.input}
  answers = model(inputs)["logits"]
  np.testing.assert_allclose(answers, [[60.0]] * 2, atol=1.0)


def test_steps_down_the_gradient_lower_the_loss():
  steps.check_loss_falls(make_task(), [4.5, 0.5, 4.0])


def test_what_a_server_must_know_is_json():
  parts = fine_tuning.FineTuning(
    text_rows.TextPreprocessor(16),
    make_task(mean_score=2.0),
    text_scores.NumberEvaluator(),
  )
  described = json.loads(json.dumps(parts.describe()))
  assert described == parts.describe()
  assert described["head"] == "regression"
  assert described["labels"] is None
  assert described["metrics"] == ["spearman", "pearson"]
  # A run is the same one whatever its head began with.
  assert "mean_score" not in described
