"""Registers the models with Keras as soon as Keras is imported.

`keras.models.load_model` knows a class only after its module was imported.
That module imports Keras, which takes seconds that a script's `--help` must not
take. So the models are imported right after Keras is.
"""

import contextlib
import importlib
import sys

from keras_bert_impl import import_hooks


def register_with_keras():
  """Imports the models, now or as soon as Keras is imported."""
  if "keras" in sys.modules:
    _import_models()
  else:
    import_hooks.around(("keras",), _then_models)


@contextlib.contextmanager
def _then_models():
  yield
  _import_models()


def _import_models():
  importlib.import_module("keras_bert_impl.models")
