"""Keras models: the encoder, and the encoder with heads."""

from keras_bert_impl.models.checkpoint_loading import from_checkpoint
from keras_bert_impl.models.encoders.bidirectional_pair import BidirectionalPair
from keras_bert_impl.models.encoders.elmo_encoder import ElmoEncoder
from keras_bert_impl.models.encoders.encoder_choice import make as make_encoder
from keras_bert_impl.models.encoders.encoder_model import Model
from keras_bert_impl.models.encoders.transformer_encoder import (
  TransformerEncoder,
)
from keras_bert_impl.models.encoders.xlnet_encoder import XLNetEncoder
from keras_bert_impl.models.heads.answer_beam import AnswerBeam
from keras_bert_impl.models.heads.embedding_model import EmbeddingModel
from keras_bert_impl.models.heads.encoder_decoder import EncoderDecoder
from keras_bert_impl.models.heads.feature_models import FeatureTagger
from keras_bert_impl.models.heads.masked_language_model import (
  MaskedLanguageModel,
)
from keras_bert_impl.models.heads.multi_task_classifier import (
  MultiTaskClassifier,
)
from keras_bert_impl.models.heads.multi_vector_embedding_model import (
  MultiVectorEmbeddingModel,
)
from keras_bert_impl.models.heads.multiple_choice import MultipleChoice
from keras_bert_impl.models.heads.question_answering import QuestionAnswering
from keras_bert_impl.models.heads.replaced_token_detector import (
  ReplacedTokenDetector,
)
from keras_bert_impl.models.heads.sequence_classifier import SequenceClassifier
from keras_bert_impl.models.heads.sparse_embedding_model import (
  SparseEmbeddingModel,
)
from keras_bert_impl.models.heads.static_embedding_model import (
  StaticEmbeddingModel,
)
from keras_bert_impl.models.heads.token_classifier import TokenClassifier
from keras_bert_impl.models.pretraining.bidirectional_lm import (
  BidirectionalLanguageModel,
  ElmoLanguageModel,
)
from keras_bert_impl.models.pretraining.electra import (
  ElectraPretrainingModel,
  electra_generator_config,
)
from keras_bert_impl.models.pretraining.permutation import (
  PermutationLanguageModel,
  PermutationPretrainingModel,
)
from keras_bert_impl.models.pretraining.pretrainer import PretrainingModel
from keras_bert_impl.models.pretraining.span_boundary import SpanBoundaryModel

__all__ = [
  "AnswerBeam",
  "BidirectionalLanguageModel",
  "BidirectionalPair",
  "ElectraPretrainingModel",
  "ElmoEncoder",
  "ElmoLanguageModel",
  "EmbeddingModel",
  "EncoderDecoder",
  "FeatureTagger",
  "MaskedLanguageModel",
  "Model",
  "MultiTaskClassifier",
  "MultiVectorEmbeddingModel",
  "MultipleChoice",
  "PermutationLanguageModel",
  "PermutationPretrainingModel",
  "PretrainingModel",
  "QuestionAnswering",
  "ReplacedTokenDetector",
  "SequenceClassifier",
  "SpanBoundaryModel",
  "SparseEmbeddingModel",
  "StaticEmbeddingModel",
  "TokenClassifier",
  "TransformerEncoder",
  "XLNetEncoder",
  "electra_generator_config",
  "from_checkpoint",
  "make_encoder",
]
