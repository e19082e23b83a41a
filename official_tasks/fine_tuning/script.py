"""What the fine-tuning scripts share: from examples to scores and files.

A script reads its examples and names its task; the rest is here: ids on disk,
batches by length, training that resumes, restarts, a grid of hyper-parameters,
early stopping, ensembles, evaluation, predictions and the report.

Order of initialisation: (1) a checkpoint in --output_dir is resumed, (2) else
the encoder comes from --init_checkpoint and the head from --random_seed.
"""

import dataclasses
import math
import os

from absl import flags
from etils import epy

from keras_bert_impl import files, options
from keras_bert_impl.training import config as config_lib
from official_tasks.command_line import common
from official_tasks.model_folders import files as model_files
from official_tasks.model_folders import task_file

with epy.lazy_imports():
  from keras_bert_impl.training import experiment
  from official_tasks.fine_tuning import data as fine_tuning_data
  from official_tasks.fine_tuning import run as fine_tuning_run
  from official_tasks.fine_tuning import search as fine_tuning_search

# In their place: num_train_epochs, warmup_proportion; all rows are evaluated.
_DERIVED = ("num_train_steps", "num_warmup_steps", "max_eval_steps")


@dataclasses.dataclass(frozen=True)
class FineTuningConfig(model_files.ModelFilesConfig):
  """What is done with a model; names and defaults of google-research/bert.

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
    if self.ensemble_dirs and not common.split_names(self.ensemble_dirs):
      raise ValueError(f"ensemble_dirs ({self.ensemble_dirs!r}) names none.")

  @property
  def needs_dev(self):
    """Whether a dev set is scored, or runs are selected or ended by one."""
    is_selected = (
      self.grid or self.num_restarts > 1 or self.early_stopping_patience
    )
    return self.do_eval or bool(self.do_train and is_selected)


def define_flags():
  """Defines the flags of `FineTuningConfig` and `TrainingConfig`."""
  common.define_flags(FineTuningConfig)
  common.define_flags(
    config_lib.TrainingConfig,
    leave_out=_DERIVED,
    save_checkpoints_steps=0,
    keep_checkpoint_max=1,
    eval_batch_size=32,
  )
  flags.FLAGS["save_checkpoints_steps"].help += " 0: one epoch."
  flags.DEFINE_alias("predict_batch_size", "eval_batch_size")


class Frame:
  """One fine-tuning script, from its examples to its report.

  Reads the flags that `define_flags` defines.

  Attributes:
    settings: `FineTuningConfig`.

  Raises:
    ValueError: flags, model and vocabulary do not fit together.
    FileNotFoundError: there is no configuration or vocabulary.
  """

  def __init__(self):
    self.settings = common.from_flags(FineTuningConfig)
    self._training = {
      field.name: flags.FLAGS[field.name].value
      for field in dataclasses.fields(config_lib.TrainingConfig)
      if field.name not in _DERIVED
    }
    if not self._training["output_dir"]:
      raise ValueError("--output_dir must be given.")
    if self._training["distribution_strategy"] == "multi_worker_mirrored":
      raise ValueError(
        "distribution_strategy=multi_worker_mirrored is for pre-training:"
        " fine-tune with mirrored on one machine."
      )
    # What is wrong with the values, or with the devices, is told before the
    # examples are read.
    experiment.strategy_of(fine_tuning_run.training_config(self._training))
    self._files = model_files.find(
      self.settings, self._checkpoint(), self.settings.max_seq_length
    )

  @property
  def encoder_config(self):
    """`EncoderConfig` of the model to fine-tune."""
    return self._files.encoder_config

  def run(self, fine_tuning, splits, config, counts=None):
    """Trains, evaluates, predicts and reports, as the flags say.

    Args:
      fine_tuning: `FineTuning`, the task.
      splits: {name: list of examples}. "train" may be a list of such lists,
        which are trained on one after the other; "test..." are predicted under
        --do_predict, all others scored (if they have labels) and predicted.
        Runs are selected by the first of those.
      config: dataclass, the script's own settings, for results.json.
      counts: {split: {what: int}}, what reading the examples had to tell of.
    """
    data = fine_tuning_data.Data(
      fine_tuning.preprocessor,
      splits,
      self._files.vocabulary_path,
      self._files.tokenizer_options,
      os.path.join(self._training["output_dir"], "records"),
      counts,
    )
    fine_tuning_search.run(
      fine_tuning_run.Setup(
        fine_tuning,
        data,
        self.settings,
        self._training,
        dataclasses.asdict(config),
      )
    )

  def described_task(self):
    """Returns the task of the run that is gone on with or used; {} if none."""
    folders = [
      self._training["output_dir"],
      *common.split_names(self.settings.ensemble_dirs or ""),
    ]
    if self._training["init_checkpoint"]:
      folders.append(model_files.folder_of(self._training["init_checkpoint"]))
    for folder in folders:
      task = task_file.read(folder)
      if task:
        return task
    return {}

  def _checkpoint(self):
    """Returns the checkpoint that says what the model is; None without one."""
    settings, training = self.settings, self._training
    if settings.ensemble_dirs:
      return common.split_names(settings.ensemble_dirs)[0]
    if training["init_checkpoint"]:
      return training["init_checkpoint"]
    if files.is_folder(training["output_dir"]):
      return training["output_dir"]
    if not settings.bert_config_file:
      raise ValueError(
        "--init_checkpoint must be given: what to fine-tune, such as"
        " uncased_L-12_H-768_A-12/bert_model.ckpt; or --bert_config_file, to"
        " begin from random weights."
      )
    return None
