"""Several tasks on one encoder: the kind, whole."""

import dataclasses

from keras_bert_impl import heads
from keras_bert_impl.kinds.multi_task import (
  labelled_tasks,
  multi_task,
  multi_task_servable,
)
from keras_bert_impl.kinds.tags import tag_kind, tag_splits
from keras_bert_impl.kinds.texts import text_kind, text_splits
from keras_bert_impl.runs.fine_tuning import kind
from keras_bert_impl.tasks.basics import fine_tuning


def make_parts(run, parts, **training):
  """Returns the `FineTuning` of several tasks.

  Args:
    run: `job.Job`.
    parts: {task: `FineTuning` of texts or tags}.
    **training: weights, size_exponent and shares, as of `multi_task.MultiTask`.
  """
  tasks = {name: part.task for name, part in parts.items()}
  return fine_tuning.FineTuning(
    multi_task.MultiTaskPreprocessor(
      run.settings.max_seq_length,
      {name: part.preprocessor for name, part in parts.items()},
    ),
    multi_task.MultiTask(run.encoder_config, tasks, **training),
    multi_task.MultiTaskEvaluator(
      {name: part.evaluator for name, part in parts.items()}
    ),
  )


def _read(task, job):
  """Returns the `Prepared` of one of the tasks."""
  # A file has no test set.
  can_predict = "data_dir" in task.flags
  settings = dataclasses.replace(
    job.settings, do_predict=job.settings.do_predict and can_predict
  )
  described = job.described_task(KIND)
  known = described.get("tasks", {}).get(task.name, {})
  if task.kind == "tags":
    known = known | described.get("tasks_of_tags", {}).get(task.name, {})
    config = task.configuration(tag_splits.TagSplitsConfig)
    return tag_kind.prepare(job, config, settings, known)
  config = task.configuration(text_splits.ClassifierConfig)
  return text_kind.prepare(job, config, settings, known)


def _check(tasks):
  """Raises ValueError unless the tasks have heads that go together."""
  for task in tasks:
    if task.kind not in ("texts", "tags"):
      raise ValueError(
        f"tasks: {task.name} must be a task of classes, scores or tags; train"
        f" it alone with {task.script}.py."
      )


def prepare(job, config):
  """Returns the `Prepared` of a `MultiTaskConfig`.

  Raises:
    ValueError: as `labelled_tasks.parse`, the readers of the kinds and
      `make_parts`.
  """
  tasks = labelled_tasks.parse(config.tasks)
  _check(tasks)
  names = [task.name for task in tasks]
  weights = config.numbers("task_weights", names)
  shares = config.numbers("task_shares", names)
  parts, splits, counts = {}, {}, {}
  for task in tasks:
    found = _read(task, job)
    parts[task.name] = found.fine_tuning
    for split, examples in found.splits.items():
      splits.setdefault(split, []).extend(
        multi_task.TaskExample(task.name, example) for example in examples
      )
    for split, numbers in (found.counts or {}).items():
      named = {f"{task.name}: {what}": n for what, n in numbers.items()}
      counts[split] = counts.get(split, {}) | named
  several = make_parts(
    job,
    parts,
    weights=weights,
    size_exponent=config.size_exponent,
    shares=shares,
  )
  return kind.Prepared(several, splits, counts)


KIND = kind.Kind(
  "multi_task",
  tasks={heads.MULTI_TASK: multi_task.MultiTask},
  servables={heads.MULTI_TASK: multi_task_servable.MultiTaskServable},
  described=(multi_task.Described,),
  prepare=prepare,
)
