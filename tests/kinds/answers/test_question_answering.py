"""The loss of answers by hand."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs
from keras_bert_impl.kinds.answers import question_answering
from tests.kinds.answers.questions import example, preprocessor
from tests.tasks.basics import steps
from tests.tasks.basics.parts import CONFIG, make_rows

TASK = question_answering.QuestionAnsweringTask(CONFIG)


def _batch(task, rows):
  """Returns the rows as a batch with a padding row."""
  length = 2 + max(len(row["input_ids"]) for row in rows)
  batch = {
    name: np.zeros(
      (len(rows) + 1, *([length] if column.shape else [])), column.dtype
    )
    for name, column in task.columns.items()
    if column.in_batch
  }
  batch["input_mask"] = np.zeros((len(rows) + 1, length), np.int32)
  for index, row in enumerate(rows):
    for name in batch.keys() - {"input_mask"}:
      place = (index, slice(len(row["input_ids"])))
      batch[name][place if task.columns[name].shape else index] = row[name]
    batch["input_mask"][index, : len(row["input_ids"])] = 1
  return batch


def test_the_loss_is_the_mean_of_both_sides_over_known_answers(wordpiece):
  task = preprocessor()
  examples = [example(), example("Paris", 3, 2), example("Norway", 34, 3)]
  rows, _ = make_rows(task, examples, wordpiece)
  batch = _batch(task, rows)
  outputs = {
    # What stands at padding does not count.
    f"{side}_logits": np.where(batch["input_mask"], 0.0, 99.0).astype("float32")
    for side in ("start", "end")
  }
  assert {k: float(v) for k, v in TASK.denominators(batch).items()} == {
    "answer_start": 2.0,
    "answer_end": 2.0,
  }
  for loss in TASK.losses(batch, outputs).values():
    assert float(loss) == pytest.approx(0.5 * 2 * np.log(20), rel=1e-5)


def test_a_step_lowers_the_loss(wordpiece):
  task = preprocessor()
  rows, _ = make_rows(task, [example(), example("Norway", 34, 2)], wordpiece)
  batch = {k: tf.constant(v) for k, v in _batch(task, rows).items()}
  steps.check_loss_falls(
    TASK, TASK.build_model(), batch, "answer_start", "answer_end"
  )


def test_a_beam_learns_whether_there_is_an_answer_too():
  config = configs.EncoderConfig.preset(
    "xlnet_base",
    vocab_size=20,
    hidden_size=8,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=16,
  )
  task = question_answering.AnswerBeamTask(config)
  batch = {
    "input_mask": np.array([[1] * 4, [1] * 4, [0] * 4]),
    "start_positions": np.array([1, 3, 0]),
    "end_positions": np.array([2, 3, 0]),
    "cls_positions": np.array([3, 3, 0]),
    "answer_weights": np.array([1, 1, 0], "float32"),
  }
  outputs = {
    "start_logits": np.zeros((3, 4), "float32"),
    "end_logits": np.zeros((3, 4), "float32"),
    "cls_logits": np.array([-1.0, -2.0, 9.0], "float32"),
  }
  losses = {k: float(v) for k, v in task.losses(batch, outputs).items()}
  assert losses == pytest.approx(
    {
      "answer_start": np.log(4),
      "answer_end": np.log(4),
      "no_answer": 0.5 * (np.log1p(np.exp(-1)) + np.log1p(np.exp(2))),
    },
    rel=1e-5,
  )
  accuracy = task.metrics(batch, outputs)["no_answer_accuracy"]
  assert [float(x) for x in accuracy] == [1.0, 2.0]
  assert task.denominators(batch).keys() == losses.keys()


def test_a_beam_needs_cls_at_the_end():
  with pytest.raises(ValueError, match="model_type .'bert'. must be 'xlnet'"):
    question_answering.AnswerBeamTask(CONFIG)
