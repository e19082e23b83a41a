"""Base class of what is trained on plain Python values."""

import abc
import contextlib
import difflib
import os
import tempfile
import typing
from collections.abc import Iterable, Sequence

import keras
import numpy as np
import tensorflow as tf

from keras_bert_impl import calls, files, foreign_names, options, progress
from keras_bert_impl.estimators import (
  answering,
  keras_listener,
  records,
  typed,
)
from keras_bert_impl.model_folders import model_files
from keras_bert_impl.runs.fine_tuning import fine_tuning_config, job
from keras_bert_impl.training import experiment, stopping
from tfrecords.labelled import data_sets

if typing.TYPE_CHECKING:  # Of typing only from Python 3.11 on.
  from typing_extensions import Unpack

_TRAIN, _DEV = "train", "dev"
_START = "start"  # in the folder of a run that no checkpoint began
# Patience of a run that keeps its best checkpoint and never stops.
_NEVER = 1_000_000
# Flags that are arguments of `fit` by other names.
_FLAGS = {
  "num_train_epochs": "epochs",
  "train_batch_size": "batch_size",
  "teacher_checkpoint": "teacher",
}


class Trainable(calls.Public):
  """A model that is trained on plain Python values. Abstract.

  `fit` trains by the same code as the scripts: the same data, seed and settings
  give the same weights. A run begins with the newest checkpoint or, if the
  model in memory has other weights, with a copy of it in the run's folder.
  Interrupted, it leaves the model as it was.

  Attributes:
    checkpoint: str, path or name of the newest checkpoint; None of a model that
      has none yet.
    model: `keras.Model`.
    tokenizer: of `tokenizers.load`.
    results: dict, results.json of the last `fit`; {} before.
    fit_settings: dict, settings that every `fit` has, such as of `kb.lora`.
    kind: `kind.Kind` of what it is trained for; of the class.
    head: str, of `keras_bert_impl.heads`.
  """

  kind = None
  head = None
  # Names of the values of an example, the target last. Not `_fields`, by which
  # pydoc knows named tuples, and shows what is private.
  _keys = ()
  # Settings that name columns of a file.
  _columns = ()
  # Whether a folder of a run is one that the user has named.
  _has_report = True
  _task = {}  # What the checkpoint says of it.
  _files = model_files.ModelFilesConfig()
  _temporary = None

  checkpoint: str | None
  results: dict[str, typing.Any]
  fit_settings: dict[str, typing.Any]

  def fit(
    self,
    data: typed.Data,
    targets: Iterable[typing.Any] | None = None,
    validation_data: typed.HeldOut | None = None,
    epochs: float | None = None,
    batch_size: int | None = None,
    output_dir: typed.Path | None = None,
    restore_best: bool = False,
    callbacks: Sequence[keras.callbacks.Callback] = (),
    **settings: "Unpack[typed.FitSettings]",
  ) -> keras.callbacks.History:
    """Trains the model.

    Args:
      data: examples: a list, with `targets`; a list or another iterable of
        dicts; a `tf.data.Dataset` of dicts or of (input, target), batched or
        not; or the path of a file, as the script of the task reads it. The
        class says what they are.
      targets: list of as many targets, if `data` is a list of inputs.
      validation_data: examples to score after each epoch and at the end, as
        `data` or as a tuple (data, targets); or float in (0, 1), the share of
        the examples to hold out for that, the same each time.
      epochs: float, passes over the data; default: 3.
      batch_size: int, examples per step; default: 8.
      output_dir: str, folder of the run with its checkpoints, results.json and
        report.html: a run that was killed goes on there when `fit` is called
        again. Default: a temporary folder without report, removed with the
        estimator.
      restore_best: bool, whether to end with the weights of the epoch with the
        best score of validation_data.
      callbacks: list of `keras.callbacks.Callback` that read the logs.
      **settings: verbose=0, for no bars; sample_weight, list of the factors of
        the losses of texts, and class_weight, {class: factor}, as of
        `keras.Model.fit`; teacher, a model trained for the task to learn from,
        or a list of them: estimators or checkpoints; and other flags of the
        script by name, such as learning_rate or early_stopping_patience;
        what is not given is the script's default.

    Returns:
      `keras.callbacks.History`: `history` has, by epoch, `loss` and, with
      validation_data, `val_` and the name of each metric. An epoch is what ends
      with a checkpoint: save_checkpoints_steps makes others of them.

    Raises:
      ValueError: an example or a setting is wrong; names it.
      KeyboardInterrupt: Ctrl-C came, or a cell was interrupted.
    """
    settings = self.fit_settings | settings
    is_shown = _pop_verbose(settings) != 0
    weights = settings.pop(records.WEIGHT, None)
    data = records.weighted(data, weights, self._keys)
    columns = self._pop_columns(settings)
    splits = _splits(self, data, targets, validation_data, columns)
    values = _flags(epochs, batch_size, settings)
    values |= {"do_train": True, "do_eval": _DEV in splits}
    if restore_best:
      values = {"early_stopping_patience": _NEVER} | values
    listener = keras_listener.KerasListener(callbacks)
    temporary = None
    has_report = output_dir is not None and self._has_report
    if output_dir is None:
      temporary = tempfile.TemporaryDirectory(prefix="keras_bert_impl_")
      output_dir = temporary.name
    output_dir = os.fspath(output_dir)
    try:
      with progress.shown(is_shown), self._started(output_dir) as start:
        self.results = self._run(
          splits, start, output_dir, values, listener, has_report=has_report
        )
    except stopping.StoppedError as error:  # What a notebook knows.
      raise KeyboardInterrupt(str(error)) from error
    self._take(output_dir)
    if self._temporary:
      self._temporary.cleanup()
    self._temporary = temporary
    return listener.end()

  @abc.abstractmethod
  def save(self, path: typed.Path) -> None:
    """Writes a folder with model and tokenizer."""

  @abc.abstractmethod
  def _take(self, output_dir):
    """Takes over what a run has trained and found out."""

  @abc.abstractmethod
  def _holds_checkpoint(self):
    """Returns whether the model in memory is that of the checkpoint."""

  @abc.abstractmethod
  def _has_weights_of(self, path):
    """Returns whether the model in memory has the weights of a folder."""

  @abc.abstractmethod
  def _length(self):
    """Returns the most tokens of an example."""

  @contextlib.contextmanager
  def _started(self, output_dir):
    """Context in which a run has the checkpoint, str, that it begins with.

    What is written for it goes again where the data or settings are refused.

    Raises:
      ValueError: the run that goes on began with another model.
    """
    path = os.path.join(output_dir, _START)
    if files.exists(path):
      if not self._has_weights_of(path):
        raise ValueError(
          f"output_dir ({output_dir}) holds a run that began with other weights"
          " than the model has: choose another."
        )
      yield path
      return
    if self._holds_checkpoint():
      yield self.checkpoint
      return
    experiment.check_folder(output_dir)
    self.save(path)
    try:
      yield path
    except (OSError, ValueError):
      if files.list_folder(output_dir) == [_START]:
        tf.io.gfile.rmtree(path)
      raise

  @abc.abstractmethod
  def _example(self, record, place, number):
    """Returns the example of a record; see `records.read`."""

  @abc.abstractmethod
  def _read_file(self, path, **columns):
    """Returns the examples of a file; `columns` are those of `_columns`."""

  @abc.abstractmethod
  def _parts(self, run, splits, task_options):
    """Returns the `FineTuning` of a `job.Job` and {split: examples}."""

  def _known_options(self):
    """Returns {option of the task: value} that are known before training."""
    names = options.names(self.kind.options)
    return {k: v for k, v in self._task.items() if k in names}

  def _hold_out(self, examples, share):
    """Returns (training examples, held-out examples)."""
    return data_sets.hold_out(examples, share)

  def _pop_columns(self, settings):
    """Takes the names of columns out of settings, {setting: name}."""
    return answering.given(
      **{name: settings.pop(name, None) for name in self._columns}
    )

  def _examples(self, data, targets=None, name="data", columns=None):
    if isinstance(data, str | os.PathLike) and targets is None:
      return self._read_file(os.fspath(data), **columns or {})
    return [
      self._example(record, place, number)
      for number, (place, record) in enumerate(
        records.read(data, targets, self._keys, name)
      )
    ]

  def _run(
    self,
    splits,
    start,
    output_dir,
    values,
    listener,
    predict=None,
    has_report=False,
  ):
    """Runs the job that begins with a checkpoint; returns its results."""
    of_settings, others = _split(
      fine_tuning_config.FineTuningConfig,
      {"max_seq_length": self._length()} | vars(self._files) | values,
    )
    of_task, of_training = _split(self.kind.options, others)
    _check_settings(of_training, self.kind.options, self._columns)
    options.check_values(self.kind.options, of_task)
    if not (predict or values.get("do_train")):
      answering.check_trained(self)
    run = job.Job(
      fine_tuning_config.FineTuningConfig(**of_settings),
      output_dir=output_dir,
      init_checkpoint=start,
      **of_training,
    )
    task_options = self.kind.options(**self._known_options() | of_task)
    parts = self._parts(run, splits, task_options)
    return run.run(
      parts,
      splits,
      listener=listener,
      predict=predict,
      has_report=has_report,
    )


