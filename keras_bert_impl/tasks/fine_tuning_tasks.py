"""The fine-tuning tasks by the head that they train."""

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
