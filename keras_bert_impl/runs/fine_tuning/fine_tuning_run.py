"""One fine-tuning run: what it is made of, its steps and its model."""

import dataclasses
import functools
import gc
import math

import keras
from absl import logging

from keras_bert_impl import files
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.checkpoints.descriptions import config_json, description
from keras_bert_impl.checkpoints.naming import names
from keras_bert_impl.families import family
from keras_bert_impl.model_folders import run_folder, task_file
from keras_bert_impl.runs.fine_tuning import fine_tuning_config
from keras_bert_impl.training import experiment as experiment_lib
from keras_bert_impl.training import run_configuration, run_results, savers
from keras_bert_impl.training import training_config as config_lib
from tfrecords import lengths
from tfrecords.labelled import length_batches

_UNTRAINED = (
  "Train the missing weights with --do_train, or give the configuration of the"
  " checkpoint."
)
_DENOMINATORS = "denominators"


@dataclasses.dataclass(eq=False)
class Run:
  """A run, or what the runs of a search have in common.

  Attributes:
    fine_tuning: `FineTuning`, the task.
    data: `fine_tuning_data.Data`.
    settings: `fine_tuning_config.FineTuningConfig`.
    training: {field of `TrainingConfig`: value}, of `training_values`.
    config: {name: value}, the script's own settings, for results.json.
    values: {name: value} in which it differs from others of a search.
    teaching: `teaching.Teaching` of a run that learns from teachers, or None.
    listener: told of the training, as `KerasListener`; None to print its
      results.
    predict: function that answers rows instead of the model, as
      `Experiment.predict`, or None.
    begun: the content of run_config.json of the run or search that goes on, {}
      without one.
    has_report: bool, whether to draw pictures and write report.html.
    replaced_rows: {split: `Rows`} to read instead of those of the data: the
      same ones with more columns.

  Raises:
    ValueError: a value is out of range.
  """

  fine_tuning: object
  data: object
  settings: object
  training: dict
  config: dict = dataclasses.field(default_factory=dict)
  values: dict = dataclasses.field(default_factory=dict)
  listener: object = None
  teaching: object = None
  predict: object = None
  begun: dict = dataclasses.field(default_factory=dict)
  has_report: bool = True
  replaced_rows: dict = dataclasses.field(default_factory=dict, init=False)

  def __post_init__(self):
    fine_tuning_config.provisional_config(self.training)  # Checks the values.
    size = self.training["train_batch_size"]
    least = self.fine_tuning.task.least_examples
    if self.settings.do_train and size < least:
      raise ValueError(
        f"train_batch_size ({size}) must be at least {least}: the loss compares"
        " the examples of a batch, and one alone teaches nothing."
      )

  def varied(self, output_dir, **values):
    """Returns a `Run` in another folder.

    Args:
      output_dir: str.
      **values: fields of `TrainingConfig` or `FineTuningConfig` that differ.
    """
    of_training = {k: v for k, v in values.items() if k in self.training}
    of_settings = {k: v for k, v in values.items() if k not in of_training}
    return dataclasses.replace(
      self,
      settings=dataclasses.replace(self.settings, **of_settings),
      training=self.training | of_training | {"output_dir": output_dir},
      values=values,
    )

  @property
  def output_dir(self):
    """Folder of checkpoints and results, str."""
    return self.training["output_dir"]

  @functools.cached_property
  def folder(self):
    """The `RunFolder`."""
    return run_folder.RunFolder(self.output_dir)

  @property
  def results(self):
    """The content of results.json, dict."""
    return self.folder.results

  @property
  def is_scored(self):
    """Whether all splits except test sets have been evaluated."""
    evaluated = self.results.get("eval", {})
    return all(split in evaluated for split in self.data.dev_splits)

  @property
  def scores(self):
    """{metric: float}, scores of the split that selects runs, or {}."""
    return run_results.scores_of(self.results, self.data.selecting_split)

  @property
  def lengths(self):
    """Padded lengths of batches, ascending tuple of int."""
    training = self.training
    is_tpu = training["use_tpu"] or training["distribution_strategy"] == "tpu"
    by_length = self.settings.bucket_by_length and not is_tpu
    longest = self.fine_tuning.preprocessor.longest_row
    if not by_length and self.fine_tuning.preprocessor.reads_documents:
      splits = [*self.data.stages, *self.data.other_splits]
      longest = max(max(self.data.rows(split).lengths) for split in splits)
    return lengths.padded_lengths(int(longest), by_length=by_length)

  def rows(self, split):
    """Returns the `Rows` of a split as the run reads them."""
    if split in self.replaced_rows:
      return self.replaced_rows[split]
    is_taught = self.teaching and split in self.data.stages
    return (self.teaching if is_taught else self.data).rows(split)

  def stages(self):
    """Returns [(`Rows`, int: steps)] of the training data, in order."""
    if not self.data.stages:
      raise ValueError(
        'splits must have the key "train": --do_train needs training data.'
      )
    stages = []
    for split in self.data.stages:
      rows = self.rows(split)
      examples = len(rows) // self.fine_tuning.task.num_texts
      epochs = self.settings.num_train_epochs
      steps = examples * epochs / self.training["train_batch_size"]
      # Of fewer examples than a batch, each epoch is an update all the same.
      stages.append((rows, max(1, int(epochs), int(steps))))
    return stages

  def batches(self, start_step):
    """Returns the batches of the training from `start_step` on."""
    task = self.fine_tuning.task
    form = length_batches.Form(
      task.pads_left, task.num_texts, sorts=not task.compares_rows
    )
    return length_batches.training_batches(
      self.stages(),
      self.training["train_batch_size"],
      self.training["random_seed"],
      self.lengths,
      start_step,
      form,
      task.groups,
    )

  def training_config(self):
    """Returns the `TrainingConfig`, with the numbers of steps."""
    values, settings = self.training, self.settings
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
      for k, v in recorded(self.output_dir).items()
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
    if self.settings.do_train:
      of_training = {
        "lengths": list(self.lengths),
        "num_train_epochs": self.settings.num_train_epochs,
        "warmup_proportion": self.settings.warmup_proportion,
        "train_rows": [*map(self.data.fingerprint, self.data.stages)],
        **self.fine_tuning.task.describe_training(),
      }
      if self.fine_tuning.renewal:
        of_training["mine_every"] = self.fine_tuning.renewal.epochs
      if even := denominators(self):
        of_training[_DENOMINATORS] = even
      if self.teaching:
        of_training["distillation"] = self.teaching.describe()
    else:
      of_training = {
        name: value
        for name, value in recorded(self.output_dir).items()
        if name not in self.training
      }
    return of_training | {
      "encoder": self.fine_tuning.task.config.to_dict(),
      "vocabulary": self.data.vocabulary.fingerprint,
      "task": self.fine_tuning.describe(),
    }

  @functools.cached_property
  def experiment(self):
    """The `Experiment`, built at first use."""
    is_training, config = self.settings.do_train, self.training_config()
    experiment = experiment_lib.Experiment(
      (self.teaching or self.fine_tuning).task,
      config,
      self.fixed(),
      # Training can start from a random head; predictions cannot.
      required_prefixes=names.ENCODER_PREFIXES if is_training else ("",),
      remedy=None if is_training else _UNTRAINED,
    ).start()
    if is_training:
      experiment.loop.denominators = denominators(self)
    else:
      _check_checkpoints(self, config.init_checkpoint)
    _keep_model_files(self, experiment.model.config)
    return experiment

  def close(self):
    """Frees the memory of the model; a later use builds it again."""
    self.__dict__.pop("experiment", None)
    keras.utils.clear_session()
    gc.collect()  # Graphs and models refer to each other.


