"""Splits of questions: the files that run_squad.py reads."""

import dataclasses

from etils import epy

from keras_bert_impl import files, options
from keras_bert_impl.kinds.answers import answer_options

with epy.lazy_imports():
  from keras_bert_impl.kinds.answers import squad_files


@dataclasses.dataclass(frozen=True)
class SquadConfig(answer_options.QuestionOptions):
  """Files of the questions, and limits of the answers.

  Raises:
    ValueError: flags contradict each other.
  """

  train_file: tuple[str, ...] | None = options.listed(
    None,
    "JSON files to train on, comma-separated, each for num_train_epochs, one"
    " after the other: SQuAD, XQuAD, KorQuAD, CMRC or in their format.",
    is_common=True,
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
    options.check_exclusive(self, "dev_articles", "predict_file")
    if self.dev_articles and not self.train_file:
      raise ValueError("--dev_articles needs --train_file: give it too.")


def read(config, settings):
  """Returns {split: list of `QuestionExample`} of the splits a run needs.

  Args:
    config: `SquadConfig`.
    settings: `fine_tuning_config.FineTuningConfig`.

  Raises:
    ValueError: a file that is needed is missing or malformed.
    FileNotFoundError: a file does not exist.
  """
  splits = {}
  if config.predict_file:
    files.check_exists(config.predict_file, "predict_file")
  if settings.do_train or config.dev_articles:
    paths = config.train_file or ()
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
