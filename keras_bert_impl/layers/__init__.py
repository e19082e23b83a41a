"""Reusable Keras layers, written in `keras.ops`.

They work in any Keras model and on any Keras backend; the tests run them on
TensorFlow, on JAX (`KERAS_BACKEND=jax`) and on torch (`KERAS_BACKEND=torch`).
`basics/kernels.py` knows which ops of TensorFlow are faster there, and uses
those.

Axes, everywhere in this project:
  B batch, L sequence length, P predictions per sequence, H hidden size,
  E embedding size, N attention heads, D size of one head (H / N),
  I intermediate size, V vocabulary size, C classes.
"""

from keras_bert_impl.layers.attention.alibi import LinearPositionBias
from keras_bert_impl.layers.attention.buckets import RelativePositionBias
from keras_bert_impl.layers.attention.disentangled import (
  DisentangledBias,
  RelativeEmbeddings,
)
from keras_bert_impl.layers.attention.global_tokens import (
  GlobalAttention,
  GlobalTokens,
)
from keras_bert_impl.layers.attention.relative_attention import (
  RelativeAttention,
  RelativeStructure,
)
from keras_bert_impl.layers.attention.rotary import RotaryEmbedding
from keras_bert_impl.layers.attention.self_attention import (
  FullAttention,
  SelfAttention,
)
from keras_bert_impl.layers.attention.window import LocalAttention
from keras_bert_impl.layers.basics.dropout import (
  Dropout,
  random_seed,
  rematerialize,
)
from keras_bert_impl.layers.blocks.convolution import TokenConvolution
from keras_bert_impl.layers.blocks.embeddings import Embeddings
from keras_bert_impl.layers.blocks.projected_lstm import (
  BidirectionalBlock,
  ProjectedLSTM,
)
from keras_bert_impl.layers.blocks.token_embeddings import TokenEmbeddings
from keras_bert_impl.layers.blocks.transformer_block import (
  BlockConfig,
  FeedForward,
  ResidualOutput,
  TransformerBlock,
)
from keras_bert_impl.layers.blocks.two_stream_block import TwoStreamBlock
from keras_bert_impl.layers.heads.answer_beam import AnswerBeamHead
from keras_bert_impl.layers.heads.bilstm import BiLSTM
from keras_bert_impl.layers.heads.crf import ConditionalRandomField
from keras_bert_impl.layers.heads.output_heads import (
  ClassificationHead,
  DiscriminatorHead,
  HeadTransform,
  MaskedLanguageModelHead,
  SpanBoundaryHead,
  StatesAt,
  VocabularyHead,
)
from keras_bert_impl.layers.heads.pooling import Pooler, Pooling
from keras_bert_impl.layers.heads.scalar_mix import ScalarMix
from keras_bert_impl.layers.heads.summary import SequenceSummary
from keras_bert_impl.layers.heads.token_sampler import TokenSampler

__all__ = [
  "AnswerBeamHead",
  "BiLSTM",
  "BidirectionalBlock",
  "BlockConfig",
  "ClassificationHead",
  "ConditionalRandomField",
  "DiscriminatorHead",
  "DisentangledBias",
  "Dropout",
  "Embeddings",
  "FeedForward",
  "FullAttention",
  "GlobalAttention",
  "GlobalTokens",
  "HeadTransform",
  "LinearPositionBias",
  "LocalAttention",
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
  "StatesAt",
  "TokenConvolution",
  "TokenEmbeddings",
  "TokenSampler",
  "TransformerBlock",
  "TwoStreamBlock",
  "VocabularyHead",
  "random_seed",
  "rematerialize",
]
