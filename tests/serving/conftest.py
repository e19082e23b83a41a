"""One export of every head for all tests of this folder."""

import collections.abc
import fcntl
import functools
import os
import pathlib
import shutil
import types
import uuid
from typing import NamedTuple

import keras
import pytest

from keras_bert_impl import tokenizers
from keras_bert_impl.serving import export
from tests.serving import (
  all_heads,
  bad_requests,
  cpp_client,
  session_process,
  toy,
  warmup_logs,
)

# Which rows of a request are asked for.
PARTS = {"all": slice(None), "none": slice(0), "first": slice(1)}


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


@pytest.fixture(scope="session")
def asked(exports, tmp_path_factory):
  """What all SavedModels answer in a session, all in one process.

  Its `answers` are of {key: answer or error}, with the keys

    (name, signature, part)   the requests of `all_heads`, and parts of them
    (name, signature, "warm-up")   what TF Serving warms up with
    (name, "ids", number)     `bad_requests.of_ids`
    "tracked", "mirrored"     exports of `folder` that were made otherwise
  """
  folder = tmp_path_factory.mktemp("asked")
  model = exports["encoder"].head.model
  session_process.save_tracking_the_model(model, folder / "tracked")
  toy.write_vocabulary(folder / "vocab.txt")
  session_process.run_module(
    "export_under_strategy", folder / "vocab.txt", folder / "mirrored"
  )
  masked = exports["fill_mask"].head.requests["serving_default"]
  requests = {
    "tracked": (folder / "tracked", "token_ids", all_heads.TOKEN_IDS),
    "mirrored": (folder / "mirrored/1", "serving_default", masked),
  }
  for name, (head, version_dir) in exports.items():
    for key, signature, inputs in _requests(head, version_dir):
      requests[(name, *key)] = (version_dir, signature, inputs)
  requests = {k: (str(d), *rest) for k, (d, *rest) in requests.items()}
  answers = session_process.ask(folder, requests)
  return types.SimpleNamespace(folder=folder, answers=answers)


def _requests(head, version_dir):
  """Yields (key, signature, {input: value}) for a session."""
  for signature, inputs in head.requests.items():
    for part, rows in PARTS.items():
      some = {key: value[rows] for key, value in inputs.items()}
      yield (signature, part), signature, some
  for log in warmup_logs.read(version_dir):
    _, request, inputs = warmup_logs.request_of(log)
    signature = request.model_spec.signature_name
    yield (signature, "warm-up"), signature, inputs
  for number, (inputs, _) in enumerate(bad_requests.of_ids(head)):
    yield ("ids", number), "token_ids", inputs


@pytest.fixture(scope="session")
def printed(program, exports, tmp_path_factory):
  """{name of a head: (errors, {signature: {output: array}})}, in C++.

  One process is asked for `bad_requests` and then for good ones, of each head.
  """
  requests = {
    name: [
      *(request[:2] for request in bad_requests.of(head)),
      *head.requests.items(),
    ]
    for name, (head, _) in exports.items()
  }
  file = tmp_path_factory.mktemp("requests") / "requests"
  process = cpp_client.run(
    program,
    file,
    [
      (exports[name].version_dir, *request)
      for name in requests
      for request in requests[name]
    ],
  )
  assert process.returncode == 0, process.stderr
  answers = iter(cpp_client.parse(process.stdout))
  found = {}
  for name, asked_for in requests.items():
    own = [next(answers) for _ in asked_for]
    good = list(exports[name].head.requests)
    found[name] = (
      own[: -len(good)],
      dict(zip(good, own[-len(good) :], strict=True)),
    )
  assert next(answers, None) is None
  return found
