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

from absl import flags
from etils import epy

from keras_bert_impl.command_line import program
from keras_bert_impl.kinds.texts import classification_data, text_splits
from keras_bert_impl.runs.fine_tuning import fine_tuning_config, script
from keras_bert_impl.runs.labelled_data import labelled_splits

with epy.lazy_imports():
  from keras_bert_impl.kinds.texts import majority, text_kind

script.define_flags(text_splits.ClassifierConfig)
labelled_splits.list_data_sets(classification_data.DATA_SETS)


def main():
  """Fine-tunes on the data that the flags name, or counts the classes."""
  config = program.from_flags(text_splits.ClassifierConfig)
  if not config.predict_majority:
    script.run(text_kind.KIND, config)
    return
  settings = program.from_flags(fine_tuning_config.FineTuningConfig)
  data_set = text_splits.data_set(config)
  majority.predict(data_set, config, settings, flags.FLAGS.output_dir)


if __name__ == "__main__":
  program.run(main)
