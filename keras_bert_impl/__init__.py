"""BERT and the systems around it as a Keras 3 layer library.

    import keras_bert_impl as kb

    encoder = kb.from_checkpoint("uncased_L-12_H-768_A-12")
    tokenizer = kb.load_tokenizer("uncased_L-12_H-768_A-12")
    outputs = encoder(tokenizer(["Hello!"], max_seq_length=128))

Strings in, answers out; `fit`, `evaluate`, `predict`, `save`, `export`:
    TextClassifier, TokenTagger, QuestionAnswerer, ChoiceAnswerer, FillMask,
    DependencyParser, CoreferenceResolver, TextGenerator, ZeroShotClassifier
Texts in, vectors or a ranking out:
    SentenceEncoder, SparseEncoder, MultiVectorEncoder, StaticEncoder, Reranker
Vectors of a corpus of any size, which `encode_corpus` writes:
    load_corpus_vectors, CorpusVectors, VectorIndex
Checkpoints, configurations and tokenizers:
    from_checkpoint, make_encoder, EncoderConfig, load_tokenizer, export,
    electra_generator_config
Training:
    Experiment, TrainingConfig, lora, merge_lora, save_lora, load_lora,
    rematerialize, random_seed
Modules, with all models and layers, which are attributes of the package too:
    models, layers, checkpoints, configs, features, metrics, optimizers,
    sentences, serving, tasks, tokenizers, training

`help(kb.TextClassifier)` tells of one; `dir(kb)` lists all. Modules are
imported when they are first used: `kb.models` needs no import of its own, and
importing this package imports neither Keras nor TensorFlow. That is quiet:
TF_CPP_MIN_LOG_LEVEL=0 in the environment shows what TensorFlow logs.

`keras.models.load_model` knows the classes of this package if Keras was
imported before it, or if any attribute of it was used.
"""

import importlib
import sys
import typing

from keras_bert_impl import foreign_names, tensorflow_log

