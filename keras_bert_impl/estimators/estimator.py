"""Base class of estimators: what answers and is trained, by its checkpoint."""

import os
import tempfile
import typing
from collections.abc import Callable, Iterable

from keras_bert_impl.checkpoints import reading
from keras_bert_impl.estimators import (
  answering,
  keras_listener,
  model_card,
  opened_model,
  records,
  trainable,
  typed,
)
from keras_bert_impl.families import family
from keras_bert_impl.model_folders import conversion, task_file, trained_models
from keras_bert_impl.sentences import folders

if typing.TYPE_CHECKING:  # Of typing only from Python 3.11 on.
  from typing_extensions import Unpack

_DEV = "dev"


class Estimator(
  trainable.Trainable,
  answering.Answering[answering.Input, answering.Answer],
):
  """A model that is trained on plain Python values too. Abstract.

  Args: as `Answering`.

  Attributes: as of `Answering` and `Trainable`.
  """

  _default_length = 128
  # Names of the classes, where they are others than the checkpoint's.
  _class_names = None

  def __init__(
    self,
    checkpoint: typed.Path,
    max_seq_length: int | None = None,
    **files: "Unpack[typed.FileNames]",
  ) -> None:
    super().__init__(checkpoint, max_seq_length, **files)
    self.results, self.fit_settings = {}, {}
    self._task = answering.known_task(self.checkpoint, self.kind)

  @property
  def labels(self) -> tuple[str, ...] | None:
    """The classes in the order of the logits; None where there are none yet."""
    return tuple(self._task.get("labels") or ()) or None

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
    values = answering.given(eval_batch_size=batch_size, **settings) | {
      "do_eval": True
    }
    with tempfile.TemporaryDirectory(prefix="keras_bert_impl_") as folder:
      listener = keras_listener.KerasListener()
      with self._started(folder) as start:
        results = self._run(splits, start, folder, values, listener, predict)
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
    is_changed = not self._holds_checkpoint()
    weights = self.model.weights if is_changed else ()
    conversion.convert(config, labels=labels, weights=weights)
    task = self._task | ({"labels": [*labels]} if labels else {})
    if self.max_seq_length and task.get("head") in family.CLASSIFIERS:
      # What it cuts texts to now, here and in other programs.
      task |= {"max_seq_length": self.max_seq_length}
      folders.limit_texts(path, self.max_seq_length)
    if task.get("head") in self.kind.tasks:  # Nothing else was trained.
      task_file.write(path, task)
    model_card.write(path, type(self), task, self.results)

  def _take(self, output_dir):
    self.checkpoint = trained_models.find_folder(output_dir)
    self._task = answering.known_task(self.checkpoint, self.kind)
    self._opened, self._servable = opened_model.OpenedModel(self), None
    self._after_fit()

  def _after_fit(self):
    """Takes over what the training has found out."""

  def _holds_checkpoint(self):
    return self._opened.changed_sum() is None

  def _has_weights_of(self, path):
    theirs = trained_models.load(path, [self.kind], self.head).model
    return trainable.same_weights(
      _weights(self._opened.model), _weights(theirs)
    )

  def _length(self):
    """Returns the most tokens of an example: as given, trained or usual."""
    known = self.max_seq_length or self._task.get("max_seq_length")
    if known:
      return known
    config = reading.open_checkpoint(self.checkpoint).described().config
    return min(filter(None, (self._default_length, config.longest_input)))


def _weights(model):
  """Returns {path: variable} of a model."""
  return {weight.path: weight for weight in model.weights}


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
