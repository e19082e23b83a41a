"""Configuration of fine-tuning; its fields become flags of the scripts."""

import dataclasses
import math

from keras_bert_impl import options
from keras_bert_impl.training import config as config_lib
from official_tasks.command_line import common
from official_tasks.model_folders import files as model_files

# Fields of `TrainingConfig` that have others in their place: num_train_epochs,
# warmup_proportion; all rows are evaluated.
DERIVED = ("num_train_steps", "num_warmup_steps", "max_eval_steps")
# Defaults that are not those of pre-training; 0 stands for an epoch.
DEFAULTS = {
  "save_checkpoints_steps": 0,
  "keep_checkpoint_max": 1,
  "eval_batch_size": 32,
}


@dataclasses.dataclass(frozen=True)
class FineTuningConfig(model_files.ModelFilesConfig):
  """Configuration of fine-tuning; names and defaults of google-research/bert.

  Raises:
    ValueError: if a value is out of range or nothing is to be done.
  """

  max_seq_length: int = options.common(
    128, "Most tokens per row; what is longer is cut or, if it can be, split."
  )
  do_train: bool = options.common(False, "Whether to train.")
  do_eval: bool = options.common(False, "Whether to score the dev set.")
  do_predict: bool = options.common(
    False, "Whether to write predictions for the test set."
  )
  num_train_epochs: float = options.common(3.0, "Passes over the data.")
  warmup_proportion: float = options.field(
    0.1, "Share of the training with a rising learning rate."
  )
  bucket_by_length: bool = options.field(
    True,
    "Batches of rows of about the same length, padded no further than needed;"
    " False pads all to max_seq_length, as TPUs always do.",
  )
  early_stopping_patience: int = options.field(
    0,
    "Evaluations on the dev set, one at each checkpoint, without a better score"
    " before training ends; the best checkpoint is kept. 0: train to the end.",
  )
  num_restarts: int = options.common(
    1,
    "Runs from the same checkpoint, each with its own head, data order and"
    " dropout (random_seed, random_seed + 1, ...).",
  )
  grid: str | None = options.common(
    None,
    "Hyper-parameters to try, the best on the dev set being kept: paper (batch"
    " 16, 32; learning rate 5e-5, 4e-5, 3e-5, 2e-5; 2 to 4 epochs), or lists"
    ' such as "learning_rate=5e-5,3e-5;num_train_epochs=2,3".',
  )
  ensemble_dirs: str | None = options.field(
    None,
    "output_dirs of finished runs, comma-separated, whose logits are averaged"
    " instead of training.",
  )

  def __post_init__(self):
    if not (self.do_train or self.do_eval or self.do_predict):
      raise ValueError(
        "at least one of --do_train, --do_eval and --do_predict must be True."
      )
    for name in ("max_seq_length", "num_restarts"):
      if getattr(self, name) < 1:
        raise ValueError(f"{name} ({getattr(self, name)}) must be positive.")
    if self.early_stopping_patience < 0:
      raise ValueError(
        f"early_stopping_patience ({self.early_stopping_patience}) is negative."
      )
    if not 0 < self.num_train_epochs < math.inf:
      raise ValueError(
        f"num_train_epochs ({self.num_train_epochs}) must be positive."
      )
    if not 0 <= self.warmup_proportion <= 1:
      raise ValueError(
        f"warmup_proportion ({self.warmup_proportion}) must lie in [0, 1]."
      )
    if self.ensemble_dirs and self.do_train:
      raise ValueError("--ensemble_dirs is without --do_train.")
    if self.ensemble_dirs and not self.members:
      raise ValueError(f"ensemble_dirs ({self.ensemble_dirs!r}) names none.")

  @property
  def members(self):
    """Output directories of the runs of an ensemble, list of str."""
    return common.split_names(self.ensemble_dirs or "")

  @property
  def needs_dev(self):
    """Whether a dev set is needed for scores, selection or early stopping."""
    is_selected = (
      self.grid or self.num_restarts > 1 or self.early_stopping_patience
    )
    return self.do_eval or bool(self.do_train and is_selected)


def training_values(**values):
  """Returns {field of `TrainingConfig`: value}, without the numbers of steps.

  Args:
    **values: in place of the defaults; save_checkpoints_steps of 0 is an epoch.

  Raises:
    ValueError: there is no such field.
  """
  defaults = {
    field.name: field.default
    for field in dataclasses.fields(config_lib.TrainingConfig)
    if field.name not in DERIVED
  } | DEFAULTS
  unknown = values.keys() - defaults.keys()
  if unknown:
    raise ValueError(f"{sorted(unknown)[0]} is no option of a fine-tuning.")
  return defaults | values


def provisional_config(values):
  """Returns a `TrainingConfig` before the number of steps is known.

  Args:
    values: as `training_values` returns them.

  Raises:
    ValueError: one is out of range.
  """
  every = values["save_checkpoints_steps"] or 1
  return config_lib.TrainingConfig(**values | {"save_checkpoints_steps": every})
