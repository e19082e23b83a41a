"""The loss of classes by hand."""

import json

import numpy as np
import pytest

from keras_bert_impl.tasks.basics import fine_tuning
from keras_bert_impl.tasks.texts import (
  sequence_classification,
  text_rows,
  text_scores,
)
from tests.tasks import steps
from tests.tasks.parts import CONFIG

LABELS = ("no", "yes")
# Two examples and a padding row.
BATCH = {
  "input_mask": np.array([[1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]]),
  "label_ids": np.array([1, 0, 0]),
}


def make_task(labels=LABELS, **options):
  return sequence_classification.SequenceClassificationTask(
    CONFIG, labels, **options
  )


def test_the_loss_of_classes_is_their_cross_entropy():
  probabilities = np.array([[0.5, 0.5], [0.25, 0.75], [0.1, 0.9]], "float32")
  outputs = {"logits": np.log(probabilities)}
  task = make_task()
  losses = task.losses(BATCH, outputs)
  assert float(losses["label"]) == pytest.approx(np.log(2) + np.log(4))
  assert float(task.denominators(BATCH)["label"]) == 2
  total, count = task.metrics(BATCH, outputs)["label_accuracy"]
  assert (float(total), float(count)) == (0, 2)


def test_steps_down_the_gradient_lower_the_loss():
  steps.check_loss_falls(make_task(), [1, 1, 1])


def test_what_a_server_must_know_is_json():
  parts = fine_tuning.FineTuning(
    text_rows.TextPreprocessor(16, LABELS, text_pairs=True),
    make_task(),
    text_scores.ClassEvaluator(LABELS, ("f1", "accuracy")),
  )
  described = json.loads(json.dumps(parts.describe()))
  assert described == parts.describe()
  assert described == {
    "head": "classification",
    "max_seq_length": 16,
    "labels": ["no", "yes"],
    "text_pairs": True,
    "metrics": ["f1", "accuracy"],
    "bilstm_width": None,
  }


def test_other_programs_do_not_know_a_head_with_a_bilstm():
  assert make_task().has_standard_head
  assert not make_task(bilstm_width=4).has_standard_head


@pytest.mark.parametrize("labels", [("a",), ("a", "b", "a")])
def test_classes_are_two_or_more_each_once(labels):
  told = ", ".join(labels)
  with pytest.raises(ValueError, match=rf"labels \({told}\) must be two"):
    make_task(labels)
