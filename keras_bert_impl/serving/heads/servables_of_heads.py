"""The servables by the head that they serve."""

from keras_bert_impl.serving.heads import (
  classification,
  fill_mask,
  multiple_choice,
  question_answering,
  replaced_tokens,
  sparse_vectors,
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
    multiple_choice.MultipleChoiceServable,
    question_answering.QuestionAnsweringServable,
    replaced_tokens.ReplacedTokensServable,
    sparse_vectors.SparseServable,
    token_classification.TokenClassificationServable,
  )
}
