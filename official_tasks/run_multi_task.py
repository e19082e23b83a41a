r"""Fine-tunes one encoder on several tasks, each with a head of its own.

    python official_tasks/run_multi_task.py \
      --tasks=QNLI=glue/QNLI,STS-B=glue/STS-B --do_train --do_eval \
      --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt \
      --learning_rate=5e-5 --num_train_epochs=3 --output_dir=several

    ... --tasks=QNLI=QNLI/dev.tsv,STS-B=stsb   a fifth of QNLI/dev.tsv held out
    ... --tasks=mine=mine.csv,SST-2=glue/SST-2  your own text and label
    ... --tasks=mine=mine.csv,NER=conll2003     classes and tags
    ... --size_exponent=1 --task_weights=1,0.5

A task is the folder of a published data set, or a file of which a fifth is held
out; NER's are those of run_ner.py. Scores are those of each task alone, and the
mean of the first of each, which selects the best run. Predictions are in
<output_dir>/<task>/<split>. `export_saved_model.py --checkpoint_dir` makes one
SavedModel of all heads, which runs the encoder once.
"""

import dataclasses

from etils import epy

from keras_bert_impl import options
from keras_bert_impl.command_line import program
from keras_bert_impl.runs.labelled_data import (
  labelled_tasks,
  tag_splits,
  text_splits,
)
from official_tasks import fine_tuning_flags

with epy.lazy_imports():
  from keras_bert_impl.runs.fine_tuning import task_parts
  from keras_bert_impl.tasks import multi_task


@dataclasses.dataclass(frozen=True)
class MultiTaskConfig:
  """Tasks, and how much of each is learned.

  Raises:
    ValueError: options contradict each other.
  """

  tasks: str = options.required(
    "Tasks, NAME=PATH, comma-separated: folders of published data sets, or"
    " files."
  )
  size_exponent: float = options.common(
    0.75,
    "An epoch has rows of each task in proportion to their number to the power"
    " of this: 1 reads all once, 0 as many of each task.",
    interval="[0, 1]",
  )
  task_shares: str | None = options.common(
    None,
    "Rows of each task relative to each other, comma-separated in the order of"
    " --tasks, in the place of --size_exponent.",
  )
  task_weights: str | None = options.common(
    None,
    "Factors of the losses, comma-separated in the order of --tasks;"
    " default: 1.",
  )

  def numbers(self, name, tasks):
    """Returns the numbers of an option, {task: float}; {} where it is not set.

    Raises:
      ValueError: there is not one for each task, or one is not above 0.
    """
    given = getattr(self, name)
    if given is None:
      return {}
    try:
      numbers = [float(part) for part in program.split_names(given)]
    except ValueError:
      numbers = []
    if len(numbers) != len(tasks) or not all(0 < x < 1e9 for x in numbers):
      raise ValueError(
        f"{name} ({given}) must be {len(tasks)} numbers above 0, one for each"
        f" of {', '.join(tasks)}."
      )
    return dict(zip(tasks, numbers, strict=True))


def _read(task, job):
  """Returns the `FineTuning` of a task, its examples and their counts."""
  # A file has no test set.
  can_predict = "data_dir" in task.flags
  settings = dataclasses.replace(
    job.settings, do_predict=job.settings.do_predict and can_predict
  )
  described = job.described_task()
  known = described.get("tasks", {}).get(task.name, {})
  if task.kind == "tags":
    known = known | described.get("tasks_of_tags", {}).get(task.name, {})
    config = tag_splits.TagSplitsConfig(**task.flags)
    splits = tag_splits.read(config, settings)
    return task_parts.of_tags(job, splits, config, known), splits, {}
  config = text_splits.ClassifierConfig(**task.flags)
  data_set = text_splits.data_set(config)
  texts = text_splits.read(data_set, config, settings, known.get("labels"))
  part = task_parts.of_texts(
    job, texts.splits, texts.labels, data_set.metrics, data_set.submissions
  )
  return part, texts.splits, texts.counts


def _check(tasks):
  """Raises ValueError unless the tasks have heads that go together."""
  for task in tasks:
    if task.kind not in ("texts", "tags"):
      raise ValueError(
        f"tasks: {task.name} must be a task of classes, scores or tags; train"
        f" it alone with {task.script}.py."
      )


def main():
  """Reads the flags and the data; the rest is `job.Job`."""
  config = program.from_flags(MultiTaskConfig)
  tasks = labelled_tasks.parse(config.tasks)
  _check(tasks)
  names = [task.name for task in tasks]
  weights = config.numbers("task_weights", names)
  shares = config.numbers("task_shares", names)
  job = fine_tuning_flags.read_flags()
  parts, splits, counts = {}, {}, {}
  for name, task in zip(names, tasks, strict=True):
    parts[name], examples, numbers = _read(task, job)
    for split, found in examples.items():
      splits.setdefault(split, []).extend(
        multi_task.TaskExample(name, example) for example in found
      )
    for split, found in numbers.items():
      of_task = {f"{name}: {what}": number for what, number in found.items()}
      counts[split] = counts.get(split, {}) | of_task
  several = task_parts.of_several(
    job,
    parts,
    weights=weights,
    size_exponent=config.size_exponent,
    shares=shares,
  )
  job.run(several, splits, dataclasses.asdict(config), counts)


program.define_flags(MultiTaskConfig)
fine_tuning_flags.define_flags()

if __name__ == "__main__":
  program.run(main)
