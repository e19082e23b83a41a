"""Runs a training loop to its last step: data, checkpoints, log, signals."""

import dataclasses
import time

from keras_bert_impl.training import distribution, stopping, training_loop

_SECONDS_PER_REPORT = 2.0


@dataclasses.dataclass(frozen=True)
class TrainingSummary:
  """Steps and speed of a run."""

  steps: int
  padding_share: float
  examples_per_second: float
  tokens_per_second: float


def train(loop, saver, make_batches, log, after_save=None, before_save=None):
  """Trains from the loop's current step to the end of its configuration.

  Args:
    loop: `TrainingLoop`, restored already.
    saver: `Saver`.
    make_batches: callable (start_step) -> global batches, as
      `distribution.distribute` takes them; batch k is the same for every
      start_step.
    log: `RunLog` or `NoLog`.
    after_save: callable (step) -> bool, called after each checkpoint, and with
      the one resumed from; True ends the training there.
    before_save: callable (), called before each checkpoint; what it raises
      leaves the one before in force.

  Returns:
    `TrainingSummary`; speeds count tokens that are not padding and leave out
    the first report, which compiles, unless it is the only one.

  Raises:
    DivergedError: with the step, a hint and the last good checkpoint.
    StoppedError: SIGINT or SIGTERM came, to any worker; a checkpoint has been
      written.
    WorkerLostError: another worker is gone.
  """
  config = loop.config
  batches = make_batches(loop.step)
  iterator = iter(distribution.distribute(loop.strategy, batches))
  meter = _Meter(config.iterations_per_loop, config.train_batch_size)

  def save():
    if before_save:
      before_save()
    return saver.save(loop.step)

  is_over = bool(after_save and loop.step and after_save(loop.step))
  with stopping.StopFlag() as stop:
    while True:
      number, was_stopped = distribution.agree(
        loop.strategy, meter.next_steps(), stop.name is not None
      )
      if was_stopped or is_over or loop.step >= config.num_train_steps:
        break
      every = config.save_checkpoints_steps
      goal = min((loop.step // every + 1) * every, config.num_train_steps)
      number = min(number, goal - loop.step)
      started = time.monotonic()
      metrics = _train_or_explain(loop, saver, iterator, number)
      rates = meter.record(number, time.monotonic() - started, metrics)
      log.write(loop.step, {**metrics, **rates})
      if loop.step == goal:
        save()
        is_over = bool(after_save and after_save(loop.step))
  if was_stopped:
    cause = stop.name or "another worker got a signal"
    raise stopping.StoppedError(
      f"{cause}: saved {save()}; the same command continues from there."
    )
  return TrainingSummary(steps=loop.step, **meter.totals())


def _train_or_explain(loop, saver, iterator, number):
  try:
    with distribution.losses_explained(loop.strategy):
      return loop.train(iterator, number)
  except training_loop.DivergedError as error:
    kept = saver.latest() or "none yet"
    raise training_loop.DivergedError(
      f"{error} Last good checkpoint: {kept}."
    ) from error


class _Meter:
  """Measures the speed, and how many steps fill one report.

  Steps are a tensor argument of the compiled loop and the result does not
  depend on how many go into one call, so their number may follow the clock.
  """

  def __init__(self, max_steps, batch_size):
    self._max_steps = max_steps
    self._batch_size = batch_size
    self._steps_per_second = None
    self._seconds = self._examples = self._tokens = 0.0
    self._steps = 0
    self._padding = 0.0

  def next_steps(self):
    if self._steps_per_second is None:
      return 1  # compiles
    steps = int(self._steps_per_second * _SECONDS_PER_REPORT)
    return max(1, min(self._max_steps, steps))

  def record(self, steps, seconds, metrics):
    """Returns the speeds of this report."""
    examples = steps * self._batch_size
    tokens = steps * metrics["tokens_per_step"]
    if self._steps == 1:  # What came before compiled.
      self._seconds = self._examples = self._tokens = 0.0
    self._steps += steps
    self._padding += steps * metrics["padding_share"]
    self._seconds += seconds
    self._examples += examples
    self._tokens += tokens
    self._steps_per_second = steps / seconds
    return {
      "examples_per_second": examples / seconds,
      "tokens_per_second": tokens / seconds,
    }

  def totals(self):
    """Returns the means of the run so far, for a `TrainingSummary`."""
    seconds = self._seconds or float("inf")
    return {
      "padding_share": self._padding / max(self._steps, 1),
      "examples_per_second": self._examples / seconds,
      "tokens_per_second": self._tokens / seconds,
    }
