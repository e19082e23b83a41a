"""Learning-rate schedules: the rate at some steps."""

import numpy as np
import pytest

from keras_bert_impl.optimizers import optimization, schedules
from keras_bert_impl.training import training_config


def test_rate_rises_linearly_then_follows_the_decay_line_of_the_original():
  rate = schedules.WarmupThenLinearDecay(1e-3, warmup_steps=10, total_steps=100)
  rates = [float(rate(step)) for step in (0, 5, 9, 10, 55, 100, 120)]
  np.testing.assert_allclose(
    rates, [0, 5e-4, 9e-4, 9e-4, 4.5e-4, 0, 0], rtol=1e-6, atol=1e-12
  )


def test_a_warm_up_longer_than_the_run_is_refused():
  with pytest.raises(ValueError, match="num_warmup_steps .11."):
    schedules.WarmupThenLinearDecay(1e-3, warmup_steps=11, total_steps=10)


def test_a_trapezoid_rises_stays_and_falls_by_the_root():
  rate = schedules.Trapezoidal(
    1e-3, warmup_steps=10, total_steps=100, decay_steps=36
  )
  rates = [float(rate(step)) for step in (0, 5, 10, 64, 73, 80, 100, 120)]
  expected = [0, 5e-4, 1e-3, 1e-3, 5e-4, 1e-3 / 3, 0, 0]
  np.testing.assert_allclose(rates, expected, rtol=1e-6, atol=1e-12)


def test_a_trapezoid_may_lack_warm_up_or_decay():
  flat = schedules.Trapezoidal(1e-3, 0, 10, 0)
  np.testing.assert_allclose([float(flat(k)) for k in (0, 9)], 1e-3)
  falling = schedules.Trapezoidal(1e-3, 0, 4, 4)
  rates = [float(falling(step)) for step in range(5)]
  np.testing.assert_allclose(
    rates, 1e-3 * (1 - np.sqrt(np.arange(5) / 4)), rtol=1e-6, atol=1e-12
  )


@pytest.mark.parametrize("steps", [(6, 10, 5), (-1, 10, 5), (0, 10, -1)])
def test_a_trapezoid_that_does_not_fit_into_the_run_is_refused(steps):
  with pytest.raises(ValueError, match="num_decay_steps .*num_train_steps"):
    schedules.Trapezoidal(1e-3, *steps)


@pytest.mark.parametrize(
  ("num_train_steps", "given", "expected"),
  [
    (1, None, 0),
    (1500, None, 150),
    (9999, None, 999),
    (10000, None, 10000),
    (100000, None, 10000),
    (1500, 7, 7),
    (1500, 0, 0),
  ],
)
def test_a_run_shorter_than_the_usual_warm_up_has_a_shorter_one(
  num_train_steps, given, expected
):
  values = training_config.TrainingConfig(
    num_train_steps=num_train_steps, num_warmup_steps=given
  )
  steps = optimization.schedule_steps(values)
  assert steps["num_warmup_steps"] == expected
  optimization.make_schedule(values, **steps)