def same_weights(ours, theirs):
  """Returns whether {name: variable} of two models are equal where both are."""
  return all(
    np.array_equal(*map(keras.ops.convert_to_numpy, (ours[name], theirs[name])))
    for name in ours.keys() & theirs.keys()
  )


def _splits(estimator, data, targets, validation_data, columns):
  """Returns {split: examples} of what `fit` is given."""
  records.check_columns(columns, estimator._keys, data, validation_data)
  examples = estimator._examples(data, targets, columns=columns)
  if validation_data is None:
    return {_TRAIN: examples}
  if isinstance(validation_data, float):
    options.check_numbers("(0, 1)", validation_data=validation_data)
    kept, held_out = estimator._hold_out(examples, validation_data)
    return {_TRAIN: kept, _DEV: held_out}
  name = "validation_data"
  if not isinstance(validation_data, tuple):
    validation_data = (validation_data,)
  held_out = estimator._examples(*validation_data, name=name, columns=columns)
  return {_TRAIN: examples, _DEV: held_out}


def _pop_verbose(settings):
  """Takes `verbose` out of settings; returns it, as of `keras.Model.fit`."""
  verbose = settings.pop("verbose", 1)
  options.check_choice("verbose", verbose, ("auto", 0, 1, 2))
  return verbose


