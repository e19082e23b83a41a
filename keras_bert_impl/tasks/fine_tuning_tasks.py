"""The fine-tuning tasks by the head that they train."""

import inspect

from keras_bert_impl.tasks import multi_task
from keras_bert_impl.tasks.answers import question_answering
from keras_bert_impl.tasks.embeddings import (
  embedding_task,
  late_task,
  sparse_task,
)
from keras_bert_impl.tasks.tags import token_classification
from keras_bert_impl.tasks.texts import (
  multi_label,
  multiple_choice,
  sequence_classification,
  sequence_regression,
)

TASKS = {
  task.head: task
  for task in (
    embedding_task.EmbeddingTask,
    late_task.LateInteractionTask,
    multi_label.MultiLabelTask,
    multi_task.MultiTask,
    multiple_choice.MultipleChoiceTask,
    question_answering.AnswerBeamTask,
    question_answering.QuestionAnsweringTask,
    sequence_classification.SequenceClassificationTask,
    sequence_regression.SequenceRegressionTask,
    sparse_task.SparseEmbeddingTask,
    token_classification.TokenClassificationTask,
  )
}


def make(head, config, recorded):
  """Returns the task of a head.

  Args:
    head: str, a key of `TASKS`.
    config: `configs.EncoderConfig`.
    recorded: {name: value}, arguments of the task among others, as a run's
      task.json has them.
  """
  task_class = TASKS[head]
  names = inspect.signature(task_class).parameters.keys() & recorded.keys()
  return task_class(config, **{name: recorded[name] for name in names})
