"""Learning-rate schedules."""

import keras
from keras import ops


@keras.saving.register_keras_serializable("keras_bert_impl")
class WarmupThenLinearDecay(keras.optimizers.schedules.LearningRateSchedule):
  """Learning rate with linear warm-up, then the original's linear decay.

  The decay line runs from `peak` at step 0 to zero at `total_steps`; the rise
  replaces it below `warmup_steps`. So the rate drops from `peak` to
  `peak * (1 - warmup_steps / total_steps)` where the two meet, as it does in
  the original.

  Args:
    peak: float, the rate that the rise leads to.
    warmup_steps: int, updates of the rise; 0 for none.
    total_steps: int, updates of the whole run, > 0.

  Source: google-research/bert, optimization.py; Devlin et al. 2019, A.2.
  """

  def __init__(self, peak, warmup_steps, total_steps):
    super().__init__()
    if total_steps <= 0 or not 0 <= warmup_steps <= total_steps:
      raise ValueError(
        f"num_warmup_steps ({warmup_steps}) must lie between 0 and"
        f" num_train_steps ({total_steps}), which must be positive."
      )
    self.peak = peak
    self.warmup_steps = warmup_steps
    self.total_steps = total_steps

  def __call__(self, step):
    """Returns the rate (float32 scalar) after `step` updates."""
    step = ops.cast(step, "float32")
    rise = step / max(self.warmup_steps, 1)
    fall = ops.maximum(1.0 - step / self.total_steps, 0.0)
    return self.peak * ops.where(step < self.warmup_steps, rise, fall)

  def get_config(self):
    """Returns the constructor's arguments."""
    return dict(vars(self))


@keras.saving.register_keras_serializable("keras_bert_impl")
class Trapezoidal(keras.optimizers.schedules.LearningRateSchedule):
  """Learning rate with linear warm-up, constant phase and 1-sqrt decay.

  Also called warmup-stable-decay. A run without decay can be continued later,
  with the decay at its new end.

  Args:
    peak: float, the rate between warm-up and decay.
    warmup_steps: int, updates of the rise from zero; 0 for none.
    total_steps: int, updates of the whole run, > 0.
    decay_steps: int, last updates, in which the rate falls to zero; 0 for none.

  Raises:
    ValueError: warm-up and decay do not fit into the run.

  Source: Warner et al. 2024, section 2.2; Hägele et al. 2024, section 4.
  """

  def __init__(self, peak, warmup_steps, total_steps, decay_steps):
    super().__init__()
    is_room = warmup_steps + decay_steps <= total_steps
    if total_steps <= 0 or min(warmup_steps, decay_steps) < 0 or not is_room:
      raise ValueError(
        f"num_warmup_steps ({warmup_steps}) and num_decay_steps ({decay_steps})"
        " must be at least 0, and their sum at most num_train_steps"
        f" ({total_steps}), which must be positive."
      )
    self.peak = peak
    self.warmup_steps = warmup_steps
    self.total_steps = total_steps
    self.decay_steps = decay_steps

  def __call__(self, step):
    """Returns the rate (float32 scalar) after `step` updates."""
    step = ops.cast(step, "float32")
    decayed = step - (self.total_steps - self.decay_steps)
    share = ops.clip(decayed / max(self.decay_steps, 1), 0.0, 1.0)
    rise = step / max(self.warmup_steps, 1)
    fall = 1.0 - ops.sqrt(share)
    return self.peak * ops.where(step < self.warmup_steps, rise, fall)

  def get_config(self):
    """Returns the constructor's arguments."""
    return dict(vars(self))
