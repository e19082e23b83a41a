"""The fine-tuning tasks by the head that they train."""

from keras_bert_impl.tasks import (
  multiple_choice,
  question_answering,
  sequence_classification,
  sequence_regression,
  token_classification,
)

TASKS = {
  task.head: task
  for task in (
    multiple_choice.MultipleChoiceTask,
    question_answering.AnswerBeamTask,
    question_answering.QuestionAnsweringTask,
    sequence_classification.SequenceClassificationTask,
    sequence_regression.SequenceRegressionTask,
    token_classification.TokenClassificationTask,
  )
}
