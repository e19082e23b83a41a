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
    return {
      "peak": self.peak,
      "warmup_steps": self.warmup_steps,
      "total_steps": self.total_steps,
    }
