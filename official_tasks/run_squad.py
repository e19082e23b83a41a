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

import dataclasses

from absl import flags
from etils import epy

from keras_bert_impl import files, options
from keras_bert_impl.command_line import program
from keras_bert_impl.runs.labelled_data import task_options
from official_tasks import fine_tuning_flags

with epy.lazy_imports():
  from keras_bert_impl.runs.fine_tuning import task_parts
  from tfrecords.labelled import squad_files

FLAGS = flags.FLAGS


@dataclasses.dataclass(frozen=True)
class SquadConfig(task_options.QuestionOptions):
  """Files of the questions, and limits of the answers.

  Raises:
    ValueError: flags contradict each other.
  """

  train_file: str | None = options.common(
    None,
    "JSON files to train on, comma-separated, each for num_train_epochs, one"
    " after the other: SQuAD, XQuAD, KorQuAD, CMRC or in their format.",
  )
  predict_file: str | None = options.common(
    None, "JSON file to predict; scored if it has the answers."
  )
  dev_articles: int = options.common(
    0,
    "Number of articles to hold out as the dev set, from the end of the last"
    " train_file; not with predict_file.",
    interval="[0, 1000000000]",
  )

  def __post_init__(self):
    if self.dev_articles and self.predict_file:
      raise ValueError(
        "--dev_articles cannot be combined with --predict_file: give one of"
        " them."
      )
    if self.dev_articles and not self.train_file:
      raise ValueError("--dev_articles needs --train_file: give it too.")


def _splits(config, settings):
  """Returns {split: examples} of the splits that the run needs."""
  splits = {}
  if config.predict_file:
    files.check_exists(config.predict_file, "predict_file")
  if settings.do_train or config.dev_articles:
    paths = program.split_names(config.train_file or "")
    if not paths:
      raise ValueError("--do_train needs --train_file.")
    stages = [squad_files.read(path) for path in paths]
    for path, stage in zip(paths, stages, strict=True):
      _check_answers(stage, "--train_file")
      squad_files.check_located(stage, path)
    if config.dev_articles:
      stages[-1], splits["dev"] = squad_files.split_off_articles(
        stages[-1], config.dev_articles
      )
      squad_files.check_ids(splits["dev"])
    if settings.do_train:
      splits["train"] = stages
  if config.predict_file:
    splits |= _read_predict_file(config.predict_file, settings)
  if settings.do_eval or settings.do_predict:
    if not splits.keys() - {"train"}:
      raise ValueError(
        "--do_eval and --do_predict need --predict_file or, for the last"
        " articles of --train_file, --dev_articles."
      )
  return splits


def _read_predict_file(path, settings):
  """Returns {"dev" or, without answers, "test": examples}."""
  examples = squad_files.read(path, "predict_file")
  squad_files.check_ids(examples)
  if settings.do_eval:
    _check_answers(examples, "--do_eval (other than --do_predict)")
  is_labelled = all(example.answers is not None for example in examples)
  return {"dev" if is_labelled else "test": examples}


def _check_answers(examples, flag):
  """Raises ValueError if a question's answers are unknown."""
  for example in examples:
    if example.answers is None:
      raise ValueError(f"{example.origin} has no 'answers': {flag} needs them.")


def main():
  """Reads the flags and the data; the rest is `job.Job`."""
  config = program.from_flags(SquadConfig)
  job = fine_tuning_flags.read_flags()
  splits = _splits(config, job.settings)
  parts = task_parts.of_questions(job, config)
  job.run(parts, splits, dataclasses.asdict(config))


program.define_flags(SquadConfig)
fine_tuning_flags.define_flags()
FLAGS.set_default("max_seq_length", 384)
# No field, as no result depends on it.
flags.DEFINE_bool(
  "verbose_logging",
  False,
  "Accepted and ignored: a flag of google-research/bert, which prints warnings"
  " of its data processing by it.",
)

if __name__ == "__main__":
  program.run(main)
