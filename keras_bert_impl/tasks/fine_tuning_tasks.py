"""The fine-tuning tasks by the head that they train."""

from keras_bert_impl import heads
from keras_bert_impl.tasks import (
  multiple_choice,
  question_answering,
  sequence_classification,
  sequence_regression,
  token_classification,
)

TASKS = {
  heads.CLASSIFICATION: sequence_classification.SequenceClassificationTask,
  heads.REGRESSION: sequence_regression.SequenceRegressionTask,
  heads.MULTIPLE_CHOICE: multiple_choice.MultipleChoiceTask,
  heads.QUESTION_ANSWERING: question_answering.QuestionAnsweringTask,
  heads.TOKEN_CLASSIFICATION: token_classification.TokenClassificationTask,
}


def head_of(task_name):
  """Returns the head that the task of a class name trains."""
  return next(
    (head for head, task in TASKS.items() if task.__name__ == task_name), None
  )
