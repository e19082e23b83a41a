"""Base class of what answers plain Python values, with a model."""

import abc
import inspect
import os
import typing
from collections.abc import Callable, Iterable

import keras
import numpy as np
import tensorflow as tf

from keras_bert_impl import calls, files, heads, options
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.estimators import opened_model, records, typed
from keras_bert_impl.model_folders import (
  model_files,
  task_file,
  trained_models,
)
from keras_bert_impl.serving import export as export_lib
from keras_bert_impl.serving import servables
from keras_bert_impl.serving.small import export as small
from keras_bert_impl.tokenizers.graph import tokenizer as tokenizer_lib

Input = typing.TypeVar("Input")
Answer = typing.TypeVar("Answer")
_Arguments = typing.ParamSpec("_Arguments")
_Class = typing.TypeVar("_Class")
if typing.TYPE_CHECKING:  # Of typing only from Python 3.11 on.
  from typing_extensions import Unpack


class Answering(calls.Public, typing.Generic[Input, Answer]):
  """A model that answers plain Python values. Abstract.

  The model is opened when it is first used, and held from then on.

  Args:
    checkpoint: str, as of `from_checkpoint`.
    max_seq_length: int, maximum tokens of an input; default: as trained.
    **files: fields of `model_files.ModelFilesConfig`: other files than those
      beside the checkpoint.

  Attributes:
    checkpoint: str, the path or name of the checkpoint.
    max_seq_length: as given.
    labels: tuple of str, the classes in the order of the logits; None of what
      has no classes.
    kind: `kind.Kind` of what it is trained for; of the class.
    head: str, of `keras_bert_impl.heads`.

  Raises:
    FileNotFoundError: there is no such checkpoint.
  """

  kind = None
  head = None
  # Whether what pre-training has made answers as it is.
  _answers_untrained = False
  _task = {}  # What the checkpoint says of it.

  checkpoint: str
  max_seq_length: int | None
  labels: tuple[str, ...] | None = None

  def __init__(
    self,
    checkpoint: typed.Path,
    max_seq_length: int | None = None,
    **files: "Unpack[typed.FileNames]",
  ) -> None:
    options.check_integers(
      options.SEQ_LENGTHS, **given(max_seq_length=max_seq_length)
    )
    self.checkpoint = trained_models.find_folder(os.fspath(checkpoint))
    self.max_seq_length = max_seq_length
    known = options.names(model_files.ModelFilesConfig)
    own = type(self)
    calls.check_names(own.__name__, inspect.signature(own), files, known)
    self._files = model_files.ModelFilesConfig(**files)
    self._opened, self._servable = opened_model.OpenedModel(self), None

  def __repr__(self):
    labels = self.labels
    named = f", labels={files.shown(list(labels))}" if labels else ""
    return f"{type(self).__name__}({self.checkpoint!r}{named})"

  @property
  def model(self) -> keras.Model:
    """The trained Keras model, from ids to the outputs of its head.

    `predict`, `evaluate`, `export`, `save` and the next `fit` use the weights
    that it has then: it may be trained or changed like any Keras model. `fit`
    puts another model in its place.

    Raises:
      ValueError: it has not been trained for its task yet.
    """
    check_trained(self)
    return self._opened.given_model()

  @property
  def tokenizer(self) -> tokenizer_lib.Tokenizer:
    """The tokenizer of the checkpoint, from strings to ids."""
    return self._opened.tokenizer

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
    return self._predict(inputs, batch_size, {})

  def _predict(self, inputs, batch_size, values, advance=None):
    """Returns as `predict`.

    Args:
      inputs: as of `predict`.
      batch_size: the same.
      values: {option of the servable: value}.
      advance: callable (number of inputs), called after each batch, or None.
    """
    options.check_numbers(options.POSITIVE, batch_size=batch_size)
    if not records.is_columns(inputs) and self._is_single(inputs):
      return self._predict([inputs], batch_size, values, advance)[0]
    questions = self._questions(inputs)
    answer = self._signature(self._servable_options(questions) | values)
    answers = [None] * len(questions)
    # The longest first: if they do not fit into memory, that shows at once.
    order = np.argsort([-_size(question) for question in questions])
    for start in range(0, len(questions), batch_size):
      places = order[start : start + batch_size]
      batch = {
        name: _tensor([questions[place][name] for place in places])
        for name in questions[0]
      }
      found = outputs(self.checkpoint, answer, batch)
      for number, place in enumerate(places):
        row = {name: values[number] for name, values in found.items()}
        answers[place] = self._answer(row)
      if advance:
        advance(len(places))
    return answers

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

  def _signature(self, values, name=servables.SERVING_DEFAULT):
    """Returns a signature of the servable with some options, traced once."""
    made_with = values, self._opened.changed_sum()
    if self._servable is None or made_with != self._made_with:
      # Held, because the functions do not hold its variables.
      self._servable = self._make_servable(**values)
      self._signatures, self._made_with = self._servable.signatures, made_with
    # Of a model after the other, TensorFlow would warn of tracing too often.
    return self._signatures[name].get_concrete_function()

  def _make_servable(self, **values):
    check_trained(self)
    return self._opened.servable(values)


def check_trained(model):
  """Raises ValueError if an `Estimator` has no head for its task yet."""
  head = model._task.get("head")
  is_untrained = heads.USES.get(head, head) in heads.UNTRAINED
  if is_untrained and not model._answers_untrained:
    raise ValueError(
      f"This {type(model).__name__} is not trained for its task yet: call fit"
      f" first. {model.checkpoint} has the head {head}."
    )


def known_task(checkpoint, kind):
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


def given(**values):
  """Returns the values that are not None."""
  return {name: value for name, value in values.items() if value is not None}


def outputs(checkpoint, answer, batch):
  """Returns {output: array} of a batch of questions.

  Args:
    checkpoint: str, which an error names.
    answer: function of a signature.
    batch: {input: tensor}.

  Raises:
    ValueError: the logits of the model are no numbers.
  """
  try:
    return {k: v.numpy() for k, v in answer(**batch).items()}
  except tf.errors.InvalidArgumentError as error:
    if servables.NO_NUMBERS not in error.message:
      raise
    raise ValueError(f"{checkpoint}: {servables.NO_NUMBERS}.") from error


def _size(question):
  """Returns the number of characters of an input of a SavedModel."""
  return sum(len("".join(value)) for value in question.values())


def _tensor(column):
  """Returns a string tensor of strings, or of lists padded with ""."""
  if isinstance(column[0], str):
    return tf.constant(column, tf.string)
  return tf.ragged.constant(column, dtype=tf.string).to_tensor("")
