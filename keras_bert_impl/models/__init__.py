"""Keras models: the encoder, and the encoder with heads."""

from keras_bert_impl.models.answer_beam import AnswerBeam
from keras_bert_impl.models.base import Model
from keras_bert_impl.models.bidirectional_lm import (
  BidirectionalLanguageModel,
  ElmoLanguageModel,
)
from keras_bert_impl.models.bidirectional_pair import BidirectionalPair
from keras_bert_impl.models.checkpoint import from_checkpoint
from keras_bert_impl.models.electra import (
  ElectraPretrainingModel,
  electra_generator_config,
)
from keras_bert_impl.models.elmo_encoder import ElmoEncoder
from keras_bert_impl.models.embedding_model import EmbeddingModel
from keras_bert_impl.models.encoder import TransformerEncoder
from keras_bert_impl.models.encoders import make as make_encoder
from keras_bert_impl.models.feature_models import FeatureTagger
from keras_bert_impl.models.permutation import (
  PermutationLanguageModel,
  PermutationPretrainingModel,
)
from keras_bert_impl.models.pretrainer import PretrainingModel
from keras_bert_impl.models.span_boundary import SpanBoundaryModel
from keras_bert_impl.models.task_models import (
  MaskedLanguageModel,
  MultipleChoice,
  QuestionAnswering,
  ReplacedTokenDetector,
  SequenceClassifier,
  TokenClassifier,
)
from keras_bert_impl.models.xlnet_encoder import XLNetEncoder

__all__ = [
  "AnswerBeam",
  "BidirectionalLanguageModel",
  "BidirectionalPair",
  "ElectraPretrainingModel",
  "ElmoEncoder",
  "ElmoLanguageModel",
  "EmbeddingModel",
  "FeatureTagger",
  "MaskedLanguageModel",
  "Model",
  "MultipleChoice",
  "PermutationLanguageModel",
  "PermutationPretrainingModel",
  "PretrainingModel",
  "QuestionAnswering",
  "ReplacedTokenDetector",
  "SequenceClassifier",
  "SpanBoundaryModel",
  "TokenClassifier",
  "TransformerEncoder",
  "XLNetEncoder",
  "electra_generator_config",
  "from_checkpoint",
  "make_encoder",
]
