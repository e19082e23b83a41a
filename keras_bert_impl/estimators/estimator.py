"""Base class of estimators: a checkpoint and the options of its task."""

import abc
import difflib
import inspect
import os
import tempfile
import typing
from collections.abc import Callable, Iterable, Sequence

import keras
import numpy as np
import tensorflow as tf

from keras_bert_impl import (
  calls,
  files,
  foreign_names,
  heads,
  options,
  progress,
)
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.estimators import (
  keras_listener,
  model_card,
  records,
  typed,
)
from keras_bert_impl.model_folders import (
  conversion,
  model_files,
  task_file,
  trained_models,
  trained_servables,
)
from keras_bert_impl.runs.fine_tuning import fine_tuning_config, job
from keras_bert_impl.serving import export as export_lib
from keras_bert_impl.serving import servables
from keras_bert_impl.serving.small import export as small
from keras_bert_impl.training import stopping
from tfrecords.labelled import data_sets

Input = typing.TypeVar("Input")
Answer = typing.TypeVar("Answer")
_Arguments = typing.ParamSpec("_Arguments")
_Class = typing.TypeVar("_Class")
if typing.TYPE_CHECKING:  # Of typing only from Python 3.11 on.
  from typing_extensions import Unpack

_TRAIN, _DEV = "train", "dev"
# Patience of a run that keeps its best checkpoint and never stops.
_NEVER = 1_000_000
# Flags that are arguments of `fit` by other names.
_FLAGS = {
  "num_train_epochs": "epochs",
  "train_batch_size": "batch_size",
  "teacher_checkpoint": "teacher",
}


