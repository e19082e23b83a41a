"""Losses of several tasks on one encoder."""

import dataclasses

import numpy as np
import pytest

from keras_bert_impl import configs
from keras_bert_impl.kinds.multi_task import multi_task
from keras_bert_impl.kinds.tags import token_classification
from keras_bert_impl.kinds.texts import (
  sequence_classification,
  sequence_regression,
)


def test_a_loss_is_the_mean_of_each_tasks_rows():
  config = configs.EncoderConfig(vocab_size=10)
  tasks = {
    "c": sequence_classification.SequenceClassificationTask(config, ("x", "y")),
    "r": sequence_regression.SequenceRegressionTask(config),
  }
  task = multi_task.MultiTask(config, tasks, weights={"r": 0.5})
  rng = np.random.default_rng(0)
  logits = rng.normal(size=(4, 2)).astype(np.float32)
  scores = rng.normal(size=(4, 1)).astype(np.float32)
  batch = {
    "input_mask": np.array([[1], [1], [1], [0]], np.int32),
    "task_ids": np.array([0, 1, 0, 0], np.int32),
    "label_ids/c": np.array([1, 0, 0, 0], np.int32),
    "label_ids/r": np.array([0, 3, 0, 0], np.float32),
  }
  outputs = {"c/logits": logits, "r/logits": scores}
  losses = task.losses(batch, outputs)
  numbers = task.denominators(batch)
  log = logits - np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
  np.testing.assert_allclose(losses["c"], -log[0, 1] - log[2, 0], rtol=1e-5)
  error = (scores[1, 0] - 3) ** 2
  np.testing.assert_allclose(losses["r"], 0.5 * error, rtol=1e-5)
  assert float(numbers["c"]) == float(numbers["r"]) == 3
  total, number = task.metrics(batch, outputs)["c_accuracy"]
  assert float(number) == 2
  again = multi_task.MultiTask(config, **task.describe())
  assert again.parts["c"].labels == ("x", "y")


def test_tags_are_learned_from_the_rows_of_their_task():
  config = configs.EncoderConfig(vocab_size=10)
  tasks = {
    "c": sequence_classification.SequenceClassificationTask(config, ("x", "y")),
    "t": token_classification.TokenClassificationTask(config, ("O", "B-X")),
  }
  task = multi_task.MultiTask(config, tasks)
  logits = np.random.default_rng(0).normal(size=(2, 3, 2)).astype(np.float32)
  batch = {
    "input_mask": np.ones((2, 3), np.int32),
    "task_ids": np.array([0, 1], np.int32),
    "label_ids/c": np.array([1, 0], np.int32),
    "label_ids/t": np.array([[-1, -1, -1], [-1, 1, 0]], np.int32),
  }
  outputs = {"c/logits": np.zeros((2, 2), np.float32), "t/logits": logits}
  losses = task.losses(batch, outputs)
  log = logits - np.log(np.sum(np.exp(logits), axis=-1, keepdims=True))
  mean = -(log[1, 1, 1] + log[1, 2, 0]) / 2
  np.testing.assert_allclose(losses["t"], mean, rtol=1e-5)
  np.testing.assert_allclose(losses["c"], np.log(2), rtol=1e-5)
  assert {float(x) for x in task.denominators(batch).values()} == {2}
  assert {"t_loss", "t_accuracy"} <= task.metrics(batch, outputs).keys()
  xlnet = configs.EncoderConfig.preset("xlnet_base", vocab_size=10)
  with pytest.raises(ValueError, match="tags of t .* alone"):
    multi_task.MultiTask(
      xlnet, {k: dataclasses.replace(v, config=xlnet) for k, v in tasks.items()}
    )
