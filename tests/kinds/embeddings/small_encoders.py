"""The small encoders of tests/data, of each kind of vectors, opened once."""

import functools
import pathlib

import pytest

import keras_bert_impl as kb
from tests import slow

DATA = pathlib.Path(__file__).parents[2] / "data"
CLASSES = {
  "static": kb.StaticEncoder,
  "sentences": kb.SentenceEncoder,
  "sparse": kb.SparseEncoder,
  "late": kb.MultiVectorEncoder,
}
# Others than static ones take seconds.
NAMES = slow.all_but(("static",), CLASSES, mark=pytest.mark.integration)


@functools.cache
def opened(name):
  """Returns the encoder of a folder of `DATA`; no test may change it."""
  return CLASSES[name].from_checkpoint(DATA / name)
