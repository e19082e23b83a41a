r"""Fine-tunes a model to find coreference: which mentions mean the same.

    python official_tasks/run_coreference.py --do_train --do_eval \
      --train_file=train.english.v4_gold_conll \
      --dev_file=dev.english.v4_gold_conll --max_seq_length=384 \
      --init_checkpoint=cased_L-12_H-768_A-12 --train_batch_size=1 \
      --output_dir=coreference_run

    ... --do_eval --dev_file=gap-development.tsv

Reads CoNLL-2012, .jsonl and GAP's .tsv. Documents are read in segments of
--max_seq_length, each by itself, and spans of all of them are compared. Writes
checkpoints, the clusters of each split as CoNLL-2012, results.json and
report.html into --output_dir. Scores are those of the official scorer and LEA;
of GAP's files its F1 and bias.

Source: Joshi et al. 2019.
"""

from etils import epy

from keras_bert_impl.command_line import program
from keras_bert_impl.kinds.coreference import coreference_splits
from keras_bert_impl.runs.fine_tuning import script

with epy.lazy_imports():
  from keras_bert_impl.kinds.coreference import coreference_kind

script.define_flags(coreference_splits.CoreferenceConfig)


def main():
  """Fine-tunes on the data that the flags name."""
  script.run(
    coreference_kind.KIND,
    program.from_flags(coreference_splits.CoreferenceConfig),
  )


if __name__ == "__main__":
  program.run(main)
