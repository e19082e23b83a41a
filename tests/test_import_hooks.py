"""Contexts around the import of a module."""

import contextlib
import importlib
import sys

import pytest

from keras_bert_impl import import_hooks


@pytest.fixture(name="module")
def fixture_module(tmp_path, monkeypatch):
  (tmp_path / "a_module.py").write_text("from math import pi\n")
  monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
  monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
  yield "a_module"
  sys.modules.pop("a_module", None)


def test_a_module_is_executed_inside_of_all_contexts_of_its_name(module):
  events = []

  @contextlib.contextmanager
  def context(name):
    events.append(f"before {name}")
    yield
    events.append(f"after {name}, {hasattr(sys.modules[module], 'pi')}")

  import_hooks.around((module,), lambda: context("first"))
  import_hooks.around(("another", module), lambda: context("second"))
  assert importlib.import_module(module).pi > 3
  assert events == [
    "before second",
    "before first",
    "after first, True",
    "after second, True",
  ]


def test_a_module_that_is_not_there_stays_so(module):
  import_hooks.around(("no_such_module",), contextlib.nullcontext)
  with pytest.raises(ModuleNotFoundError):
    importlib.import_module("no_such_module")