def denominators(run):
  """Returns {loss name: float} of each batch, so that all tokens count alike.

  {} where all rows do; and for a run that was begun when each batch was divided
  by its own number of tokens.
  """
  if run.begun and _DENOMINATORS not in run.begun:
    return {}
  task, stages = run.fine_tuning.task, run.stages()
  totals = [task.total_denominators(rows) for rows, _ in stages]
  share = run.training["train_batch_size"] / sum(len(r) for r, _ in stages)
  return {name: share * sum(t[name] for t in totals) for name in totals[0]}


def recorded(output_dir):
  """Returns the configuration of a run, or of the best of a search, or {}."""
  folder = reading.best_run(files.Folder(output_dir)) or output_dir
  return run_configuration.read_agreed(folder) if savers.latest(folder) else {}


def _keep_model_files(run, config):
  """Writes the model's files and task.json beside the checkpoints.

  Args:
    run: `Run`.
    config: `EncoderConfig` of the model.
  """
  task, folder = run.fine_tuning.task, run.folder
  of_texts = task.head in family.CLASSIFIERS
  length = run.settings.max_seq_length if of_texts else None
  data = run.data
  folder.keep_model_files(config, data.vocabulary, data.options, length)
  described = run.fine_tuning.describe() | run.fine_tuning.used_with
  folder.write_json(task_file.NAME, described)
  if not task.has_standard_head:
    return
  described = description.Description(config, task.stored_head, task.labels)
  try:
    values = config_json.to_dict(described) | task.config_values
    folder.write_json(config_json.FILE_NAME, values)
  except ValueError as error:
    # The other files say all that is needed here.
    logging.warning("%s is not written: %s", config_json.FILE_NAME, error)


def _check_checkpoints(run, origin):
  """Checks classes and vocabulary of the checkpoints to evaluate.

  Args:
    run: `Run`.
    origin: str, the checkpoint of a single model, or None.

  Raises:
    ValueError: a head has other classes, or members of the ensemble have
      different vocabularies.
  """
  ours, members = run.fine_tuning.task.labels or (), run.settings.members
  for path in members or filter(None, [origin]):
    checkpoint = reading.open_checkpoint(path)
    theirs = checkpoint.description and checkpoint.description.labels
    if theirs != ours and set(theirs or ()) & set(ours):
      raise ValueError(
        f"{path} has the classes {', '.join(theirs)}, in this order, but the"
        f" task has {', '.join(ours)}: train with --do_train, or give a"
        " checkpoint of this task."
      )
    theirs = experiment_lib.vocabulary_fingerprint(checkpoint.folder)
    if members and theirs not in (None, run.data.vocabulary.fingerprint):
      raise ValueError(
        f"ensemble_dirs: {path} has another vocabulary than the other runs, so"
        " its ids mean other tokens: give runs with the same vocabulary."
      )
