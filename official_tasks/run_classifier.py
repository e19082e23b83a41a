r"""Fine-tunes a model to label or score texts or pairs of texts: GLUE and more.

    python official_tasks/run_classifier.py \
      --task_name=MRPC --data_dir=glue/MRPC --do_train --do_eval \
      --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt \
      --learning_rate=2e-5 --num_train_epochs=3 --output_dir=mrpc

    ... --task_name=MNLI --tfds            from TensorFlow Datasets
    ... --train_file=mine.csv --dev_fraction=0.1 --text_column=review \
      --label_column=stars --regression    your own data
    ... --task_name=WNLI --do_predict --predict_majority
                                           its file without a model

Writes checkpoints, predictions of each split (for the test sets of GLUE in its
site's form), pictures, results.json and report.html into --output_dir.
"""

import dataclasses

from absl import flags, logging
from etils import epy

from keras_bert_impl import options
from keras_bert_impl.command_line import program
from keras_bert_impl.runs.fine_tuning import fine_tuning_config
from keras_bert_impl.runs.labelled_data import (
  labelled_splits,
  task_options,
  text_splits,
)
from official_tasks import fine_tuning_flags
from tfrecords.labelled import classification_data

with epy.lazy_imports():
  from keras_bert_impl.runs.fine_tuning import task_parts
  from keras_bert_impl.runs.labelled_data import majority

FLAGS = flags.FLAGS
_CUSTOM_FLAGS = (
  "text_pair_column",
  "labels",
  "multi_label",
  "regression",
  "metrics",
)


@dataclasses.dataclass(frozen=True)
class ClassifierConfig(labelled_splits.SplitsConfig, task_options.TextOptions):
  """Files, columns, labels and metrics of the examples.

  Raises:
    ValueError: flags contradict each other.
  """

  tfds: bool = options.common(
    False,
    "Whether to read a GLUE task from TensorFlow Datasets; --data_dir is then"
    " its folder, if given.",
  )
  language: str = options.field("zh", "Language of XNLI.")
  text_pair_column: str | None = options.common(
    None, "Name of the column of the second text; default: no second text."
  )
  labels: str | None = options.field(
    None, "Class names, comma-separated; default: those of the training data."
  )
  multi_label: bool = options.common(
    False, "Whether texts have any number of labels, separated by |."
  )
  regression: bool = options.common(
    False, "Whether labels are numbers, not classes."
  )
  predict_majority: bool = options.field(
    False,
    "Whether to predict the majority class of the training data for every text,"
    " without a model, as is done for WNLI. With --do_predict alone.",
  )

  def __post_init__(self):
    super().__post_init__()
    if not self.is_custom:
      self._check_columns(_CUSTOM_FLAGS)
    if self.labels and self.regression:
      raise ValueError("give --regression or --labels, not both.")
    if self.multi_label and (self.regression or self.predict_majority):
      raise ValueError(
        "give --multi_label without --regression and --predict_majority."
      )


def _labels(data_set, splits, job):
  """Returns the classes: the known ones, or those of the training data."""
  if data_set.labels:
    return data_set.labels
  if "train" in splits:
    return classification_data.label_set(splits["train"])
  labels = job.described_task().get("labels")
  if labels:
    return tuple(labels)
  raise ValueError("--labels must be given: no run or data names the classes.")


def _check_labels(labels, splits, counts):
  """Checks the labels of all splits; counts those that are not trained on.

  Raises:
    ValueError: one is unknown; names file and row.
  """
  for examples in splits.values():
    classification_data.check_labels(examples, labels)
  if "train" not in splits:
    return
  for split, examples in splits.items():
    untrained = classification_data.count_untrained(examples, splits["train"])
    for label, count in untrained.items():
      what = f"examples of {label!r}, which no training example is"
      counts.setdefault(split, {})[what] = count
      logging.warning("%s: %d %s.", split, count, what)


def main():
  """Reads the flags and the data; the rest is `job.Job`."""
  config = program.from_flags(ClassifierConfig)
  data_set = text_splits.data_set(config)
  if config.predict_majority:
    settings = program.from_flags(fine_tuning_config.FineTuningConfig)
    majority.predict(data_set, config, settings, FLAGS.output_dir)
    return
  job = fine_tuning_flags.read_flags()
  splits, counts = labelled_splits.read(data_set, config, job.settings)
  labels = None
  if data_set.labels is None:
    splits = {
      split: classification_data.with_scores(examples)
      for split, examples in splits.items()
    }
  else:
    labels = _labels(data_set, splits, job)
    _check_labels(labels, splits, counts)
  parts = task_parts.of_texts(
    job,
    splits,
    labels,
    data_set.metrics,
    data_set.submissions,
    config.bilstm_width,
    config.multi_label,
  )
  job.run(
    parts,
    splits,
    dataclasses.asdict(config),
    counts,
  )
  if data_set.note:
    print(f"\n{data_set.note}")


program.define_flags(ClassifierConfig)
labelled_splits.list_data_sets(classification_data.DATA_SETS)
fine_tuning_flags.define_flags()

if __name__ == "__main__":
  program.run(main)