def _flags(epochs, batch_size, settings):
  """Returns the flags that are given to `fit`, {name: value}."""
  for flag in _FLAGS.keys() & settings.keys():
    raise TypeError(f"fit has no setting {flag}: here it is {_FLAGS[flag]}.")
  return answering.given(
    num_train_epochs=epochs,
    train_batch_size=batch_size,
    teacher_checkpoint=_checkpoints(settings.pop("teacher", None)),
    **settings,
  )


def _check_settings(of_training, options_class, columns):
  """Raises ValueError if there is a setting that no configuration has."""
  known = {*fine_tuning_config.training_values()}
  for name in of_training.keys() - known:
    known |= {*options.names(fine_tuning_config.FineTuningConfig)}
    known |= {*options.names(options_class)}
    known |= {*columns, "epochs", "batch_size"}
    [near] = difflib.get_close_matches(name, known, 1, 0)
    hint = foreign_names.hint(name) or f"; the nearest is {near}"
    raise ValueError(
      f"{name} ({of_training[name]!r}) is no setting{hint},"
      f" and all are {', '.join(sorted(known))}."
    )


def _split(config_class, values):
  """Returns the values that are fields of a dataclass, and the others."""
  names = options.names(config_class)
  own = {name: value for name, value in values.items() if name in names}
  others = {name: value for name, value in values.items() if name not in names}
  return options.parsed(config_class, own), others


def _checkpoints(teachers):
  """Returns the checkpoints of teachers, tuple of str, or None."""
  if not isinstance(teachers, list | tuple):
    teachers = [] if teachers is None else [teachers]
  paths = [getattr(each, "checkpoint", each) for each in teachers]
  for path in paths:
    if not isinstance(path, str | os.PathLike):
      raise ValueError(
        f"teacher ({type(path).__name__}) must be an estimator or a checkpoint"
        " that was trained for this task."
      )
  return tuple(map(os.fspath, paths)) or None
