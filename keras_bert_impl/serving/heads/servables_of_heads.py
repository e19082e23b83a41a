"""The servables by the head that they serve."""

from keras_bert_impl.models.heads import static_embedding_model
from keras_bert_impl.serving.heads import (
  classification,
  fill_mask,
  late_vectors,
  multi_task,
  multiple_choice,
  question_answering,
  replaced_tokens,
  sparse_vectors,
  static_vectors,
  text_vectors,
  token_classification,
)

SERVABLES = {
  servable.head: servable
  for servable in (
    classification.ClassificationServable,
    classification.MultiLabelServable,
    classification.RegressionServable,
    text_vectors.EncoderServable,
    fill_mask.FillMaskServable,
    multi_task.MultiTaskServable,
    late_vectors.LateInteractionServable,
    multiple_choice.MultipleChoiceServable,
    question_answering.QuestionAnsweringServable,
    replaced_tokens.ReplacedTokensServable,
    sparse_vectors.SparseServable,
    token_classification.TokenClassificationServable,
  )
}


def of_model(model, head):
  """Returns the class of the servable of a model, used for a head."""
  if isinstance(model, static_embedding_model.StaticEmbeddingModel):
    return static_vectors.StaticServable
  return SERVABLES[head]
