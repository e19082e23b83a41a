r"""Fine-tunes one encoder on several tasks of texts, each with its own head.

    python official_tasks/run_multi_task.py \
      --tasks=QNLI=glue/QNLI,STS-B=glue/STS-B --do_train --do_eval \
      --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt \
      --learning_rate=5e-5 --num_train_epochs=3 --output_dir=several

    ... --tasks=QNLI=QNLI/dev.tsv,STS-B=stsb   a fifth of QNLI/dev.tsv held out
    ... --tasks=mine=mine.csv,SST-2=glue/SST-2  your own text and label
    ... --size_exponent=1 --task_weights=1,0.5

A task is the folder of a published data set, or a file of which a fifth is held
out. Scores are those of run_classifier.py for each task, and the mean of the
first of each, which selects the best run. Predictions are in
<output_dir>/<task>/<split>. `export_saved_model.py --checkpoint_dir` makes one
SavedModel of all heads, which runs the encoder once.
"""

import dataclasses

from etils import epy

from keras_bert_impl import options
from keras_bert_impl.command_line import program
from keras_bert_impl.runs.labelled_data import labelled_tasks, text_splits
from official_tasks import fine_tuning_flags

with epy.lazy_imports():
  from keras_bert_impl.runs.fine_tuning import task_parts


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


def _read(tasks, job):
  """Returns {task: data set}, {task: `Texts`} of the tasks."""
  known = job.described_task().get("tasks", {})
  data_sets, texts = {}, {}
  for task in tasks:
    # A file has no test set.
    can_predict = "data_dir" in task.flags
    settings = dataclasses.replace(
      job.settings, do_predict=job.settings.do_predict and can_predict
    )
    config = text_splits.ClassifierConfig(**task.flags)
    data_sets[task.name] = text_splits.data_set(config)
    labels = known.get(task.name, {}).get("labels")
    texts[task.name] = text_splits.read(
      data_sets[task.name], config, settings, labels
    )
  return data_sets, texts


def main():
  """Reads the flags and the data; the rest is `job.Job`."""
  config = program.from_flags(MultiTaskConfig)
  tasks = labelled_tasks.parse(config.tasks)
  for task in tasks:
    options.check_characters("tasks", task.name, "/")
    if task.kind != "texts":
      raise ValueError(
        f"tasks: {task.name} must be a task of classes or scores of texts;"
        f" train it alone with {task.script}.py."
      )
  names = [task.name for task in tasks]
  weights = config.numbers("task_weights", names)
  shares = config.numbers("task_shares", names)
  job = fine_tuning_flags.read_flags()
  data_sets, texts = _read(tasks, job)
  parts, splits = task_parts.of_several(
    job,
    data_sets,
    texts,
    weights=weights,
    size_exponent=config.size_exponent,
    shares=shares,
  )
  counts = {}
  for name, found in texts.items():
    for split, numbers in found.counts.items():
      of_task = {f"{name}: {what}": n for what, n in numbers.items()}
      counts[split] = counts.get(split, {}) | of_task
  job.run(parts, splits, dataclasses.asdict(config), counts)


program.define_flags(MultiTaskConfig)
fine_tuning_flags.define_flags()

if __name__ == "__main__":
  program.run(main)
