r"""Trains a model to write texts of others: summaries, translations, answers.

    python official_tasks/run_seq2seq.py --do_train --do_eval \
      --train_file=train.jsonl --dev_file=dev.jsonl --prefix="summarize: " \
      --init_checkpoint=t5-small --max_seq_length=512 --max_target_length=64 \
      --output_dir=summaries

    ... --train_file=tfds:wmt16_translate/de-en?split=train --text_column=en \
      --target_column=de --metrics=bleu,chrf --num_beams=4

Reads tables with a column of texts and one of targets: .tsv, .csv, .jsonl, or
TensorFlow Datasets. Models are encoder-decoders (BART, mBART, T5) and those
from left to right (GPT-2), for which a target goes on where its text ends.
Scores are those of texts that the model has written. Writes checkpoints,
predictions, results.json and report.html into --output_dir.

Source: Sutskever et al. 2014; Lewis et al. 2020; Raffel et al. 2020.
"""

from etils import epy

from keras_bert_impl.command_line import program
from keras_bert_impl.kinds.generation import pair_files
from keras_bert_impl.runs.fine_tuning import script

with epy.lazy_imports():
  from keras_bert_impl.kinds.generation import generation_kind

script.define_flags(pair_files.PairsConfig)


def main():
  """Trains on the pairs that the flags name."""
  script.run(generation_kind.KIND, program.from_flags(pair_files.PairsConfig))


if __name__ == "__main__":
  program.run(main)
