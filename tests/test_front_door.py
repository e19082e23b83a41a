"""The names that `import keras_bert_impl as kb` gives, and its imports."""

import ast
import importlib
import os
import pathlib
import pydoc
import re
import subprocess
import sys

import pytest

import keras_bert_impl as kb
from keras_bert_impl import (
  configs,
  layers,
  models,
  tensorflow_log,
  tokenizers,
)
from keras_bert_impl.kinds import model_export
from keras_bert_impl.kinds.embeddings.encoders import sentence_encoder
from keras_bert_impl.training import experiment, training_config
from tests.official_tasks import forked

# In a fresh process, where nothing is imported yet.
FRESH = """
import sys
import keras_bert_impl as kb
from keras_bert_impl import features, files, locks

assert files.find_json("absent") is None and not hasattr(kb, "__wrapped__")
heavy = {"keras", "tensorflow", "jax", "numpy", "absl"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
assert {"models", "layers"} <= set(dir(kb))
sizes = dict(vocab_size=9, hidden_size=8, intermediate_size=8)
kb.EncoderConfig(num_hidden_layers=1, num_attention_heads=2, **sizes)
assert kb.layers.TransformerBlock
assert not hasattr(kb, "nothing")
import keras

model = keras.models.load_model(sys.argv[1])
assert type(model) is kb.models.SequenceClassifier
assert "tensorflow_text" not in sys.modules
"""
KERAS_FIRST = """
import sys
import keras, keras_bert_impl

model = keras.models.load_model(sys.argv[1])
assert type(model) is keras_bert_impl.models.SequenceClassifier
"""
QUIET = """
import os, sys
import keras_bert_impl as kb

assert kb.features and "TF_CPP_MIN_LOG_LEVEL" not in os.environ
assert kb.TextClassifier
print("of others", file=sys.stderr)
import tensorflow as tf

tf.zeros(2)
"""


@pytest.fixture(name="saved_model", scope="module")
def fixture_saved_model(tmp_path_factory):
  path = tmp_path_factory.mktemp("saved") / "model.keras"
  config = configs.EncoderConfig(
    vocab_size=30,
    hidden_size=8,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=16,
    max_position_embeddings=10,
  )
  models.SequenceClassifier(config, 3).save(path)
  return path


@pytest.mark.integration
def test_it_imports_nothing_heavy_until_it_is_used(saved_model):
  subprocess.run([sys.executable, "-c", FRESH, saved_model], check=True)


def test_a_saved_model_loads_where_keras_was_imported_before(
  saved_model, tmp_path
):
  (tmp_path / "program.py").write_text(KERAS_FIRST)
  process = forked.Process([str(tmp_path / "program.py"), str(saved_model)])
  _, err = process.communicate()
  assert process.returncode == 0, err


def test_all_models_and_layers_are_there():
  for module in (models, layers):
    for name in module.__all__:
      assert getattr(kb, name) is getattr(module, name)
      assert name in dir(kb)


def test_the_names_of_other_modules_are_there():
  assert kb.EncoderConfig is configs.EncoderConfig
  assert kb.Experiment is experiment.Experiment
  assert kb.TrainingConfig is training_config.TrainingConfig
  assert kb.SentenceEncoder is sentence_encoder.SentenceEncoder
  assert kb.export is model_export.export
  assert kb.load_tokenizer is tokenizers.load


def names_for_editors():
  """Returns the names that a type checker sees in the package."""
  tree = ast.parse(pathlib.Path(kb.__file__).read_text(encoding="utf-8"))
  [block] = [
    node
    for node in tree.body
    if isinstance(node, ast.If)
    and ast.unparse(node.test) == "typing.TYPE_CHECKING"
  ]
  names = set()
  for node in block.body:
    if isinstance(node, ast.Assign):
      names.add(node.targets[0].id)
      continue
    for alias in node.names:
      if alias.name == "*":
        names.update(importlib.import_module(node.module).__all__)
      else:
        assert alias.asname == alias.name, "hidden from a type checker"
        names.add(alias.name)
  return names


def test_editors_see_every_public_name_and_no_other():
  public = {name for name in dir(kb) if not name.startswith("_")}
  assert names_for_editors() == public == set(kb.__all__)
  for name in public:
    assert getattr(kb, name) is not None
  assert (pathlib.Path(kb.__file__).parent / "py.typed").exists()


def test_another_name_is_an_error():
  with pytest.raises(AttributeError, match="no attribute 'Bert'"):
    kb.Bert  # noqa: B018


def test_help_is_a_page_and_classes_show_what_is_public():
  page = pydoc.render_doc(kb, renderer=pydoc.plaintext)
  assert len(page.splitlines()) < 100
  assert all(name in page for name in (*kb._NAMES, *kb._MODULES))
  page = pydoc.render_doc(kb.TextClassifier, renderer=pydoc.plaintext)
  # Python 3.13 writes long signatures in lines, behind bars.
  assert re.search(r" fit\([\s|]*self", page)
  assert not re.search(r" _[a-z]\w*\([\s|]*self", page)


def test_a_star_imports_every_public_name():
  names = {}
  exec("from keras_bert_impl import *", names)
  assert set(kb.__all__) <= names.keys()


@pytest.mark.integration
def test_tensorflow_is_imported_quietly(monkeypatch):
  monkeypatch.delenv(tensorflow_log.LEVEL, raising=False)
  result = subprocess.run(
    [sys.executable, "-c", QUIET], capture_output=True, text=True, check=True
  )
  assert result.stderr == "of others\n"


@pytest.mark.parametrize(
  ("level", "shown"),
  [(None, "mine\n"), ("2", "mine\n"), ("0", "I0000 x\nmine\n")],
)
def test_what_others_write_is_shown(level, shown, monkeypatch, capfd):
  monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
  monkeypatch.delenv(tensorflow_log.LEVEL, raising=False)
  if level:
    monkeypatch.setenv(tensorflow_log.LEVEL, level)
  with tensorflow_log.hidden():
    os.write(2, b"I0000 x\nmine\n")
  assert capfd.readouterr().err == shown
  assert os.environ.get(tensorflow_log.LEVEL) == level
  with pytest.raises(KeyError), tensorflow_log.hidden():
    os.write(2, b"I0000 x\n")
    raise KeyError  # The log may say why.
  assert capfd.readouterr().err == "I0000 x\n"
