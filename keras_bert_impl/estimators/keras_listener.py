"""Tells Keras callbacks of a training that is not Keras' own."""

import math

import keras


class KerasListener:
  """Tells callbacks of a run what `keras.Model.fit` would.

  Epochs are counted by checkpoints; batches are told in groups, as the loop
  reports them. Callbacks are for reading: the logs are theirs, and what they
  change of the model counts from the next step on. `model.stop_training` ends
  the training at the end of the epoch.

  Args:
    callbacks: list of `keras.callbacks.Callback`.

  Attributes:
    history: `keras.callbacks.History`: by epoch `loss`, the mean of its
      steps, and `val_` with the name of each metric.
  """

  def __init__(self, callbacks=()):
    self.history = keras.callbacks.History()
    self._callbacks = [*callbacks, self.history]
    self._list = None
    self._steps, self._loss = 0, 0.0

  def begin(self, experiment):
    """Begins the training of an `Experiment` where it is."""
    config = experiment.config
    self._every = config.save_checkpoints_steps
    self._model = experiment.model
    self._model.stop_training = False
    self._list = keras.callbacks.CallbackList(
      self._callbacks,
      model=self._model,
      epochs=math.ceil(config.num_train_steps / self._every),
      steps=self._every,
      verbose=0,
    )
    self._list.on_train_begin()
    self._last = experiment.loop.step
    self._list.on_epoch_begin(self._last // self._every)

  def on_report(self, step, scalars):
    """Tells of the steps up to `step`; see `run_log.RunLog`."""
    self._steps += step - self._last
    self._loss += (step - self._last) * scalars["loss"]
    self._last = step
    self._list.on_train_batch_end((step - 1) % self._every, dict(scalars))

  def on_checkpoint(self, step, scores):
    """Tells of the epoch that ends at `step`; returns whether to stop.

    Args:
      step: int.
      scores: {metric: float} of the dev set, or {}.
    """
    if not self._steps:  # The checkpoint that was resumed from.
      return False
    logs = {"loss": self._loss / self._steps}
    logs |= {f"val_{name}": value for name, value in scores.items()}
    self._steps, self._loss = 0, 0.0
    epoch = math.ceil(step / self._every) - 1
    self._list.on_epoch_end(epoch, logs)
    if step < self._list.params["steps"] * self._list.params["epochs"]:
      self._list.on_epoch_begin(epoch + 1)
    return self._model.stop_training

  def end(self):
    """Ends the training; returns the history."""
    if self._list is not None:  # None: there was nothing left to train.
      self._list.on_train_end()
    return self.history
