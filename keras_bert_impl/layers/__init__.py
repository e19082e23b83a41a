"""Reusable Keras layers, written in `keras.ops` only.

They work in any Keras model and on any Keras backend; the tests run them on
TensorFlow and on JAX (`KERAS_BACKEND=jax`).

Axes, everywhere in this project:
  B batch, L sequence length, P predictions per sequence, H hidden size,
  E embedding size, N attention heads, D size of one head (H / N),
  I intermediate size, V vocabulary size, C classes.
"""

from keras_bert_impl.layers.answer_beam import AnswerBeamHead
from keras_bert_impl.layers.bilstm import BiLSTM
from keras_bert_impl.layers.convolution import TokenConvolution
from keras_bert_impl.layers.crf import ConditionalRandomField
from keras_bert_impl.layers.disentangled import (
  DisentangledBias,
  RelativeEmbeddings,
)
from keras_bert_impl.layers.dropout import Dropout, random_seed
from keras_bert_impl.layers.embeddings import Embeddings
from keras_bert_impl.layers.feed_forward import FeedForward
from keras_bert_impl.layers.head_transform import HeadTransform
from keras_bert_impl.layers.heads import (
  ClassificationHead,
  DiscriminatorHead,
  MaskedLanguageModelHead,
  Pooler,
  SpanBoundaryHead,
  VocabularyHead,
)
from keras_bert_impl.layers.pooling import Pooling
from keras_bert_impl.layers.projected_lstm import (
  BidirectionalBlock,
  ProjectedLSTM,
)
from keras_bert_impl.layers.relative_attention import (
  RelativeAttention,
  RelativeStructure,
)
from keras_bert_impl.layers.relative_positions import RelativePositionBias
from keras_bert_impl.layers.rematerialization import rematerialize
from keras_bert_impl.layers.residual_output import ResidualOutput
from keras_bert_impl.layers.rotary import RotaryEmbedding
from keras_bert_impl.layers.scalar_mix import ScalarMix
from keras_bert_impl.layers.summary import SequenceSummary
from keras_bert_impl.layers.token_embeddings import TokenEmbeddings
from keras_bert_impl.layers.token_sampler import TokenSampler
from keras_bert_impl.layers.transformer_block import (
  SelfAttention,
  TransformerBlock,
)
from keras_bert_impl.layers.two_stream_block import TwoStreamBlock

__all__ = [
  "AnswerBeamHead",
  "BiLSTM",
  "BidirectionalBlock",
  "ClassificationHead",
  "ConditionalRandomField",
  "DiscriminatorHead",
  "DisentangledBias",
  "Dropout",
  "Embeddings",
  "FeedForward",
  "HeadTransform",
  "MaskedLanguageModelHead",
  "Pooler",
  "Pooling",
  "ProjectedLSTM",
  "RelativeAttention",
  "RelativeEmbeddings",
  "RelativePositionBias",
  "RelativeStructure",
  "ResidualOutput",
  "RotaryEmbedding",
  "ScalarMix",
  "SelfAttention",
  "SequenceSummary",
  "SpanBoundaryHead",
  "TokenConvolution",
  "TokenEmbeddings",
  "TokenSampler",
  "TransformerBlock",
  "TwoStreamBlock",
  "VocabularyHead",
  "random_seed",
  "rematerialize",
]
