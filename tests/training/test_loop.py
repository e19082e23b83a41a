"""The training loop: equal on every strategy, and honest about divergence."""

import gc
import itertools
import json
import os
import pathlib
import subprocess
import sys
import weakref

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.training import distribution, training_loop
from tests import slow
from tests.training import replica_equality

ROOT = pathlib.Path(__file__).parents[2]
# Arguments of `replica_equality`: objective, optimizer, what is trained.
OPTIONS = (
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
  ("bert", "adamw", "train_layers=last_1"),
)
BY_HAND = OPTIONS[2:]


def run_process(*arguments):
  return subprocess.Popen(
    [sys.executable, "-m", replica_equality.__name__, *map(str, arguments)],
    stdout=subprocess.PIPE,
    env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    cwd=ROOT,
  )


def result(process):
  output, _ = process.communicate(timeout=300)
  assert process.returncode == 0
  return json.loads(output)


@pytest.mark.parametrize(
  "options", slow.all_but(OPTIONS[:1], OPTIONS, by_hand=BY_HAND)
)
def test_replicas_and_micro_batches_change_nothing(options):
  """Dropout masks and drawn tokens included."""
  processes = [run_process(replicas, *options) for replicas in (1, 2)]
  (metrics, weights, evaluation), *others = [
    run for process in processes for run in result(process)
  ]
  for other_metrics, other_weights, other_evaluation in others:
    for name, expected in weights.items():
      np.testing.assert_allclose(
        other_weights[name], expected, atol=1e-5, err_msg=name
      )
    assert other_metrics == pytest.approx(metrics, rel=1e-5, abs=1e-5)
    assert other_evaluation == pytest.approx(evaluation, rel=1e-5, abs=1e-5)


def train(training, steps, start=0):
  data = replica_equality.dataset(steps + start).skip(start)
  return training.train(
    iter(distribution.distribute(training.strategy, data)), steps
  )


def weights(training):
  return [v.numpy() for v in training.model.weights]


def test_steps_per_call_do_not_change_the_result():
  at_once, in_parts = (replica_equality.build(dropout=0.1) for _ in range(2))
  train(at_once, 6)
  data = iter(
    distribution.distribute(in_parts.strategy, replica_equality.dataset(6))
  )
  for steps in (1, 2, 3):
    in_parts.train(data, steps)
  for a, b in zip(weights(at_once), weights(in_parts)):
    np.testing.assert_array_equal(a, b)


def test_the_loss_falls_on_a_batch_seen_again_and_again():
  training = replica_equality.build(dropout=0.0)
  data = replica_equality.dataset(1).repeat()
  iterator = iter(distribution.distribute(training.strategy, data))
  first = training.train(iterator, 1)
  last = training.train(iterator, 60)
  assert last["loss"] < 0.5 * first["loss"]


@pytest.mark.xla
@pytest.mark.slow
def test_xla_compiles_the_gradient_function():
  plain = replica_equality.build()
  compiled = replica_equality.build(jit_compile=True)
  train(plain, 3)
  train(compiled, 3)
  for a, b in zip(weights(plain), weights(compiled)):
    np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.xla
def test_a_step_compiles_under_xla_without_host_operations():
  training = replica_equality.build(dropout=0.1)
  batch = next(iter(replica_equality.dataset(1)))
  with training.strategy.scope():
    step = tf.function(training.train_step, jit_compile=True)
    metrics = step(batch)
    hlo = step.experimental_get_compiler_ir(batch)(stage="hlo")
  assert np.isfinite(np.array(list(metrics.values()))).all()
  for host_operation in ("custom-call", "outfeed", "infeed", "send", "recv"):
    assert f" {host_operation}(" not in hlo


def test_a_loss_that_is_not_finite_names_its_step():
  training = replica_equality.build()
  train(training, 2)

  def poison(index, batch):
    weight = tf.where(index == 2, np.float32("nan"), 1.0)
    name = "masked_lm_weights"
    return {**batch, name: batch[name] * weight}

  data = replica_equality.dataset(5).enumerate().map(poison)
  iterator = iter(distribution.distribute(training.strategy, data))
  with pytest.raises(training_loop.DivergedError, match="not finite at step 5"):
    training.train(iterator, 5)


@pytest.mark.parametrize("accumulation", [3, 16])
def test_a_batch_that_cannot_be_divided_is_refused(accumulation):
  with pytest.raises(ValueError, match="batch size .8. must be a multiple"):
    replica_equality.build(accumulation=accumulation)


def test_evaluation_ignores_padding_rows():
  training = replica_equality.build()
  [batch] = replica_equality.dataset(1)
  empty = {name: tf.zeros_like(x) for name, x in batch.items()}
  padded = {name: tf.concat([x, empty[name]], 0) for name, x in batch.items()}
  metrics, with_padding = (
    training.evaluate(
      distribution.distribute(
        training.strategy, tf.data.Dataset.from_tensors(b)
      )
    )
    for b in (batch, padded)
  )
  for name in ("masked_lm_loss", "masked_lm_accuracy", "next_sentence_loss"):
    assert with_padding[name] == pytest.approx(metrics[name], abs=1e-6)


@pytest.mark.parametrize("rematerialize", [False, True])
def test_nothing_keeps_the_weights_of_a_finished_training(rematerialize):
  training = replica_equality.build(dropout=0.2, rematerialize=rematerialize)
  data = distribution.distribute(training.strategy, replica_equality.dataset())
  training.train(iter(data), 1)
  training.evaluate(itertools.islice(data, 1))
  weights = [weakref.ref(weight.value) for weight in training.model.weights]
  del training
  gc.collect()
  assert not any(weight() for weight in weights)
