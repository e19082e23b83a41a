"""Outputs of teachers for the rows to train on: computed once, kept as rows.

Beside the rows of a split, `<split>_taught.tf_record` holds them with the
teachers' outputs as further columns. Every epoch and all runs of a search read
it; it is made anew when the rows or the weights of a teacher change.
"""

import dataclasses
import os

import keras
import tensorflow as tf

from keras_bert_impl import families, progress
from keras_bert_impl.model_folders import model_files, task_file, trained_models
from keras_bert_impl.runs.fine_tuning import kind
from keras_bert_impl.runs.labelled_data import hidden_states, row_outputs
from keras_bert_impl.tasks.basics import distillation, fine_tuning
from tfrecords import lengths
from tfrecords.labelled import row_files

_BATCH_SIZE = 32


class Teaching:
  """What the teachers of a task say of its rows.

  Args:
    parts: `fine_tuning.FineTuning`.
    data: `fine_tuning_data.Data`.
    settings: `fine_tuning_config.FineTuningConfig` with `teachers`, whose mean
      is learned.

  Attributes:
    task: `distillation.DistilledTask`.

  Raises:
    ValueError: the task cannot be taught.
  """

  def __init__(self, parts, data, settings):
    if not parts.task.taught_outputs:
      raise ValueError(
        f"teacher_checkpoint ({settings.teacher_checkpoint}) must be left out:"
        f" the head {parts.task.head}, as it is trained here, learns from"
        " labels alone."
      )
    self.task = distillation.DistilledTask(
      parts.task,
      settings.distillation_temperature,
      settings.distillation_weight,
    )
    self._parts, self._data, self._paths = parts, data, settings.teachers
    self._rows = {}

  def describe(self):
    """Returns {name: JSON value} on which a continued run must agree."""
    return {
      "temperature": self.task.temperature,
      "weight": self.task.weight,
      "rows": [*map(self._fingerprint, self._data.stages)],
    }

  def rows(self, split):
    """Returns the `Rows` of a split to train on, with the teachers' outputs.

    Raises:
      ValueError: a teacher does not fit the task; or as `Data.rows`.
    """
    if split not in self._rows:
      self._rows[split] = self._teach(split)
    return self._rows[split]

  def _fingerprint(self, split):
    self.rows(split)
    return row_files.fingerprint(self._path(split))

  def _path(self, split):
    return f"{os.path.splitext(self._data.path(split))[0]}_taught.tf_record"

  def _teach(self, split):
    """Returns the rows of a split; writes them first if necessary."""
    # A wrong teacher fails before texts are tokenized.
    teachers = [_Teacher(path, self._parts, self._data) for path in self._paths]
    rows, path = self._data.rows(split), self._path(split)
    origin = {
      "rows": self._data.fingerprint(split),
      "teachers": [each.origin(split) for each in teachers],
    }
    columns = rows.columns | {
      distillation.PREFIX + name: teachers[0].column(name)
      for name in self._parts.task.taught_outputs
    }
    if row_files.find(path, origin) is None:
      outputs = row_outputs.mean([each.outputs(split) for each in teachers])
      taught = (
        {name: rows[name][i] for name in rows.columns}
        | {distillation.PREFIX + name: x[i] for name, x in outputs.items()}
        for i in range(len(rows))
      )
      row_files.write(path, taught, columns, origin, {})
    return row_files.read(path, columns)


