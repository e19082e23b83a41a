"""Finds a trained model, whatever trained it, and what is known of its use."""

import dataclasses
import functools
import inspect
import os

from etils import epy

from keras_bert_impl import files
from keras_bert_impl.checkpoints import names

with epy.lazy_imports():
  from keras_bert_impl.checkpoints import assignment, reading
  from keras_bert_impl.models import checkpoint as model_lib
  from keras_bert_impl.tasks import (
    multiple_choice,
    question_answering,
    sequence_classification,
    token_classification,
  )
  from keras_bert_impl.training import report
  from official_tasks.model_folders import files as model_files
  from official_tasks.model_folders import task_file

# What a model is used for.
CLASSIFICATION = "classification"
REGRESSION = "regression"
FILL_MASK = "fill_mask"
ENCODER = "encoder"
HEADS = (
  CLASSIFICATION,
  REGRESSION,
  names.MULTIPLE_CHOICE,
  names.QUESTION_ANSWERING,
  names.TOKEN_CLASSIFICATION,
  FILL_MASK,
  ENCODER,
  names.REPLACED_TOKENS,
)

# The head in a checkpoint that a use needs, where it is called otherwise.
_STORED = {
  CLASSIFICATION: names.SEQUENCE_CLASSIFICATION,
  REGRESSION: names.SEQUENCE_CLASSIFICATION,
  FILL_MASK: names.MASKED_LM,
  ENCODER: None,
}
# Of a run's flags, what its model is used with.
_OF_CONFIGURATION = {
  "max_answer_length": int,
  "max_seq_length": int,
  "task_name": (str, type(None)),
}
_THRESHOLD = "null_score_diff_threshold"


@functools.cache
def _tasks():
  """Returns {name of a task's class: (head, class)}; late, for --help."""
  return {
    task.__name__: (head, task)
    for head, task in (
      (CLASSIFICATION, sequence_classification.SequenceClassificationTask),
      (REGRESSION, sequence_classification.SequenceRegressionTask),
      (names.MULTIPLE_CHOICE, multiple_choice.MultipleChoiceTask),
      (names.QUESTION_ANSWERING, question_answering.QuestionAnsweringTask),
      (
        names.TOKEN_CLASSIFICATION,
        token_classification.TokenClassificationTask,
      ),
    )
  }


@dataclasses.dataclass(frozen=True)
class TrainedModel:
  """A model with its weights.

  Attributes:
    model: `EncoderModel`.
    head: one of `HEADS`.
    path: str, the checkpoint.
    recorded: {name: value}, what is known of its use, such as "labels".
  """

  model: object
  head: str
  path: str
  recorded: dict


def find_folder(path):
  """Returns the folder or checkpoint that `path` means.

  Of a search, that is the folder of its best run.
  """
  if files.is_folder(path):
    best = report.read_results(path).get("best")
    if best:
      # By name: the whole folder may have moved.
      name = files.field(best, "name", str, f"best in {report.RESULTS_NAME}")
      return os.path.join(path, "runs", name)
  return path


def load(path, head=None):
  """Returns the `TrainedModel` at `path`.

  Args:
    path: str, the output_dir of a run, or a checkpoint of any known format.
    head: one of `HEADS`, or None for what the model was trained for.

  Raises:
    FileNotFoundError: there is no checkpoint.
    ValueError: it is damaged, or has no such head.
  """
  checkpoint = reading.open_checkpoint(path)
  recorded = _recorded(model_files.folder_of(path))
  trained_head, _ = _tasks().get(recorded.get("task"), (None, None))
  if trained_head and head in (None, trained_head):
    model = _load_task(checkpoint, recorded)
    return TrainedModel(model, trained_head, checkpoint.path, recorded)
  description = checkpoint.described()
  head = head or _head(description, checkpoint.tensors.shapes)
  stored = _STORED.get(head, head)
  _check_head(checkpoint, description, stored, head)
  description = dataclasses.replace(description, head=stored)
  model, _ = model_lib.load(
    checkpoint,
    description,
    remedy=f"Choose a --head other than {head}, which it was not trained for.",
  )
  if description.labels:
    recorded = {"labels": description.labels} | recorded
  return TrainedModel(model, head, checkpoint.path, recorded)


def _recorded(folder):
  """Returns what the run in a folder left about the use of its model."""
  results = report.read_results(folder)
  configuration = results.get("configuration", {})
  files.check_fields(
    configuration,
    _OF_CONFIGURATION | {_THRESHOLD: (float, type(None))},
    f"configuration in {folder}/{report.RESULTS_NAME}",
  )
  task = task_file.read(folder)
  recorded = {
    name: configuration[name]
    for name in _OF_CONFIGURATION
    if name in configuration
  } | task
  if task.get("version_2_with_negative"):
    recorded[_THRESHOLD] = _threshold(results)
  return recorded


def _threshold(results):
  """Returns what a run of SQuAD 2.0 decides by: given, found best, or 0."""
  given = results.get("configuration", {}).get(_THRESHOLD)
  if given is not None:
    return given
  scores = report.scores_of(results, "dev")
  return scores.get(question_answering.BEST_THRESHOLD, 0.0)


def _load_task(checkpoint, recorded):
  """Returns the model that the task of a run builds, with its weights."""
  _, task_class = _tasks()[recorded["task"]]
  arguments = {
    name: recorded[name]
    for name in inspect.signature(task_class).parameters
    if name in recorded
  }
  model = task_class(checkpoint.described().config, **arguments).build_model()
  assignment.assign(
    {weight.path: weight for weight in model.weights},
    checkpoint.tensors,
    checkpoint.path,
    remedy=f"Is the {task_file.NAME} beside it another run's?",
  )
  return model


def _head(description, shapes):
  """Returns what a checkpoint was trained for."""
  head, config = description.head, description.config
  if head == names.SEQUENCE_CLASSIFICATION:
    is_score = shapes[names.CLASSIFIER][0] == 1
    return REGRESSION if is_score else CLASSIFICATION
  if head in (names.MASKED_LM, names.PRETRAINING):
    # From left to right there is nothing to be seen behind a mask.
    return ENCODER if config.use_causal_mask else FILL_MASK
  return head or ENCODER


def _check_head(checkpoint, description, stored, head):
  """Raises ValueError if a checkpoint has no weights for a head."""
  has = {description.head, None}
  if names.PRETRAINING in has:
    has.add(names.MASKED_LM)
  # One classifier is like another.
  if description.head in names.CLASSIFICATIONS:
    has.update(names.CLASSIFICATIONS)
  if stored not in has:
    raise ValueError(
      f"--head={head} does not fit {checkpoint.path}: its head is "
      f"{description.head or 'none'}."
    )
