"""Configuration of fine-tuning; its fields become flags of the scripts."""

import dataclasses

from keras_bert_impl import options
from keras_bert_impl.model_folders import model_files
from keras_bert_impl.training import training_config

# Fields of `TrainingConfig` that num_train_epochs, warmup_proportion and the
# number of rows replace.
DERIVED = ("num_train_steps", "num_warmup_steps", "max_eval_steps")
# Of few rows: updates of the rate that is given, where the original's are
# several times that, and more of them; docs/fine_tuning.md. --recipe=paper
# leaves the original's.
OF_FEW_ROWS = {"use_bias_correction": True, "train_batch_size": 8}
# Defaults that differ from those of pre-training; 0 means one epoch.
DEFAULTS = {
  "save_checkpoints_steps": 0,
  "keep_checkpoint_max": 1,
  "eval_batch_size": 32,
  **OF_FEW_ROWS,
}
PAPER = "paper"


@dataclasses.dataclass(frozen=True)
class FineTuningConfig(model_files.ModelFilesConfig):
  """Configuration of fine-tuning; names are those of google-research/bert.

  Raises:
    ValueError: a value is out of range, or neither training, evaluation nor
      prediction is requested.
  """

  max_seq_length: int = options.common(
    128,
    "Maximum tokens per row; longer texts are cut or split into windows.",
    interval=options.SEQ_LENGTHS,
  )
  do_train: bool = options.common(False, "Whether to train.")
  do_eval: bool = options.common(False, "Whether to score the dev set.")
  do_predict: bool = options.common(
    False, "Whether to write predictions for the test set."
  )
  recipe: str | None = options.common(
    None,
    "Settings that are not given: as in google-research/bert.",
    (PAPER,),
  )
  num_train_epochs: float = options.common(
    3.0,
    "Passes over the data; each is a step at least.",
    interval="(0, 1000000]",
  )
  max_unknown_share: float = options.field(
    0.5,
    "Most words with [UNK] in the texts to train on, above which they are"
    " refused; 1 allows any.",
    interval="[0, 1]",
  )
  warmup_proportion: float = options.field(
    0.1,
    "Share of the training steps for the learning-rate warm-up.",
    interval="[0, 1]",
  )
  bucket_by_length: bool = options.field(
    True,
    "Whether to batch rows of similar length and pad them only to the longest;"
    " False, and TPUs, pad all rows to max_seq_length.",
  )
  early_stopping_patience: int = options.field(
    0,
    "Number of evaluations on the dev set, one per checkpoint, without a better"
    " score before training stops; the best checkpoint is kept. 0: never stop.",
    interval="[0, 1000000]",
  )
  num_restarts: int = options.common(
    1,
    "Number of runs from one checkpoint, each with its own seed for head, data"
    " order and dropout.",
    interval="[1, 1000]",
  )
  grid: str | None = options.common(
    None,
    "Hyper-parameters to search; the best run on the dev set is kept. paper"
    " (batch 16, 32; learning rate 5e-5, 4e-5, 3e-5, 2e-5; 2 to 4 epochs), or"
    ' lists such as "learning_rate=5e-5,3e-5;num_train_epochs=2,3".',
  )
  ensemble_dirs: tuple[str, ...] | None = options.listed(
    None,
    "output_dirs of finished runs, comma-separated, that predict together as an"
    " ensemble: their logits are averaged. Not with --do_train.",
  )

  teacher_checkpoint: tuple[str, ...] | None = options.listed(
    None,
    "Models trained for the task, comma-separated: the run learns their mean"
    " logits beside the labels.",
  )
  distillation_temperature: float = options.field(
    2.0,
    "Number that the logits of teacher and student are divided by.",
    interval="[0.01, 1000]",
  )
  distillation_weight: float = options.field(
    0.5,
    "Weight of the loss of the teacher's outputs; that of the labels has the"
    " rest.",
    interval="[0, 1]",
  )

  def __post_init__(self):
    options.check_fields(self)
    if not (self.do_train or self.do_eval or self.do_predict):
      raise ValueError(
        "at least one of --do_train, --do_eval and --do_predict must be True."
      )
    options.check_exclusive(self, "ensemble_dirs", "do_train")
    if self.ensemble_dirs == ():
      raise ValueError(
        f"ensemble_dirs ({self.ensemble_dirs!r}) must name at least one"
        " output_dir of a finished run."
      )
    if not self.teachers:
      names = ("distillation_temperature", "distillation_weight")
      options.check_unused(self, names, "--teacher_checkpoint")

  @property
  def members(self):
    """Output directories of the runs in the ensemble, list of str."""
    return [*(self.ensemble_dirs or ())]

  @property
  def teachers(self):
    """Checkpoints of the teachers, list of str."""
    return [*(self.teacher_checkpoint or ())]

  @property
  def needs_dev(self):
    """Whether a dev set is needed for scores, selection or early stopping."""
    is_selected = (
      self.grid or self.num_restarts > 1 or self.early_stopping_patience
    )
    return self.do_eval or bool(self.do_train and is_selected)


def training_values(recipe=None, begun=None, **values):
  """Returns {field of `TrainingConfig`: value}, without the numbers of steps.

  Args:
    recipe: str, as of `FineTuningConfig`.
    begun: {field: value} of a run that goes on, which keeps the original's.
    **values: values that replace the defaults; save_checkpoints_steps=0 means
      one epoch.

  Raises:
    ValueError: a name is no such field.
  """
  of_paper = {
    field.name: field.default
    for field in dataclasses.fields(training_config.TrainingConfig)
    if field.name not in DERIVED
  }
  known = of_paper if recipe == PAPER else begun or {}
  kept = {
    name: of_paper[name]
    for name in OF_FEW_ROWS
    if known.get(name) == of_paper[name]
  }
  defaults = of_paper | DEFAULTS | kept
  unknown = values.keys() - defaults.keys()
  if unknown:
    raise ValueError(
      f"{sorted(unknown)[0]!r} is not an option of fine-tuning: choose from"
      f" {', '.join(sorted(defaults))}."
    )
  return defaults | values


def provisional_config(values):
  """Returns a `TrainingConfig` before the number of steps is known.

  Args:
    values: as `training_values` returns them.

  Raises:
    ValueError: one is out of range.
  """
  every = values["save_checkpoints_steps"] or 1
  return training_config.TrainingConfig(
    **values | {"save_checkpoints_steps": every}
  )
