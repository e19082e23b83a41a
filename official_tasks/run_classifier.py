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

from absl import flags
from etils import epy

from keras_bert_impl.command_line import program
from keras_bert_impl.runs.fine_tuning import fine_tuning_config
from keras_bert_impl.runs.labelled_data import labelled_splits, text_splits
from official_tasks import fine_tuning_flags
from tfrecords.labelled import classification_data

with epy.lazy_imports():
  from keras_bert_impl.runs.fine_tuning import task_parts
  from keras_bert_impl.runs.labelled_data import majority

FLAGS = flags.FLAGS


def main():
  """Reads the flags and the data; the rest is `job.Job`."""
  config = program.from_flags(text_splits.ClassifierConfig)
  data_set = text_splits.data_set(config)
  if config.predict_majority:
    settings = program.from_flags(fine_tuning_config.FineTuningConfig)
    majority.predict(data_set, config, settings, FLAGS.output_dir)
    return
  job = fine_tuning_flags.read_flags()
  known_labels = job.described_task().get("labels")
  texts = text_splits.read(data_set, config, job.settings, known_labels)
  parts = task_parts.of_texts(
    job,
    texts.splits,
    texts.labels,
    data_set.metrics,
    data_set.submissions,
    config.bilstm_width,
    config.multi_label,
    config.class_weight,
  )
  job.run(parts, texts.splits, dataclasses.asdict(config), texts.counts)
  if data_set.note:
    print(f"\n{data_set.note}")


program.define_flags(text_splits.ClassifierConfig)
labelled_splits.list_data_sets(classification_data.DATA_SETS)
fine_tuning_flags.define_flags()

if __name__ == "__main__":
  program.run(main)