class Answering(calls.Public, typing.Generic[Input, Answer]):
  """A model that answers plain Python values. Abstract.

  It points at a checkpoint, which its methods read when they need it.

  Args:
    checkpoint: str, as of `from_checkpoint`.
    max_seq_length: int, maximum tokens of an input; default: as trained.
    **files: fields of `model_files.ModelFilesConfig`: other files than those
      beside the checkpoint.

  Attributes:
    checkpoint: str, the path or name of the checkpoint.
    max_seq_length: as given.
    kind: `kind.Kind` of what it is trained for; of the class.
    head: str, of `keras_bert_impl.heads`.

  Raises:
    FileNotFoundError: there is no such checkpoint.
  """

  kind = None
  head = None
  _task = {}  # What the checkpoint says of it.

  checkpoint: str
  max_seq_length: int | None

  def __init__(
    self,
    checkpoint: typed.Path,
    max_seq_length: int | None = None,
    **files: "Unpack[typed.FileNames]",
  ) -> None:
    options.check_integers(
      options.SEQ_LENGTHS, **_given(max_seq_length=max_seq_length)
    )
    self.checkpoint = trained_models.find_folder(os.fspath(checkpoint))
    self.max_seq_length = max_seq_length
    known = options.names(model_files.ModelFilesConfig)
    own = type(self)
    calls.check_names(own.__name__, inspect.signature(own), files, known)
    self._files = model_files.ModelFilesConfig(**files)
    self._servable = None

  def __repr__(self):
    known = getattr(self, "_task", {}).get("labels")  # Of what can be trained.
    labels = getattr(self, "labels", None) or known
    named = f", labels={files.shown(list(labels))}" if labels else ""
    return f"{type(self).__name__}({self.checkpoint!r}{named})"

  if typing.TYPE_CHECKING:

    @classmethod
    def from_checkpoint(  # noqa: D102
      cls: Callable[_Arguments, _Class],
      *args: _Arguments.args,
      **kwargs: _Arguments.kwargs,
    ) -> _Class: ...

  else:

    @classmethod
    def from_checkpoint(cls, path, *options, **named):
      """Returns the model of a checkpoint, trained for its task or not.

      Args:
        path: str, as of `kb.from_checkpoint`, or a folder of `save`.
        *options: of the class, in their order, or by name.
        **named: those.

      Raises:
        FileNotFoundError: there is no such checkpoint.
        ValueError: an option is wrong; names it.
      """
      return cls(path, *options, **named)

  @typing.overload
  def predict(self, inputs: Input, batch_size: int = 32) -> Answer: ...

  @typing.overload
  def predict(
    self, inputs: Iterable[Input | list[str]], batch_size: int = 32
  ) -> list[Answer]: ...

  def predict(self, inputs, batch_size=32):
    """Answers inputs, those of similar length together.

    Args:
      inputs: list of N inputs, other data of the forms that `fit` takes, or a
        single input.
      batch_size: int, inputs at once.

    Returns:
      list of N answers, in the order of the inputs; of a single input, its
      answer. The class says what they are.

    Raises:
      ValueError: an input is none, the model has not been trained for it, or
        its logits are no numbers.
    """
    options.check_numbers(options.POSITIVE, batch_size=batch_size)
    if not records.is_columns(inputs) and self._is_single(inputs):
      return self.predict([inputs], batch_size)[0]
    questions = self._questions(inputs)
    answer = self._answering(questions)
    answers = [None] * len(questions)
    # The longest first: if they do not fit into memory, that shows at once.
    order = np.argsort([-_size(question) for question in questions])
    for start in range(0, len(questions), batch_size):
      places = order[start : start + batch_size]
      batch = {
        name: _tensor([questions[place][name] for place in places])
        for name in questions[0]
      }
      outputs = self._outputs(answer, batch)
      for number, place in enumerate(places):
        row = {name: values[number] for name, values in outputs.items()}
        answers[place] = self._answer(row)
    return answers

  def _outputs(self, answer, batch):
    """Returns {output: array} of a batch of questions."""
    try:
      return {k: v.numpy() for k, v in answer(**batch).items()}
    except tf.errors.InvalidArgumentError as error:
      if servables.NO_NUMBERS not in error.message:
        raise
      raise ValueError(f"{self.checkpoint}: {servables.NO_NUMBERS}.") from error

  def export(
    self,
    export_dir: typed.Path,
    model_name: str | None = None,
    **values: typing.Any,
  ) -> str:
    """Writes a SavedModel that answers raw strings, or a file for clients.

    Args:
      export_dir: str, folder of the model's versions; each export adds one.
      model_name: str, name of the model for clients; default: the name of
        export_dir.
      **values: weights_dtype, compute_dtype and signature_names, as of
        `serving.export`; format and fixed_length, as of
        `kb.export`; and options of the servable, which are flags of
        export_saved_model.py.

    Returns:
      str, the folder of the new version.
    """
    form = small.pop_form(values)
    export_lib.check_folder(export_dir)
    servable = self._make_servable(**values)
    return small.export_as(servable, export_dir, model_name, **form)

  def _is_single(self, inputs):
    """Returns whether what `predict` is given is one input, not a list."""
    return isinstance(inputs, str)

  def _questions(self, inputs):
    """Returns the inputs of the SavedModel, list of {name: str or list}."""
    return [
      {"text": records.text_of(record, "text", place)}
      for place, record in records.read(inputs, None, ("text",), "inputs")
    ]

  @abc.abstractmethod
  def _answer(self, row):
    """Returns the answer of {output of the SavedModel: array}."""

  def _servable_options(self, questions):
    """Returns {option of the servable: value} that questions decide."""
    del questions
    return {}

  def _answering(self, questions):
    """Returns the function that answers batches of questions."""
    values = self._servable_options(questions)
    if self._servable is None or values != self._made_with:
      # Held, because the functions do not hold its variables.
      self._servable = self._make_servable(**values)
      signature = self._servable.signatures["serving_default"]
      # Of a model after the other, TensorFlow would warn of tracing too often.
      self._signature = signature.get_concrete_function()
      self._made_with = values
    return self._signature

  def _make_servable(self, **values):
    _check_trained(self)
    servable, _ = trained_servables.make(
      self._files,
      self.checkpoint,
      [self.kind],
      self.head,
      self.max_seq_length,
      values,
    )
    return servable


