"""The losses of classes and scores by hand."""

import json

import numpy as np
import pytest

from keras_bert_impl.kinds.texts import (
  sequence_classification,
  sequence_regression,
  text_rows,
  text_scores,
)
from keras_bert_impl.tasks.basics import fine_tuning
from tests.tasks.basics import steps
from tests.tasks.basics.parts import CONFIG

LABELS = ("no", "yes")
# Two examples and a padding row.
MASK = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]])


def make_classes(labels=LABELS, **options):
  return sequence_classification.SequenceClassificationTask(
    CONFIG, labels, **options
  )


def make_scores(**options):
  return sequence_regression.SequenceRegressionTask(CONFIG, **options)


def test_the_loss_of_classes_is_their_cross_entropy():
  probabilities = np.array([[0.5, 0.5], [0.25, 0.75], [0.1, 0.9]], "float32")
  outputs = {"logits": np.log(probabilities)}
  batch = {"input_mask": MASK, "label_ids": np.array([1, 0, 0])}
  task = make_classes()
  losses = task.losses(batch, outputs)
  assert float(losses["label"]) == pytest.approx(np.log(2) + np.log(4))
  assert float(task.denominators(batch)["label"]) == 2
  total, count = task.metrics(batch, outputs)["label_accuracy"]
  assert (float(total), float(count)) == (0, 2)


def test_the_loss_of_scores_is_the_squared_error():
  outputs = {"logits": np.array([[3.0], [1.5], [9.0]], "float32")}
  batch = {"input_mask": MASK, "label_ids": np.array([4, 1, 0], "float32")}
  task = make_scores()
  assert float(task.losses(batch, outputs)["label"]) == pytest.approx(1.25)
  assert float(task.denominators(batch)["label"]) == 2
  metrics = task.metrics(batch, outputs)
  total, count = metrics["label_loss"]
  assert float(total) / float(count) == pytest.approx(0.625)
  hidden, positions = metrics["padding_share"]
  assert (float(hidden), float(positions)) == (7, 12)


@pytest.mark.parametrize(
  ("make", "labels"), [(make_classes, [1, 1, 1]), (make_scores, [4.5, 0.5, 4])]
)
def test_a_step_down_the_gradient_lowers_the_loss(make, labels):
  batch = steps.batch_of_texts(labels)
  steps.check_loss_falls(make(), make().build_model(), batch, "label")


def test_a_new_head_begins_with_the_mean_score():
  model = make_scores(mean_score=60.0).build_model()
  inputs = {name: np.ones((2, 3), "int32") for name in model.input}
  answers = model(inputs)["logits"]
  np.testing.assert_allclose(answers, [[60.0]] * 2, atol=1.0)


@pytest.mark.parametrize(
  ("parts", "expected"),
  [
    (
      (
        text_rows.TextPreprocessor(16, LABELS, text_pairs=True),
        make_classes(),
        text_scores.ClassEvaluator(LABELS, ("f1", "accuracy")),
      ),
      {
        "head": "classification",
        "labels": ["no", "yes"],
        "text_pairs": True,
        "metrics": ["f1", "accuracy"],
      },
    ),
    (
      # A run is the same one whatever its head began with.
      (
        text_rows.TextPreprocessor(16),
        make_scores(mean_score=2.0),
        text_scores.NumberEvaluator(),
      ),
      {
        "head": "regression",
        "labels": None,
        "text_pairs": False,
        "metrics": ["spearman", "pearson"],
      },
    ),
  ],
)
def test_what_a_server_must_know_is_json(parts, expected):
  parts = fine_tuning.FineTuning(*parts)
  described = json.loads(json.dumps(parts.describe()))
  assert described == parts.describe()
  assert described == expected | {"max_seq_length": 16, "bilstm_width": None}


def test_other_programs_do_not_know_a_head_with_a_bilstm():
  assert make_classes().has_standard_head
  assert not make_classes(bilstm_width=4).has_standard_head


@pytest.mark.parametrize("labels", [("a",), ("a", "b", "a")])
def test_classes_are_two_or_more_each_once(labels):
  told = ", ".join(labels)
  with pytest.raises(ValueError, match=rf"labels \({told}\) must be two"):
    make_classes(labels)
