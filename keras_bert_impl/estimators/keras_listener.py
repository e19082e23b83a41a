"""Tells Keras callbacks of a training that is not Keras' own."""

import math

import keras

from keras_bert_impl import progress

_SCORE = "val_"  # before the name of a score


class KerasListener:
  """Tells callbacks, and the user, of a run what `keras.Model.fit` would.

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

  def begin(self, experiment, names_of_scores):
    """Begins the training of an `Experiment` where it is.

    Args:
      experiment: `Experiment`.
      names_of_scores: function of a set of names that returns those that
        `on_checkpoint` will tell.

    Raises:
      ValueError: a callback monitors what there will not be.
    """
    self._check_monitors(names_of_scores)
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
    logs |= {_SCORE + name: value for name, value in scores.items()}
    self._steps, self._loss = 0, 0.0
    epoch = math.ceil(step / self._every) - 1
    shown = ", ".join(f"{name} {value:.4f}" for name, value in logs.items())
    epochs = self._list.params["epochs"]
    progress.tell(f"Epoch {epoch + 1}/{epochs}: {shown}")
    self._list.on_epoch_end(epoch, logs)
    if step < self._list.params["steps"] * epochs:
      self._list.on_epoch_begin(epoch + 1)
    return self._model.stop_training

  def _check_monitors(self, names_of_scores):
    """Raises ValueError if a callback monitors another name than the logs'."""
    # A `ModelCheckpoint` that keeps all has a name, too, but does not read it.
    monitors = [
      callback
      for callback in self._callbacks
      if hasattr(callback, "monitor")
      and getattr(callback, "save_best_only", True)
      and callback.monitor != "loss"
    ]
    if not monitors:
      return
    wanted = {each.monitor.removeprefix(_SCORE) for each in monitors}
    known = ["loss", *(_SCORE + name for name in names_of_scores(wanted))]
    for callback in monitors:
      if callback.monitor not in known:
        raise ValueError(
          f"monitor ({callback.monitor!r}) of {type(callback).__name__} must be"
          f" one of {', '.join(known)}: scores are those of validation_data."
        )
      # Keras does not know the direction of scores that are not its metrics.
      if callback.mode == "auto":
        callback.mode = "max"

  def end(self):
    """Ends the training; returns the history."""
    if self._list is not None:  # None: there was nothing left to train.
      self._list.on_train_end()
    return self.history
