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
from tests.serving import (
  all_heads,
  answers,
  bad_requests,
  toy,
  warmup_logs,
)
from tests.serving.loaders import cpp_client, session_process


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


@pytest.fixture(scope="session")
def program(tmp_path_factory):
  """The program of `cpp_client`."""
  if shutil.which("g++") is None:
    pytest.skip("needs g++")
  path = tmp_path_factory.mktemp("program") / "saved_model_client"
  cpp_client.build(path)
  return path


@pytest.fixture(scope="session")
def asked(exports, tmp_path_factory):
  """Returns a function from a name to what its SavedModel answers a session.

  {key: answer or error}, with the keys

    (signature, part)   the requests of `all_heads`, and `answers.PARTS` of them
    (signature, "warm-up")   what TF Serving warms up with
    ("ids", number)     `bad_requests.of_ids`

  One process is asked for all of `all_heads.QUICK`, and one for the others.
  """

  @functools.cache
  def ask(is_quick):
    requests = {
      (name, *key): (str(exports[name].version_dir), signature, inputs)
      for name in all_heads.ALL
      if (name in all_heads.QUICK) == is_quick
      for key, signature, inputs in _requests(*exports[name])
    }
    folder = tmp_path_factory.mktemp("asked")
    found = collections.defaultdict(dict)
    for (name, *key), answer in session_process.ask(folder, requests).items():
      found[name][tuple(key)] = answer
    return found

  return lambda name: ask(name in all_heads.QUICK)[name]


def _requests(head, version_dir):
  """Yields (key, signature, {input: value}) for a session."""
  for signature, inputs in head.requests.items():
    for part in answers.PARTS:
      yield (signature, part), signature, answers.part_of(inputs, part)
  for log in warmup_logs.read(version_dir):
    _, request, inputs = warmup_logs.request_of(log)
    signature = request.model_spec.signature_name
    yield (signature, "warm-up"), signature, inputs
  for number, (inputs, _) in enumerate(bad_requests.of_ids(head)):
    yield ("ids", number), "token_ids", inputs
