r"""Fine-tunes a model to find dependency trees: UD treebanks and KLUE-DP.

    python official_tasks/run_parsing.py --do_train --do_eval \
      --train_file=en_ewt-ud-train.conllu --dev_file=en_ewt-ud-dev.conllu \
      --init_checkpoint=cased_L-12_H-768_A-12/bert_model.ckpt \
      --output_dir=parsing_run

    ... --train_file=klue-dp-v1.1_train.tsv --dev_file=klue-dp-v1.1_dev.tsv

Reads CoNLL-U and the files of KLUE-DP. Each word of a sentence gets a head and
its relation to it, so that they form one tree. Writes checkpoints, the file of
each split with the trees that were found, results.json and report.html into
--output_dir. Scores are UAS and LAS; of KLUE's relations also its macro-F1.

Source: Dozat and Manning 2017.
"""

from etils import epy

from keras_bert_impl.command_line import program
from keras_bert_impl.kinds.parsing import parsing_splits
from keras_bert_impl.runs.fine_tuning import script

with epy.lazy_imports():
  from keras_bert_impl.kinds.parsing import parsing_kind

script.define_flags(parsing_splits.ParsingConfig)


def main():
  """Fine-tunes on the data that the flags name."""
  script.run(
    parsing_kind.KIND, program.from_flags(parsing_splits.ParsingConfig)
  )


if __name__ == "__main__":
  program.run(main)
