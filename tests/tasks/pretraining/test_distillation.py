"""The losses of a student are those of the published codes."""

import dataclasses
import json
import pathlib

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.checkpoints import assignment, reading
from keras_bert_impl.model_folders import layer_choice
from keras_bert_impl.optimizers import adamw
from keras_bert_impl.tasks.basics import pretraining
from keras_bert_impl.tasks.pretraining import distillation
from keras_bert_impl.training import (
  distribution,
  training_config,
  training_loop,
)

TEACHER = pathlib.Path(__file__).parents[2] / "data/parity/bert_pretraining"
FOUND = json.loads(
  (pathlib.Path(__file__).parent / "distillation.json").read_text()
)
ALL = {
  "hidden_weight": 1.0,
  "attention_weight": 1.0,
  "relation_weight": 1.0,
}


@pytest.fixture(scope="module")
def student():
  """The first and the last layer of the teacher, a checkpoint."""
  return layer_choice.choose(reading.open_checkpoint(str(TEACHER)), "0,2")


def make_task(config, **options):
  config = config.without_dropout()
  given = {"teacher_checkpoint": str(TEACHER), **options}
  return distillation.DistillationTask(
    config,
    pretraining.PretrainingData(8),
    distillation.DistillationOptions(**given),
  )


def make_model(task, student):
  model = task.build_model()
  assignment.assign(
    {weight.path: weight for weight in model.weights},
    student.tensors,
    student.path,
  )
  return model


def make_batch():
  ids, labels = np.array(FOUND["input_ids"]), np.array(FOUND["labels"])
  hidden = pretraining.hidden_tokens(
    np.where(labels < 0, ids, labels), labels >= 0
  )
  mask = np.array(FOUND["input_mask"])
  batch = {"input_ids": ids, "input_mask": mask, "segment_ids": 0 * ids}
  return {
    name: x.astype("int32" if x.dtype == np.int64 else x.dtype)
    for name, x in (batch | hidden).items()
  }


@pytest.mark.parametrize(
  "options, expected",
  [
    (
      {},
      {
        "soft_target": "soft_target_all",
        "masked_lm": "masked_lm",
        "cosine": "cosine",
      },
    ),
    (
      ALL,
      {"hidden": "hidden", "attention": "attention", "relation": "relation_4"},
    ),
    pytest.param(
      {"distil_all_tokens": False},
      {"soft_target": "soft_target_masked"},
      marks=pytest.mark.integration,
    ),
    pytest.param(
      ALL | {"relation_heads": 1},
      {"relation": "relation_1"},
      marks=pytest.mark.integration,
    ),
  ],
)
def test_a_loss_is_that_of_torch(student, options, expected):
  task = make_task(student.description.config, **options)
  model, batch = make_model(task, student), make_batch()
  outputs = model({name: batch[name] for name in model.input})
  losses, counts = task.losses(batch, outputs), task.denominators(batch)
  for name, of_torch in expected.items():
    found = float(losses[name] / task.loss_weights[name] / counts[name])
    loss = FOUND["losses"][of_torch]
    assert found == pytest.approx(loss, rel=1e-4, abs=2e-6)


@pytest.mark.integration
def test_the_teacher_is_neither_trained_nor_saved(student):
  task = make_task(student.description.config, masked_lm_weight=0.0)
  model = make_model(task, student)
  assert {w.path for w in model.weights} < set(student.tensors)
  strategy = distribution.create_strategy("one_device")
  config = training_config.TrainingConfig(train_batch_size=2)
  loop = training_loop.TrainingLoop(
    task, model, adamw.AdamW(1e-4), strategy, config
  )
  batch = make_batch()
  inputs = {name: batch[name] for name in model.input}
  before = model(inputs)["cosine"]
  losses = []
  for _ in range(12):
    dataset = tf.data.Dataset.from_tensors(batch)
    metrics = loop.train(iter(distribution.distribute(strategy, dataset)), 1)
    losses.append(metrics["loss"])
  assert losses[-1] < losses[0]
  after = model(inputs)["cosine"]
  real = batch["input_mask"] > 0
  assert np.mean(after[real]) < np.mean(before[real])


@pytest.mark.parametrize(
  "changes, options, message",
  [
    ({"vocab_size": 130}, {}, r"vocab_size of the teacher .* \(120\) must be"),
    ({"hidden_size": 16}, {}, r"hidden_size .* set the weight of cosine to 0"),
    ({"num_attention_heads": 2}, ALL, "num_attention_heads of the teacher"),
    ({}, ALL | {"relation_heads": 5}, r"relation_heads \(5\) must divide"),
    (
      {},
      ALL | {"teacher_layer": 4},
      r"teacher_layer \(4\) must be from 1 to 3",
    ),
    ({}, {"teacher_checkpoint": None}, "distil needs --teacher_checkpoint"),
  ],
)
def test_a_teacher_that_does_not_fit_is_refused(
  student, changes, options, message
):
  config = dataclasses.replace(student.description.config, **changes)
  with pytest.raises(ValueError, match=message):
    make_task(config, **options).build_model()


@pytest.mark.integration
def test_a_narrower_student_projects_its_hidden_states(student):
  config = dataclasses.replace(student.description.config, hidden_size=16)
  task = make_task(config, cosine_weight=0.0, **ALL)
  model, batch = task.build_model(), make_batch()
  outputs = model({name: batch[name] for name in model.input})
  assert outputs["hidden"].shape == outputs["relation"].shape == (2, 8)
  projection = model.get_layer("distillation").projection
  assert projection.kernel.shape == (16, 32)