if typing.TYPE_CHECKING:  # Editors and type checkers read these lines.
  # Without `as`, an import of a typed package is its own, not its users'.
  from keras_bert_impl import (
    checkpoints as checkpoints,
    configs as configs,
    features as features,
    layers as layers,
    metrics as metrics,
    models as models,
    optimizers as optimizers,
    sentences as sentences,
    serving as serving,
    tasks as tasks,
    tokenizers as tokenizers,
    training as training,
  )
  from keras_bert_impl.configs import EncoderConfig as EncoderConfig
  from keras_bert_impl.kinds.choices.choice_answerer import (
    ChoiceAnswerer as ChoiceAnswerer,
  )
  from keras_bert_impl.kinds.fill_mask.mask_filling import FillMask as FillMask
  from keras_bert_impl.kinds.coreference.coreference_resolver import (
    CoreferenceResolver as CoreferenceResolver,
  )
  from keras_bert_impl.kinds.parsing.dependency_parser import (
    DependencyParser as DependencyParser,
  )
  from keras_bert_impl.kinds.generation.text_generator import (
    TextGenerator as TextGenerator,
  )
  from keras_bert_impl.kinds.answers.question_answerer import (
    QuestionAnswerer as QuestionAnswerer,
  )
  from keras_bert_impl.kinds.reranking.reranker import Reranker as Reranker
  from keras_bert_impl.kinds.texts.text_classifier import (
    TextClassifier as TextClassifier,
  )
  from keras_bert_impl.kinds.tags.token_tagger import TokenTagger as TokenTagger
  from keras_bert_impl.layers import *
  from keras_bert_impl.models import *
  from keras_bert_impl.models.lora import (
    load_lora as load_lora,
    lora as lora,
    merge_lora as merge_lora,
    save_lora as save_lora,
  )
  from keras_bert_impl.kinds.embeddings.corpus.corpus_vectors import (
    CorpusVectors as CorpusVectors,
    load_corpus_vectors as load_corpus_vectors,
  )
  from keras_bert_impl.kinds.embeddings.corpus.vector_index import (
    VectorIndex as VectorIndex,
  )
  from keras_bert_impl.kinds.embeddings.encoders.multi_vector_encoder import (
    MultiVectorEncoder as MultiVectorEncoder,
  )
  from keras_bert_impl.kinds.embeddings.encoders.sentence_encoder import (
    SentenceEncoder as SentenceEncoder,
  )
  from keras_bert_impl.kinds.embeddings.encoders.sparse_encoder import (
    SparseEncoder as SparseEncoder,
  )
  from keras_bert_impl.kinds.embeddings.encoders.static_encoder import (
    StaticEncoder as StaticEncoder,
  )
  from keras_bert_impl.kinds.model_export import export as export
  from keras_bert_impl.kinds.zero_shot.zero_shot_classifier import (
    ZeroShotClassifier as ZeroShotClassifier,
  )
  from keras_bert_impl.training.experiment import Experiment as Experiment
  from keras_bert_impl.training.training_config import (
    TrainingConfig as TrainingConfig,
  )

  load_tokenizer = tokenizers.load

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
# {name: where it stands}; other classes are those of kinds, layers and models.
_NAMES = {
  "EncoderConfig": ("configs", "EncoderConfig"),
  "CorpusVectors": ("kinds.embeddings.corpus.corpus_vectors", "CorpusVectors"),
  "Experiment": ("training.experiment", "Experiment"),
  "TrainingConfig": ("training.training_config", "TrainingConfig"),
  "VectorIndex": ("kinds.embeddings.corpus.vector_index", "VectorIndex"),
  "electra_generator_config": ("models", "electra_generator_config"),
  "export": ("kinds.model_export", "export"),
  "from_checkpoint": ("models", "from_checkpoint"),
  "load_corpus_vectors": (
    "kinds.embeddings.corpus.corpus_vectors",
    "load_corpus_vectors",
  ),
  "load_lora": ("models.lora", "load_lora"),
  "load_tokenizer": ("tokenizers", "load"),
  "lora": ("models.lora", "lora"),
  "make_encoder": ("models", "make_encoder"),
  "merge_lora": ("models.lora", "merge_lora"),
  "random_seed": ("layers", "random_seed"),
  "rematerialize": ("layers", "rematerialize"),
  "save_lora": ("models.lora", "save_lora"),
}


def _attribute(name):
  # Not at once, as the names need Keras. Of what is in it, `help` would write
  # all classes out, in 55,000 lines.
  if name == "__all__":
    if sys._getframe(1).f_globals.get("__name__") != "pydoc":
      return _public()
  if name in _MODULES:
    return _import(name)
  if name in _NAMES:
    module, name_there = _NAMES[name]
    value = getattr(_import(module), name_there)
  elif name in _import("kinds").DOORS:
    with tensorflow_log.hidden():
      value = getattr(_import("kinds").DOORS[name], name)
  else:
    value = _class(name)
  globals()[name] = value  # It is not looked up here again.
  return value


if not typing.TYPE_CHECKING:  # It would hide names that there are not.
  __getattr__ = _attribute


def __dir__():
  return [*(name for name in globals() if name.startswith("__")), *_public()]


def _public():
  layers, models = _import("layers").__all__, _import("models").__all__
  doors = _import("kinds").DOORS
  return sorted({*_MODULES, *_NAMES, *doors, *layers, *models})


def _class(name):
  if name[0].isupper():  # Python asks for the names of modules here, too.
    for module in map(_import, ("layers", "models")):
      if name in module.__all__:
        return getattr(module, name)
  foreign_names.check("keras_bert_impl", name)
  raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _import(name):
  """Returns a module, and registers the models with Keras where that is."""
  with tensorflow_log.hidden():
    module = importlib.import_module(f"{__name__}.{name}")
    if "keras" in sys.modules:
      importlib.import_module(f"{__name__}.models")
  return module


if "keras" in sys.modules:
  _import("models")