class Estimator(Answering[Input, Answer]):
  """A model that is trained on plain Python values too. Abstract.

  `fit` trains from the newest checkpoint and makes the next one, by the same
  code as the scripts: the same data, seed and settings give the same weights.
  Interrupted, it leaves the estimator as it was.

  Args: as `Answering`.

  Attributes:
    checkpoint: str, path or name of the newest checkpoint.
    max_seq_length: as given.
    results: dict, results.json of the last `fit`; {} before.
    fit_settings: dict, settings that every `fit` has, such as of `kb.lora`.
  """

  _default_length = 128
  # Names of the values of an example, the target last. Not `_fields`, by which
  # pydoc knows named tuples, and shows what is private.
  _keys = ()
  # Settings that name columns of a file.
  _columns = ()
  # Names of the classes, where they are others than the checkpoint's.
  _class_names = None
  # Whether a folder of a run is one that the user has named.
  _has_report = True

  results: dict[str, typing.Any]
  fit_settings: dict[str, typing.Any]

  def __init__(
    self,
    checkpoint: typed.Path,
    max_seq_length: int | None = None,
    **files: "Unpack[typed.FileNames]",
  ) -> None:
    super().__init__(checkpoint, max_seq_length, **files)
    self.results, self.fit_settings = {}, {}
    self._temporary = None
    self._task = _known_task(self.checkpoint, self.kind)

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
    try:
      with progress.shown(is_shown):
        self.results = self._run(
          splits, os.fspath(output_dir), values, listener, None, has_report
        )
    except stopping.StoppedError as error:  # What a notebook knows.
      raise KeyboardInterrupt(str(error)) from error
    self.checkpoint = trained_models.find_folder(os.fspath(output_dir))
    self._task = _known_task(self.checkpoint, self.kind)
    self._servable = None
    self._after_fit()
    if self._temporary:
      self._temporary.cleanup()
    self._temporary = temporary
    return listener.end()

  def evaluate(
    self,
    data: typed.Data,
    targets: Iterable[typing.Any] | None = None,
    batch_size: int | None = None,
    predict: Callable | None = None,
    **settings: typing.Any,
  ) -> dict[str, float]:
    """Returns {metric: float}, the official scores of labelled examples.

    Args:
      data: as of `fit`.
      targets: as of `fit`.
      batch_size: int, examples at once.
      predict: function of a `tf.data.Dataset` of batches of rows, {name: int32
        [B, ...]}, that yields {output: array [B, ...]} of each, to score
        instead of the model, such as `comparison.Answers`.
      **settings: other flags of the script by name, as of `fit`.

    Raises:
      ValueError: an example is wrong or has no target, or the model has not
        been trained for the task.
    """
    columns = self._pop_columns(settings)
    records.check_columns(columns, self._keys, data)
    splits = {_DEV: self._examples(data, targets, columns=columns)}
    values = _given(eval_batch_size=batch_size, **settings) | {"do_eval": True}
    with tempfile.TemporaryDirectory(prefix="keras_bert_impl_") as folder:
      listener = keras_listener.KerasListener()
      results = self._run(splits, folder, values, listener, predict)
    return results["eval"][_DEV]["scores"]

  def save(self, path: typed.Path) -> None:
    """Writes a folder with model, tokenizer, task and model card.

    `from_checkpoint`, the scripts and `transformers` read it.

    Args:
      path: str, a folder that is new or empty.

    Raises:
      ValueError: it is neither, or `transformers` has no such model.
    """
    _check_standard(self)
    config = conversion.ConversionConfig(self.checkpoint, os.fspath(path))
    labels = self._class_names
    conversion.convert(config, labels=labels)
    task = self._task | ({"labels": [*labels]} if labels else {})
    if task:
      task_file.write(path, task)
    model_card.write(path, type(self), task, self.results)

  def _after_fit(self):
    """Takes over what the training has found out."""

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
    return _given(**{name: settings.pop(name, None) for name in self._columns})

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
    self, splits, output_dir, values, listener, predict=None, has_report=False
  ):
    """Runs the job of splits and values; returns its results."""
    of_settings, others = _split(
      fine_tuning_config.FineTuningConfig,
      {"max_seq_length": _length(self)} | vars(self._files) | values,
    )
    of_task, of_training = _split(self.kind.options, others)
    _check_settings(of_training, self.kind.options, self._columns)
    options.check_values(self.kind.options, of_task)
    if not (predict or values.get("do_train")):
      _check_trained(self)
    run = job.Job(
      fine_tuning_config.FineTuningConfig(**of_settings),
      output_dir=output_dir,
      init_checkpoint=self.checkpoint,
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


def _length(estimator):
  """Returns the most tokens of an example: as given, trained or usual."""
  known = estimator.max_seq_length or estimator._task.get("max_seq_length")
  if known:
    return known
  config = reading.open_checkpoint(estimator.checkpoint).described().config
  return min(filter(None, (estimator._default_length, config.longest_input)))


def _pop_verbose(settings):
  """Takes `verbose` out of settings; returns it, as of `keras.Model.fit`."""
  verbose = settings.pop("verbose", 1)
  options.check_choice("verbose", verbose, ("auto", 0, 1, 2))
  return verbose


def _flags(epochs, batch_size, settings):
  """Returns the flags that are given to `fit`, {name: value}."""
  for flag in _FLAGS.keys() & settings.keys():
    raise TypeError(f"fit has no setting {flag}: here it is {_FLAGS[flag]}.")
  return _given(
    num_train_epochs=epochs,
    train_batch_size=batch_size,
    teacher_checkpoint=_checkpoints(settings.pop("teacher", None)),
    **settings,
  )


def _check_standard(model):
  """Raises ValueError if `transformers` has no such head as an `Estimator`."""
  task, kinds = model._task, [model.kind]
  if task.get("head") not in model.kind.tasks:  # It is not trained yet.
    return
  config = reading.open_checkpoint(model.checkpoint).described().config
  # Of transformers' own checkpoints nothing says how many choices there are.
  known = {"num_choices": 1} | task
  head = trained_models.make_task(kinds, task["head"], config, known)
  if not head.has_standard_head:
    raise ValueError(
      f"{model.checkpoint} has a head that transformers has not: give fit an"
      " output_dir, which from_checkpoint opens, or call export."
    )


def _check_trained(model):
  """Raises ValueError if an `Estimator` has no head for its task yet."""
  head = model._task.get("head")
  if heads.USES.get(head, head) in heads.UNTRAINED:
    raise ValueError(
      f"This {type(model).__name__} is not trained for its task yet: call fit"
      f" first. {model.checkpoint} has the head {head}."
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


def _known_task(checkpoint, kind):
  """Returns what a run's task.json or a checkpoint says of its task, dict."""
  task = task_file.read(model_files.folder_of(checkpoint), [kind])
  if task:
    return task
  description = reading.open_checkpoint(checkpoint).description
  if description is None:
    return {}
  known = {"head": description.head, "labels": description.labels}
  folder = model_files.folder_of(checkpoint)
  return known | trained_models.stored_length(folder, description)


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


def _given(**values):
  """Returns the values that are not None."""
  return {name: value for name, value in values.items() if value is not None}


def _size(question):
  """Returns the number of characters of an input of a SavedModel."""
  return sum(len("".join(value)) for value in question.values())


def _tensor(column):
  """Returns a string tensor of strings, or of lists padded with ""."""
  if isinstance(column[0], str):
    return tf.constant(column, tf.string)
  return tf.ragged.constant(column, dtype=tf.string).to_tensor("")
