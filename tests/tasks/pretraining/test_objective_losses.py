"""Losses of the pre-training tasks on cases computed by hand."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs
from keras_bert_impl.tasks.basics import pretraining
from keras_bert_impl.tasks.pretraining import (
  language_models,
  masked_lm,
  replaced_token,
  span_boundary,
)
from tests import architectures

CONFIG = configs.EncoderConfig(**architectures.SMALL | {"vocab_size": 4})
LOG = np.log
# Two predictions in the first row, one in the second; its other is padding.
BATCH = {
  "input_mask": np.array([[1, 1, 1, 0], [1, 1, 0, 0]]),
  "masked_lm_ids": np.array([[1, 2], [3, 0]]),
  "masked_lm_weights": np.array([[1, 1], [1, 0]], "float32"),
  "next_sentence_labels": np.array([[0], [1]]),
}
# The probability of each right token: 1/2, 1/4 and 1/8; the others share.
PROBABILITIES = np.array(
  [
    [[0.3, 0.5, 0.1, 0.1], [0.5, 0.1, 0.25, 0.15]],
    [[0.5, 0.2, 0.175, 0.125], [0.97, 0.01, 0.01, 0.01]],
  ],
  "float32",
)
TOKEN_LOSS = LOG(2) + LOG(4) + LOG(8)


def values(pairs):
  return {name: float(value) for name, value in pairs.items()}


def metric(pairs, name):
  total, count = pairs[name]
  return float(total) / float(count)


@pytest.mark.parametrize("sentence_loss", ["next_sentence", "sentence_order"])
def test_masked_tokens_and_pairs_are_summed_apart(sentence_loss):
  data = pretraining.PretrainingData(sentence_loss=sentence_loss)
  task = masked_lm.MaskedLanguageModelTask(CONFIG, data)
  outputs = {
    "token_logits": LOG(PROBABILITIES),
    "sentence_logits": LOG([[0.8, 0.2], [0.9, 0.1]]).astype("float32"),
  }
  losses = values(task.losses(BATCH, outputs))
  assert losses == pytest.approx(
    {"masked_lm": TOKEN_LOSS, sentence_loss: -LOG(0.8) - LOG(0.1)}, rel=1e-5
  )
  assert values(task.denominators(BATCH)) == {"masked_lm": 3, sentence_loss: 2}
  metrics = task.metrics(BATCH, outputs)
  assert metric(metrics, "masked_lm_accuracy") == pytest.approx(1 / 3)
  assert metric(metrics, f"{sentence_loss}_accuracy") == 0.5
  assert metric(metrics, "padding_share") == 3 / 8


def test_without_a_sentence_loss_the_labels_of_pairs_are_left_alone():
  task = masked_lm.MaskedLanguageModelTask(CONFIG)
  assert not task.build_model().use_sentence_head
  losses = values(task.losses(BATCH, {"token_logits": LOG(PROBABILITIES)}))
  assert losses == pytest.approx({"masked_lm": TOKEN_LOSS}, rel=1e-5)


def test_a_span_is_predicted_from_inside_and_from_its_boundary():
  task = span_boundary.SpanBoundaryTask(CONFIG)
  outputs = {
    "token_logits": LOG(PROBABILITIES),
    "span_boundary_logits": np.zeros_like(PROBABILITIES),  # knows nothing
  }
  assert values(task.losses(BATCH, outputs)) == pytest.approx(
    {"masked_lm": TOKEN_LOSS, "span_boundary": 3 * LOG(4)}, rel=1e-5
  )


def test_the_boundary_of_a_span_is_handed_to_the_model():
  task = span_boundary.SpanBoundaryTask(CONFIG)
  batch = task.prepare(
    {
      "input_ids": tf.zeros([1, 8], tf.int64),
      "masked_lm_positions": tf.constant([[2, 3, 5, 0]], tf.int64),
      "masked_lm_weights": tf.constant([[1.0, 1.0, 1.0, 0.0]]),
    },
    tf.constant([1, 2]),
  )
  np.testing.assert_array_equal(
    batch["span_boundaries"], [[[1, 4], [1, 4], [4, 6], [0, 0]]]
  )
  names = {tensor.name for tensor in task.build_model().inputs}
  assert "span_boundaries" in names


def test_detection_counts_every_token_and_weighs_fifty_times():
  task = replaced_token.ReplacedTokenTask(CONFIG)
  outputs = {
    "token_logits": LOG(PROBABILITIES),
    # Sigmoid 3/4 and 1/4.
    "replaced_token_logits": LOG(
      [[3.0, 3.0, 1 / 3, 3.0], [1 / 3, 1 / 3, 3.0, 3.0]]
    ).astype("float32"),
    "is_replaced": np.array([[1, 0, 0, 0], [0, 1, 0, 0]]),
  }
  right, wrong = -LOG(0.75), -LOG(0.25)
  losses = values(task.losses(BATCH, outputs))
  detection = 3 * right + 2 * wrong  # five real tokens
  assert losses == pytest.approx(
    {"masked_lm": TOKEN_LOSS, "replaced_token": 50 * detection}, rel=1e-5
  )
  assert values(task.denominators(BATCH)) == {
    "masked_lm": 3,
    "replaced_token": 5,
  }
  metrics = task.metrics(BATCH, outputs)
  assert metric(metrics, "replaced_token_loss") == pytest.approx(
    detection / 5, rel=1e-5
  )
  assert metric(metrics, "replaced_token_accuracy") == pytest.approx(3 / 5)
  assert metric(metrics, "replaced_token_share") == pytest.approx(2 / 5)
  assert metric(metrics, "replaced_token_precision") == pytest.approx(1 / 2)
  assert metric(metrics, "replaced_token_recall") == pytest.approx(1 / 2)


RAGGED = {"input_ids": tf.ragged.constant([[1, 2, 3], [1, 3, 3, 2, 2]])}


def left_to_right_task(task=language_models.LeftToRightTask, **changes):
  config = configs.EncoderConfig(
    **{**CONFIG.to_dict(), "use_causal_mask": True, **changes}
  )
  return task(config, pretraining.PretrainingData(5))


# Positions, labels and weights of RAGGED.
NEIGHBOURS = {
  "left_to_right": (
    [[0, 1, 0, 0], [0, 1, 2, 3]],
    [[2, 3, 0, 0], [3, 3, 2, 2]],
  ),
  "right_to_left": (
    [[1, 2, 0, 0], [1, 2, 3, 4]],
    [[1, 2, 3, 0], [1, 3, 3, 2]],
  ),
}


@pytest.mark.parametrize("direction", NEIGHBOURS)
def test_every_token_is_the_label_of_its_neighbour(direction):
  tasks = language_models.LeftToRightTask, language_models.RightToLeftTask
  [task] = [task for task in tasks if task.direction == direction]
  task = left_to_right_task(task, causal_direction=direction)
  batch = task.prepare(RAGGED, tf.constant([1, 2]))
  positions, labels = NEIGHBOURS[direction]
  expected = {
    "input_ids": [[1, 2, 3, 0, 0], [1, 3, 3, 2, 2]],
    "input_mask": [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]],
    "segment_ids": [[0] * 5] * 2,
    "masked_lm_positions": positions,
    "masked_lm_ids": labels,
    "masked_lm_weights": [[1, 1, 0, 0], [1, 1, 1, 1]],
  }
  assert batch.keys() == expected.keys()
  for name, rows in expected.items():
    np.testing.assert_array_equal(batch[name], rows)


def test_left_to_right_needs_a_causal_mask_of_its_direction():
  with pytest.raises(ValueError, match="use_causal_mask"):
    left_to_right_task(use_causal_mask=False)
  with pytest.raises(ValueError, match="'right_to_left'. must be 'left_to_ri"):
    left_to_right_task(causal_direction="right_to_left")


def test_the_commonest_label_counts_real_predictions_only():
  batch = {
    "masked_lm_ids": np.array([[5, 5, 7], [5, 0, 0]]),
    "masked_lm_weights": np.array([[1, 1, 1], [1, 0, 0]], "float32"),
  }
  assert pretraining.commonest_label_share([batch, batch]) == (3 / 4, 8)
