r"""Fine-tunes a model to answer questions with spans of a text: SQuAD and more.

   python official_tasks/run_squad.py \
     --train_file=train-v1.1.json --predict_file=dev-v1.1.json \
     --do_train --do_predict --output_dir=squad \
     --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt \
     --train_batch_size=32 --learning_rate=3e-5 --num_train_epochs=2

   ... --version_2_with_negative             SQuAD 2.0
   ... --train_file=triviaqa-rc/qa/wikipedia-train.json,train-v1.1.json
   ... --train_file=all.json --dev_articles=10       without a dev set
   ... --ensemble_dirs=squad_1,squad_2       averages the logits of runs

Writes checkpoints, predictions.json, nbest_predictions.json, null_odds.json
(2.0), a picture, results.json and report.html into --output_dir. Where
--predict_file says what the answers are, EM and F1 are the official scripts'.
"""

from absl import flags
from etils import epy

from keras_bert_impl.command_line import program
from keras_bert_impl.kinds.answers import answer_splits
from keras_bert_impl.runs.fine_tuning import script

with epy.lazy_imports():
  from keras_bert_impl.kinds.answers import answer_kind

script.define_flags(answer_splits.SquadConfig)
flags.FLAGS.set_default("max_seq_length", 384)
# No field, as no result depends on it.
flags.DEFINE_bool(
  "verbose_logging",
  False,
  "Accepted and ignored: a flag of google-research/bert, which prints warnings"
  " of its data processing by it.",
)


def main():
  """Fine-tunes on the data that the flags name."""
  script.run(answer_kind.KIND, program.from_flags(answer_splits.SquadConfig))


if __name__ == "__main__":
  program.run(main)
