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

from etils import epy

from keras_bert_impl.command_line import program
from keras_bert_impl.kinds.multi_task import multi_task_options
from keras_bert_impl.runs.fine_tuning import script

with epy.lazy_imports():
  from keras_bert_impl.kinds.multi_task import multi_task_kind

script.define_flags(multi_task_options.MultiTaskConfig)


def main():
  """Fine-tunes on the data that the flags name."""
  script.run(
    multi_task_kind.KIND, program.from_flags(multi_task_options.MultiTaskConfig)
  )


if __name__ == "__main__":
  program.run(main)
