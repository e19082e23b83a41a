"""Folders that runs have left, with tiny models."""

import json

from keras_bert_impl import configs
from keras_bert_impl.checkpoints.formats import tf_format
from keras_bert_impl.kinds.answers import (
  answer_scores,
  question_answering,
  question_rows,
)
from keras_bert_impl.kinds.choices import multiple_choice
from keras_bert_impl.kinds.tags import (
  tag_rows,
  tag_scores,
  token_classification,
)
from keras_bert_impl.kinds.texts import (
  sequence_classification,
  sequence_regression,
  text_rows,
  text_scores,
)
from keras_bert_impl.tasks.basics import fine_tuning
from tests.official_tasks import scripts

CLASSES = ("0", "1")
TAGS = ("O", "B-CAT", "I-CAT")


def write(folder, name, **results):
  """Writes what a run leaves of its model; returns the model.

  Args:
    folder: `pathlib.Path`.
    name: str, of `_TASKS`.
    **results: content of results.json; it is left out without any.
  """
  scripts.write_model_files(folder)
  config = configs.EncoderConfig.from_json_file(folder / "bert_config.json")
  parts = fine_tuning.FineTuning(*_TASKS[name](config))
  model = parts.task.build_model()
  prefix = folder / "model.ckpt-7"
  tf_format.write(prefix, {w.path: w.value for w in model.weights})
  (folder / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-7"\n')
  (folder / "task.json").write_text(json.dumps(parts.describe()))
  if results:
    (folder / "results.json").write_text(json.dumps(results))
  return model


_TASKS = {
  "scores": lambda config: (
    text_rows.TextPreprocessor(16),
    sequence_regression.SequenceRegressionTask(config),
    text_scores.NumberEvaluator(),
  ),
  "bilstm": lambda config: (
    text_rows.TextPreprocessor(16, CLASSES, text_pairs=True),
    sequence_classification.SequenceClassificationTask(config, CLASSES, 8),
    text_scores.ClassEvaluator(CLASSES),
  ),
  "choices": lambda config: (
    multiple_choice.ChoicePreprocessor(16, 3),
    multiple_choice.MultipleChoiceTask(config, 3),
    multiple_choice.ChoiceEvaluator(),
  ),
  "answers": lambda config: (
    question_rows.QuestionPreprocessor(
      20, doc_stride=5, max_query_length=7, version_2_with_negative=True
    ),
    question_answering.QuestionAnsweringTask(config, bilstm_width=8),
    answer_scores.AnswerEvaluator(version_2_with_negative=True),
  ),
  "characters": lambda config: (
    tag_rows.TagPreprocessor(16, TAGS, token_unit="character"),
    token_classification.TokenClassificationTask(config, TAGS),
    tag_scores.TagEvaluator(TAGS),
  ),
  "entities": lambda config: (
    tag_rows.TagPreprocessor(16, TAGS, token_unit="character"),
    token_classification.TokenClassificationTask(
      config, TAGS, "features", "last", lstm_width=8
    ),
    tag_scores.TagEvaluator(TAGS),
  ),
}
