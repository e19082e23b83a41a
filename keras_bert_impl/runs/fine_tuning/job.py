"""Fine-tuning from examples to scores and files, for scripts and Python.

A script reads its examples and chooses its task; this package does the rest:

  fine_tuning_config.py  options
  fine_tuning_run.py     a run: steps, batches, what a continued one must keep
  run_actions.py         what is done with it: training, scores, files, report
  teaching.py            what teachers say of the rows
  renewal.py             rounds whose examples the model makes
  early_stopping.py      ends a run when its dev scores stop improving
  predictions.py         outputs of a model, or of an ensemble
  search.py              restarts, and a grid of hyper-parameters

The splits, their rows on disk and the outputs of a frozen encoder for them are
those of `runs/labelled_data`.

Order of initialisation: (1) a checkpoint in output_dir is resumed; (2) without
one, the encoder comes from init_checkpoint and the head from random_seed.
"""

import functools
import os

from keras_bert_impl import files, locks, tokenizers
from keras_bert_impl.model_folders import model_files, task_file
from keras_bert_impl.runs.fine_tuning import (
  fine_tuning_config,
  fine_tuning_run,
  search,
  teaching,
)
from keras_bert_impl.runs.labelled_data import fine_tuning_data
from keras_bert_impl.training import experiment, freezing


class Job:
  """Fine-tuning of one model: the body of every fine-tuning script.

  Args:
    settings: `fine_tuning_config.FineTuningConfig`.
    **training: fields of `TrainingConfig` except the numbers of steps that are
      given: output_dir, init_checkpoint, learning_rate, ...; for the defaults
      see `fine_tuning_config.training_values`.

  Attributes:
    settings: as given.
    encoder_config: `EncoderConfig` of the model to fine-tune.

  Raises:
    ValueError: options, model and vocabulary do not fit together, or another
      process writes into output_dir.
    FileNotFoundError: the configuration or vocabulary does not exist.
  """

  def __init__(self, settings, **training):
    self.settings = settings
    if not training.get("output_dir"):
      raise ValueError("--output_dir must be given.")
    self._begun = fine_tuning_run.recorded(training["output_dir"])
    self._training = fine_tuning_config.training_values(
      settings.recipe, self._begun, **training
    )
    if self._training["distribution_strategy"] == "multi_worker_mirrored":
      raise ValueError(
        "distribution_strategy=multi_worker_mirrored is for pre-training:"
        " fine-tune with mirrored on one machine."
      )
    # A wrong option fails here, before examples are read.
    with locks.of_folder(self._training["output_dir"]):
      pass
    provisional = fine_tuning_config.provisional_config(self._training)
    experiment.check_start(provisional)
    experiment.strategy_of(provisional)
    self._files = model_files.find(
      settings, self._checkpoint(), settings.max_seq_length
    )
    freezing.check(self._training["train_layers"], self.encoder_config)

  @property
  def encoder_config(self):
    """`EncoderConfig` of the model to fine-tune."""
    return self._files.encoder_config

  @functools.cached_property
  def tokenizer(self):
    """The tokenizer of the model, of `tokenizers.load`."""
    return tokenizers.make(
      self._files.vocabulary, self._files.tokenizer_options
    )

  @property
  def init_checkpoint(self):
    """Checkpoint to start from, str or None."""
    return self._training["init_checkpoint"]

  @property
  def output_dir(self):
    """Folder of the run, str."""
    return self._training["output_dir"]

  def run(
    self,
    fine_tuning,
    splits,
    config=None,
    counts=None,
    listener=None,
    predict=None,
    has_report=True,
  ):
    """Trains, evaluates, predicts and reports, as the settings say.

    Args:
      fine_tuning: `FineTuning`, the task.
      splits: {name: list of examples}. "train" may also be a list of such
        lists, to train on one after the other. Names that begin with "test" are
        for do_predict; all others are for evaluation, and the first of those
        with labels selects runs and checkpoints.
      config: {name: JSON value}, a script's own settings, for results.json.
      counts: {split: {what: int}}, counts of the readers of the examples.
      listener: as `fine_tuning_run.Run`.
      predict: as `fine_tuning_run.Run`.
      has_report: as `fine_tuning_run.Run`.

    Returns:
      dict, the content of results.json.
    """
    longest = fine_tuning.preprocessor.max_seq_length
    if longest != self.settings.max_seq_length:
      raise ValueError(
        f"max_seq_length of the preprocessor ({longest}) must equal that of the"
        f" settings ({self.settings.max_seq_length})."
      )
    output_dir = self._training["output_dir"]
    data = fine_tuning_data.Data(
      fine_tuning.preprocessor,
      splits,
      self._files.vocabulary,
      self._files.tokenizer_options,
      os.path.join(output_dir, "records"),
      counts,
      self.settings.max_unknown_share,
    )
    is_taught = self.settings.teachers and self.settings.do_train
    run = fine_tuning_run.Run(
      fine_tuning,
      data,
      self.settings,
      self._training,
      config or {},
      listener=listener,
      predict=predict,
      has_report=has_report,
      begun=self._begun,
      teaching=teaching.Teaching(fine_tuning, data, self.settings)
      if is_taught
      else None,
    )
    with locks.of_folder(output_dir):
      return search.run(run)

  def described_task(self, kind=None):
    """Returns task.json of the run to continue or use; {} if there is none.

    Args:
      kind: `kind.Kind` of the task, by which it is checked.

    Raises:
      ValueError: it is damaged, or another kind's.
    """
    folders = [self._training["output_dir"], *self.settings.members]
    if self._training["init_checkpoint"]:
      folders.append(model_files.folder_of(self._training["init_checkpoint"]))
    for folder in folders:
      task = task_file.read(folder, [kind] if kind else [])
      if task:
        return task
    return {}

  def _checkpoint(self):
    """Returns the path of the checkpoint that describes the model, or None."""
    settings, training = self.settings, self._training
    if settings.members:
      return settings.members[0]
    if training["init_checkpoint"]:
      return training["init_checkpoint"]
    if files.is_folder(training["output_dir"]):
      return training["output_dir"]
    if not settings.bert_config_file:
      raise ValueError(
        "--init_checkpoint must be given: the model to fine-tune, such as"
        " uncased_L-12_H-768_A-12/bert_model.ckpt; or --bert_config_file, to"
        " start from random weights."
      )
    return None
