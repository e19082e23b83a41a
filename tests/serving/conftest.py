"""One export of every head for all tests of this folder."""

import collections.abc
import fcntl
import functools
import os
import pathlib
import shutil
import uuid
from typing import NamedTuple

import keras
import pytest

from keras_bert_impl import tokenizers
from keras_bert_impl.serving import export
from tests.serving import all_heads, cpp_client, toy


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


class _Exports(collections.abc.Mapping):
  """{name of `all_heads.ALL`: `Export`}, each made when it is asked for.

  Several processes share the folder: who comes first exports.
  """

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
    vocabularies = self._folder / f"vocabulary_{uuid.uuid4().hex}"
    vocabularies.mkdir(parents=True)
    head = all_heads.make(name, vocabularies)
    moved = self._folder / "moved" / name
    with open(self._folder / f"{name}.lock", "w") as lock:
      fcntl.flock(lock, fcntl.LOCK_EX)
      if not moved.exists():
        export.export(head.servable, self._folder / "made" / name)
        moved.parent.mkdir(exist_ok=True)
        (self._folder / "made" / name).rename(moved)
    shutil.rmtree(vocabularies)
    return Export(head, moved / "1")


@pytest.fixture(scope="session")
def exports(tmp_path_factory):
  """{name of `all_heads.ALL`: `Export`}.

  The directories were moved after the export, and the vocabularies that the
  models were made with are gone.
  """
  folder = tmp_path_factory.getbasetemp()
  # Of a process of pytest-xdist; the parent is that of the whole run.
  if "PYTEST_XDIST_WORKER" in os.environ:
    folder = folder.parent
  return _Exports(folder / "heads")


@pytest.fixture(scope="session")
def program(tmp_path_factory):
  """The program of `cpp_client`."""
  if shutil.which("g++") is None:
    pytest.skip("needs g++")
  path = tmp_path_factory.mktemp("program") / "saved_model_client"
  cpp_client.build(path)
  return path
