"""Plan of a run: its steps, batches and configuration."""

import dataclasses
import functools
import math

from keras_bert_impl.runs.fine_tuning import fine_tuning_config, report_material
from keras_bert_impl.training import run_configuration, savers
from keras_bert_impl.training import training_config as config_lib
from tfrecords import lengths
from tfrecords.labelled import length_batches


@dataclasses.dataclass(frozen=True)
class Setup:
  """The common setup of all runs of a job.

  Attributes:
    fine_tuning: `FineTuning`, the task.
    data: `fine_tuning_data.Data`.
    settings: `fine_tuning_config.FineTuningConfig`.
    training: {field of `TrainingConfig`: value}, of `training_values`.
    config: {name: value}, the script's own settings, for results.json.
  """

  fine_tuning: object
  data: object
  settings: object
  training: dict
  config: dict

  @functools.cached_property
  def cards(self):
    """`report_material.Cards` of the data, the same for all runs."""
    return report_material.Cards(self.data, self.fine_tuning.evaluator)

  @property
  def lengths(self):
    """Padded lengths of batches, ascending tuple of int."""
    training = self.training
    is_tpu = training["use_tpu"] or training["distribution_strategy"] == "tpu"
    return lengths.padded_lengths(
      self.fine_tuning.preprocessor.max_seq_length,
      by_length=self.settings.bucket_by_length and not is_tpu,
    )


class Plan:
  """The plan of one run of a `Setup`.

  Args:
    setup: `Setup`.
    output_dir: str.
    values: {name: value} that replace those of the setup: fields of
      `TrainingConfig` or `FineTuningConfig`.

  Attributes:
    setup: as given.
    settings: `fine_tuning_config.FineTuningConfig`, with the values.

  Raises:
    ValueError: a value is out of range.
  """

  def __init__(self, setup, output_dir, values):
    of_training = {k: v for k, v in values.items() if k in setup.training}
    of_settings = {k: v for k, v in values.items() if k not in of_training}
    self.setup = setup
    self.settings = dataclasses.replace(setup.settings, **of_settings)
    self._output_dir = output_dir
    self._training = setup.training | of_training | {"output_dir": output_dir}
    self._rows = {}
    fine_tuning_config.provisional_config(self._training)  # Checks the values.

  def rows(self, split):
    """Returns the `Rows` of a split as the run reads them."""
    return self._rows.get(split) or self.setup.data.rows(split)

  def replace_rows(self, split, rows):
    """Makes the run read other rows: the same ones with more columns."""
    self._rows[split] = rows

  def stages(self):
    """Returns [(`Rows`, int: steps)] of the training data, in order."""
    data = self.setup.data
    if not data.stages:
      raise ValueError(
        'splits must have the key "train": --do_train needs training data.'
      )
    stages = []
    for split in data.stages:
      rows = self.rows(split)
      steps = len(rows) * self.settings.num_train_epochs
      steps = int(steps / self._training["train_batch_size"])
      stages.append((rows, max(1, steps)))
    return stages

  def batches(self, start_step):
    """Returns the batches of the training from `start_step` on."""
    return length_batches.training_batches(
      self.stages(),
      self._training["train_batch_size"],
      self._training["random_seed"],
      self.setup.lengths,
      start_step,
      self.setup.fine_tuning.task.pads_left,
    )

  def training_config(self):
    """Returns the `TrainingConfig`, with the numbers of steps."""
    values, settings = self._training, self.settings
    if settings.do_train:
      steps = sum(number for _, number in self.stages())
      every = values["save_checkpoints_steps"] or math.ceil(
        steps / settings.num_train_epochs
      )
      return config_lib.TrainingConfig(
        **values
        | {
          "num_train_steps": steps,
          "num_warmup_steps": int(steps * settings.warmup_proportion),
          "save_checkpoints_steps": every,
        }
      )
    # Evaluation takes the training options from the recorded run, except an
    # --init_checkpoint that is given.
    values = values | {
      k: v
      for k, v in self._recorded().items()
      if k in values
      and k not in config_lib.FREE_FIELDS
      and not (k == "init_checkpoint" and values[k])
    }
    values["save_checkpoints_steps"] = 1
    if settings.members:
      values["init_checkpoint"] = settings.members[0]
    return config_lib.TrainingConfig(**values | {"num_warmup_steps": 0})

  def fixed(self):
    """Returns {name: value} that a resumed run must keep, beside its config."""
    fine_tuning, data = self.setup.fine_tuning, self.setup.data
    if self.settings.do_train:
      of_training = {
        "lengths": list(self.setup.lengths),
        "num_train_epochs": self.settings.num_train_epochs,
        "warmup_proportion": self.settings.warmup_proportion,
        "train_rows": [data.fingerprint(split) for split in data.stages],
      }
    else:
      of_training = {
        name: value
        for name, value in self._recorded().items()
        if name not in self.setup.training
      }
    return of_training | {
      "encoder": fine_tuning.task.config.to_dict(),
      "vocabulary": data.vocabulary.fingerprint,
      "task": fine_tuning.describe(),
    }

  def _recorded(self):
    """Returns the configuration recorded in the folder; {} without a run."""
    if not savers.latest(self._output_dir):
      return {}
    return run_configuration.read_agreed(self._output_dir)
