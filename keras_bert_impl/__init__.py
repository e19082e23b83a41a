"""BERT and the systems around it as a Keras 3 layer library.

    import keras_bert_impl as kb

    encoder = kb.from_checkpoint("uncased_L-12_H-768_A-12")
    tokenizer = kb.load_tokenizer("uncased_L-12_H-768_A-12")
    outputs = encoder(tokenizer(["Hello!"], max_seq_length=128))

All models and layers, and the other names in `_NAMES`, are attributes of it.
Modules are imported when they are first used: `kb.models` needs no import of
its own, and importing this package imports neither Keras nor TensorFlow.
"""

import importlib

from keras_bert_impl import registration

__version__ = "0.1.0"

_MODULES = (
  "checkpoints",
  "configs",
  "features",
  "layers",
  "metrics",
  "models",
  "optimizers",
  "sentences",
  "serving",
  "tasks",
  "tokenizers",
  "training",
)
# {module: names in it that are attributes of the package too}.
_NAMES = {
  "configs": ("EncoderConfig",),
  "layers": (
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
  ),
  "models": (
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
  ),
  "sentences.sentence_encoder": ("SentenceEncoder",),
  "serving.export": ("export",),
  "training.config": ("TrainingConfig",),
  "training.experiment": ("Experiment",),
}
_MODULE_OF = {
  name: module for module, names in _NAMES.items() for name in names
}


def __getattr__(name):
  if name in _MODULES:
    return importlib.import_module(f"{__name__}.{name}")
  if name == "load_tokenizer":
    return __getattr__("tokenizers").load
  if name in _MODULE_OF:
    module = importlib.import_module(f"{__name__}.{_MODULE_OF[name]}")
    return getattr(module, name)
  raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
  return sorted({*globals(), *_MODULES, *_MODULE_OF, "load_tokenizer"})


registration.register_with_keras()
