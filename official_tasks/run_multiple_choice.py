r"""Fine-tunes a model to choose among continuations or answers: SWAG and more.

    python official_tasks/run_multiple_choice.py \
      --task_name=SWAG --data_dir=swag --do_train --do_eval \
      --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt \
      --train_batch_size=16 --learning_rate=2e-5 --output_dir=swag_run

    ... --train_file=mine.jsonl --dev_fraction=0.1 --text_column=question \
      --choice_columns=a,b,c               your own data

Writes checkpoints, predictions of each split, results.json and report.html into
--output_dir.
"""

from etils import epy

from keras_bert_impl.command_line import program
from keras_bert_impl.kinds.choices import choice_data, choice_splits
from keras_bert_impl.runs.fine_tuning import script
from keras_bert_impl.runs.labelled_data import labelled_splits

with epy.lazy_imports():
  from keras_bert_impl.kinds.choices import choice_kind

script.define_flags(choice_splits.MultipleChoiceConfig)
labelled_splits.list_data_sets(choice_data.DATA_SETS)


def main():
  """Fine-tunes on the data that the flags name."""
  script.run(
    choice_kind.KIND, program.from_flags(choice_splits.MultipleChoiceConfig)
  )


if __name__ == "__main__":
  program.run(main)
