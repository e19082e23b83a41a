"""Exports of heads for all tests of this folder, each made when asked for."""

import collections.abc
import functools
import pathlib
import shutil
from typing import NamedTuple

import keras
import pytest
import tensorflow as tf

from keras_bert_impl import tokenizers
from keras_bert_impl.serving import export
from tests.serving import all_heads, toy


class Export(NamedTuple):
  """A head, and the directory of the only version of its SavedModel."""

  head: all_heads.Head
  version_dir: pathlib.Path


@pytest.fixture(scope="module")
def tokenizer_of(tmp_path_factory):
  """Returns a function from a kind to its tokenizer."""

  @functools.cache
  def load(kind):
    write, settings = toy.KINDS[kind]
    return tokenizers.load(write(tmp_path_factory.mktemp(kind)), **settings)

  # Later, it would take the resources of tokenizers along.
  keras.utils.set_random_seed(0)
  return load


@pytest.fixture
def eagerly():
  """Runs functions op by op, without tracing them."""
  tf.config.run_functions_eagerly(True)
  yield
  tf.config.run_functions_eagerly(False)


@pytest.fixture
def without_saving(monkeypatch):
  """Exports save no graph."""
  monkeypatch.setattr(tf.saved_model, "save", lambda *_, **__: None)


@pytest.fixture(name="tokenizer", scope="session")
def fixture_tokenizer(tmp_path_factory):
  """The tokenizer of `toy.TOKENS`."""
  path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
  toy.write_vocabulary(path)
  return toy.tokenizer(path)


class _Exports(collections.abc.Mapping):
  """{name of `all_heads.ALL`: `Export`}."""

  def __init__(self, folder):
    self._folder = folder
    self._made = {}

  def __iter__(self):
    return iter(all_heads.ALL)

  def __len__(self):
    return len(all_heads.ALL)

  def __getitem__(self, name):
    if name not in self._made:
      self._made[name] = self._make(name)
    return self._made[name]

  def _make(self, name):
    vocabulary, moved = self._folder / "vocabulary", self._folder / "moved"
    for folder in (vocabulary, moved):
      folder.mkdir(exist_ok=True)
    head = all_heads.make(name, vocabulary)
    export.export(head.servable, self._folder / "made" / name)
    (self._folder / "made" / name).rename(moved / name)
    shutil.rmtree(vocabulary)
    return Export(head, moved / name / "1")


@pytest.fixture(scope="session")
def exports(tmp_path_factory):
  """{name of `all_heads.ALL`: `Export`}.

  The directories were moved after the export, and the vocabularies that the
  models were made with are gone.
  """
  return _Exports(tmp_path_factory.mktemp("heads"))
