"""Distillation: a task whose labels a teacher explains.

Source: Hinton et al. 2015, "Distilling the Knowledge in a Neural Network",
section 2.
"""

import dataclasses

from keras_bert_impl.tasks.basics import task as base

# Before the names of the teacher's outputs in a batch.
PREFIX = "teacher/"


@dataclasses.dataclass(frozen=True)
class DistilledTask(base.Task):
  """A task that is learned from labels and from a teacher's outputs.

  The loss is `weight` times that of the teacher's outputs, which a batch has
  under `PREFIX` and their name, plus 1 - `weight` times that of the labels.

  Attributes:
    task: `Task` with `taught_outputs`.
    temperature: float > 0.
    weight: float in [0, 1].
  """

  task: base.Task
  temperature: float
  weight: float

  @property
  def pads_left(self):
    """As of the task."""
    return self.task.pads_left

  def build_model(self):
    """Returns the model of the task, which is the student."""
    return self.task.build_model()

  def denominators(self, batch):
    """Returns those of the task, which both kinds of loss have."""
    return self.task.denominators(batch)

  def losses(self, batch, outputs):
    """Returns the weighted sums of both kinds."""
    soft = self._soft_losses(batch, outputs)
    return {
      name: (1.0 - self.weight) * loss + self.weight * soft[name]
      for name, loss in self.task.losses(batch, outputs).items()
    }

  def metrics(self, batch, outputs):
    """Returns those of the task, of the labels, and the teacher's losses."""
    numbers = self.task.denominators(batch)
    return self.task.metrics(batch, outputs) | {
      f"{name}_distillation": (loss, numbers[name])
      for name, loss in self._soft_losses(batch, outputs).items()
    }

  def _soft_losses(self, batch, outputs):
    taught = {n: batch[PREFIX + n] for n in self.task.taught_outputs}
    return self.task.soft_losses(batch, outputs, taught, self.temperature)