class _Teacher:
  """A teacher, and the rows that it reads.

  Args:
    path: str.
    parts: `fine_tuning.FineTuning` of the student.
    data: `fine_tuning_data.Data` of the student.

  Raises:
    ValueError: it was trained for another head or other labels, or its tokens
      are not those of a task that compares them one by one.
  """

  def __init__(self, path, parts, data):
    self._parts = parts
    # Whatever the student computes in.
    keras.config.set_dtype_policy("float32")
    trained = _load(path, parts.task)
    self._model = trained.model
    self._order = _order_of_labels(path, trained.recorded, parts.task)
    self._data = self._in_own_tokens(path, trained.path, data)

  def _in_own_tokens(self, path, checkpoint, data):
    """Returns the `Data` of the student in the tokens of the teacher."""
    length = data.preprocessor.max_seq_length
    files = model_files.ModelFilesConfig()
    found = model_files.find(files, checkpoint, length)
    vocabulary, options = found.vocabulary, found.tokenizer_options
    is_same = (
      vocabulary.fingerprint == data.vocabulary.fingerprint
      and options == data.options
      and _framing(options) == _framing(data.options)
    )
    if is_same:
      return data
    if self._parts.evaluator.token_outputs:
      raise ValueError(
        f"teacher_checkpoint ({path}) has another tokenizer than the student,"
        " but this head is taught token by token: give a teacher with the"
        " student's vocabulary."
      )
    return data.in_tokens_of(vocabulary, options)

  def origin(self, split):
    """Returns a dict that identifies its outputs for a split."""
    return {
      "rows": self._data.fingerprint(split),
      "encoder": self._model.config.to_dict(),
      "weights": hidden_states.fingerprint(self._model),
      "labels": self._order,
    }

  def column(self, name):
    """Returns the `Column` of an output."""
    inner = tuple(self._model.output[name].shape[1:])
    if name not in self._parts.evaluator.token_outputs and None in inner:
      inner = (self._parts.task.num_choices,)
    return fine_tuning.Column("float32", inner)

  def outputs(self, split):
    """Returns {name: float32 [N, ...] or list of N arrays [n, ...]}."""
    rows, model = self._data.rows(split), self._model
    task = dataclasses.replace(self._parts.task, config=model.config)

    @tf.function(autograph=False, reduce_retracing=True)
    def run(batch):
      outputs = model({name: batch[name] for name in model.input})
      return {
        name: outputs[name]
        if self._order is None
        else tf.gather(outputs[name], self._order, axis=-1)
        for name in task.taught_outputs
      }

    def predict(batches):
      total = -(-len(rows) // _BATCH_SIZE)
      what = f"Teacher's outputs for {split}"
      for batch in progress.bar(
        what, iterable=batches, total=total, unit="batch"
      ):
        yield {name: x.numpy() for name, x in run(batch).items()}

    return row_outputs.collect(
      predict,
      rows,
      lengths.padded_lengths(self._data.preprocessor.max_seq_length, True),
      _BATCH_SIZE,
      self._parts.evaluator.token_outputs,
      task.pads_left,
    )


def _framing(options):
  """Returns how the tokens of a row are framed, of a tokenizer's options."""
  return families.FAMILIES[options.family or families.DEFAULT].framing


def _load(path, task):
  """Returns the `TrainedModel` of a teacher.

  Raises:
    ValueError: it was trained for another head than that of the task.
  """
  folder = trained_models.find_folder(path)
  recorded = task_file.read(model_files.folder_of(folder))
  head, is_fit = recorded.get("head", task.head), False
  if head == task.head:
    trained = trained_models.load(folder, [kind.of_task(task)])
    head, outputs = trained.head, trained.model.output.keys()
    is_crf = "transitions" in outputs  # Its scores mean nothing by themselves.
    is_taught = outputs >= {*task.taught_outputs} and not is_crf
    is_fit = is_taught and head == task.head
  if not is_fit:
    raise ValueError(
      f"teacher_checkpoint ({path}) has the head {head}, which cannot"
      f" teach {task.head}: give a model that was fine-tuned on this task"
      " with the same kind of head."
    )
  return trained


def _order_of_labels(path, recorded, task):
  """Returns the places of the student's labels among the teacher's, or None.

  Raises:
    ValueError: the teacher has other labels.
  """
  ours, theirs = task.labels, recorded.get("labels")
  if ours is None or not task.has_named_labels:
    return None
  if set(ours) != set(theirs or ()):
    raise ValueError(
      f"teacher_checkpoint ({path}) has the labels"
      f" {', '.join(theirs or ('unknown',))}, but the student"
      f" {', '.join(ours)}: give a teacher of these labels."
    )
  return None if [*theirs] == [*ours] else [*map([*theirs].index, ours)]
