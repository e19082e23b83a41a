r"""Fine-tunes a model to find named entities, other spans or parts of speech.

    python official_tasks/run_ner.py --data_dir=conll2003 --do_train --do_eval \
      --init_checkpoint=cased_L-12_H-768_A-12/bert_model.ckpt \
      --max_seq_length=384 --output_dir=ner_run

    ... --train_file=klue-ner.tsv --token_unit=character   a character a line
    ... --tag_scheme=none --tag_column=1     parts of speech of CoNLL-2003
    ... --spans --train_file=genia.tsv       entities inside of others
    ... --approach=features --learning_rate=1e-3 --num_train_epochs=20
                                             a BiLSTM on a frozen encoder

Reads CoNLL-2003's columns, KLUE-NER and other files with a token a line, in
IOB1, IOB2 or BIOES (found out by itself). A row is a sentence with as much of
its document around it as --max_seq_length takes. Writes checkpoints, the
predictions of each split as conlleval reads them, results.json and report.html
into --output_dir. Use a cased model: capitals tell names.

Source: Devlin et al. 2019, section 5.3.
"""

from etils import epy

from keras_bert_impl.command_line import program
from keras_bert_impl.kinds.tags import tag_splits
from keras_bert_impl.runs.fine_tuning import script

with epy.lazy_imports():
  from keras_bert_impl.kinds.tags import tag_kind

script.define_flags(tag_splits.TagSplitsConfig)


def main():
  """Fine-tunes on the data that the flags name."""
  script.run(tag_kind.KIND, program.from_flags(tag_splits.TagSplitsConfig))


if __name__ == "__main__":
  program.run(main)
