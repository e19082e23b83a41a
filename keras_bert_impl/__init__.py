"""BERT and the systems around it as a Keras 3 layer library.

    import keras_bert_impl as kb

    encoder = kb.from_checkpoint("uncased_L-12_H-768_A-12")
    tokenizer = kb.load_tokenizer("uncased_L-12_H-768_A-12")
    outputs = encoder(tokenizer(["Hello!"], max_seq_length=128))

All models and layers, and the other names in `_NAMES`, are attributes of it.
Modules are imported when they are first used: `kb.models` needs no import of
its own, and importing this package imports neither Keras nor TensorFlow.

`keras.models.load_model` knows the classes of this package if Keras was
imported before it, or if any attribute of it was used.
"""

import importlib
import sys

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
    "BlockConfig",
    "ClassificationHead",
    "ConditionalRandomField",
    "DiscriminatorHead",
    "DisentangledBias",
    "Dropout",
    "Embeddings",
    "FeedForward",
    "FullAttention",
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
  "tokenizers": ("load_tokenizer",),
  "training.training_config": ("TrainingConfig",),
  "training.experiment": ("Experiment",),
}
_ALIASES = {"load_tokenizer": "load"}
_MODULE_OF = {
  name: module for module, names in _NAMES.items() for name in names
}


def __getattr__(name):
  if name in _MODULES:
    return _import(name)
  if name not in _MODULE_OF:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
  value = getattr(_import(_MODULE_OF[name]), _ALIASES.get(name, name))
  globals()[name] = value  # It is not looked up here again.
  return value


def __dir__():
  return sorted({*globals(), *_MODULES, *_MODULE_OF})


def _import(name):
  """Returns a module, and registers the models with Keras where that is."""
  module = importlib.import_module(f"{__name__}.{name}")
  if "keras" in sys.modules:
    importlib.import_module(f"{__name__}.models")
  return module


if "keras" in sys.modules:
  _import("models")
