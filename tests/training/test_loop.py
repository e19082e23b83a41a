"""The training loop: equal on every strategy, and honest about divergence."""

import gc
import itertools
import json
import logging
import weakref

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.training import distribution, training_loop
from tests import slow
from tests.official_tasks import forked
from tests.training import replica_equality, tiny

# Arguments of `replica_equality`: objective, optimizer, what is trained.
OPTIONS = (
  ("tiny", "adamw"),
  ("bert", "adamw"),
  ("electra", "adamw"),
  ("bert", "stable_adamw"),
  ("albert", "adamw"),
  ("packed", "adamw"),
  ("deberta", "adamw"),
  ("deberta_v3", "adamw"),
  ("modernbert", "adamw"),
  ("pair", "adamw"),
  ("elmo", "adamw"),
  ("bert", "lamb"),
  ("bert", "adamw", "train_layers=last_1", "rematerialize"),
)
BY_HAND = OPTIONS[3:]


@pytest.mark.integration
@pytest.mark.parametrize(
  "options", slow.all_but(OPTIONS[:1], OPTIONS, by_hand=BY_HAND)
)
def test_replicas_and_micro_batches_change_nothing(options):
  """Dropout masks and drawn tokens included.

  `test_row_numbers` tests the layers' draws for every run.
  """
  # Strategies of one process disturb each other.
  process = forked.Process([replica_equality.__file__, "2", "2", *options])
  (metrics, weights, evaluation), in_parts = (
    replica_equality.run(1, number, *options) for number in (1, 2)
  )
  output, _ = process.communicate(timeout=300)
  assert process.returncode == 0
  for other_metrics, other_weights, other_evaluation in (
    in_parts,
    json.loads(output),
  ):
    for name, expected in weights.items():
      np.testing.assert_allclose(
        other_weights[name], expected, atol=1e-5, err_msg=name
      )
    assert other_metrics == pytest.approx(metrics, rel=1e-5, abs=1e-5)
    assert other_evaluation == pytest.approx(evaluation, rel=1e-5, abs=1e-5)


def weights(training):
  return [v.numpy() for v in training.model.weights]


def test_steps_per_call_do_not_change_the_result():
  at_once, in_parts = tiny.build(), tiny.build()
  at_once.train(tiny.iterate(at_once, tiny.dataset(6)), 6)
  data = tiny.iterate(in_parts, tiny.dataset(6))
  for steps in (1, 2, 3):
    in_parts.train(data, steps)
  for a, b in zip(weights(at_once), weights(in_parts)):
    np.testing.assert_array_equal(a, b)


@pytest.mark.integration
@pytest.mark.xla
@pytest.mark.parametrize(
  "module", slow.all_but((tiny,), (tiny, replica_equality))
)
def test_xla_compiles_the_gradient_function(module):
  trained = []
  for jit_compile in (False, True):
    training = module.build(jit_compile=jit_compile)
    training.train(tiny.iterate(training, module.dataset(3)), 3)
    trained.append(weights(training))
  for a, b in zip(*trained):
    np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.integration
@pytest.mark.xla
def test_a_step_compiles_under_xla_without_host_operations():
  training = tiny.build()
  batch = next(iter(tiny.dataset(1)))
  step = tf.function(training.train_step, jit_compile=True)
  assert np.isfinite(np.array(list(step(batch).values()))).all()
  hlo = step.experimental_get_compiler_ir(batch)(stage="hlo")
  for host_operation in ("custom-call", "outfeed", "infeed", "send", "recv"):
    assert f" {host_operation}(" not in hlo


def test_a_loss_falls_and_one_that_is_not_finite_names_its_step():
  training = tiny.build()
  data = tiny.iterate(training, tiny.dataset(1).repeat())
  first = training.train(data, 1)
  last = training.train(data, 60)
  assert last["loss"] < 0.5 * first["loss"]

  def poison(index, batch):
    weight = tf.where(index == 2, np.float32("nan"), 1.0)
    return batch | {"importance": batch["importance"] * weight}

  data = tiny.iterate(training, tiny.dataset(5).enumerate().map(poison))
  with pytest.raises(training_loop.DivergedError, match="finite at step 64"):
    training.train(data, 5)


@pytest.mark.parametrize("clip_norm", [0.0, 0.01])
def test_gradients_are_clipped_by_the_norm_of_all(clip_norm):
  training = tiny.build(clip_norm=clip_norm)
  metrics = training.train(tiny.iterate(training, tiny.dataset(1)), 1)
  assert metrics["gradient_norm"] > 0.02
  assert metrics["tokens_per_step"] == tiny.BATCH * tiny.LENGTH
  # The first moments are a tenth of the gradients.
  gradients = [
    10 * moment.numpy()
    for name, moment in training.optimizer.slot_variables().items()
    if name.endswith("adam_m")
  ]
  norm = np.sqrt(sum(np.sum(gradient**2) for gradient in gradients))
  assert norm == pytest.approx(clip_norm or metrics["gradient_norm"], rel=1e-4)


@pytest.mark.parametrize("accumulation", [3, 16])
def test_a_batch_that_cannot_be_divided_is_refused(accumulation):
  with pytest.raises(ValueError, match="batch size .8. must be a multiple"):
    tiny.build(gradient_accumulation_steps=accumulation)


def test_evaluation_ignores_padding_rows():
  training = tiny.build()
  [batch] = tiny.dataset(1)
  padded = {
    name: tf.concat([x, tf.zeros_like(x)], 0) for name, x in batch.items()
  }
  metrics, with_padding = (
    training.evaluate(
      distribution.distribute(
        training.strategy, tf.data.Dataset.from_tensors(b)
      )
    )
    for b in (batch, padded)
  )
  for name in ("label_loss", "label_accuracy"):
    assert with_padding[name] == pytest.approx(metrics[name], abs=1e-6)


@pytest.mark.integration
@pytest.mark.parametrize("rematerialize", slow.all_but((True,), (False, True)))
def test_nothing_keeps_the_weights_of_a_finished_training(rematerialize):
  training = replica_equality.build(
    dropout=0.2, num_hidden_layers=1, rematerialize=rematerialize
  )
  data = distribution.distribute(training.strategy, replica_equality.dataset(1))
  training.train(iter(data), 1)
  training.evaluate(itertools.islice(data, 1))
  weights = [weakref.ref(weight.value) for weight in training.model.weights]
  del training
  gc.collect()
  assert not any(weight() for weight in weights)


class Adder:
  """Stands in for a loop, of which each has a model of its own."""

  def add(self, x):
    return x + 1


def test_what_other_loops_trace_is_not_warned_of(caplog):
  logger = logging.getLogger("tensorflow")
  logger.addHandler(caplog.handler)
  try:
    for _ in range(8):
      run = training_loop._traced(Adder().add)
      assert run(tf.constant(1)) == 2
  finally:
    logger.removeHandler(caplog.handler)
  assert "retracing" not in caplog.text
