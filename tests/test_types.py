"""Types: documents have no errors, and wrong calls are found."""

import dataclasses
import inspect
import json
import pathlib
import shutil
import subprocess
import sys
import types
import typing

import keras
import pytest

from keras_bert_impl import kinds, layers
from keras_bert_impl.estimators import typed
from keras_bert_impl.kinds.answers import question_answerer
from keras_bert_impl.kinds.coreference import coreference_resolver
from keras_bert_impl.kinds.embeddings.corpus import corpus_options
from keras_bert_impl.kinds.embeddings.encoders import (
  corpus_encoder,
  encoder_training,
)
from keras_bert_impl.kinds.generation import text_generator
from keras_bert_impl.kinds.parsing import dependency_parser
from keras_bert_impl.kinds.reranking import reranker
from keras_bert_impl.kinds.tags import token_tagger
from keras_bert_impl.kinds.texts import text_classifier
from keras_bert_impl.model_folders import model_files
from keras_bert_impl.runs.fine_tuning import fine_tuning_config
from keras_bert_impl.training import training_config
from tests import test_documents

CHECKER = shutil.which("basedpyright", path=pathlib.Path(sys.executable).parent)
WRONG = pathlib.Path(__file__).with_name("wrongly_typed.py")
LAYERS = "uses_of_layers.py"
PAGES = ("README.md", "docs/python.md", "docs/embeddings.md")
# What `fit` has by other names, or finds out itself.
OTHERS = {
  *fine_tuning_config.DERIVED,
  *("do_train", "do_eval", "do_predict", "init_checkpoint", "output_dir"),
  *("num_train_epochs", "train_batch_size", "teacher_checkpoint"),
}


def arguments_of_layers():
  """Returns {public layer: its constructor's arguments by name}, of all."""
  classes = [getattr(layers, name) for name in layers.__all__]
  return {
    each.__name__: {
      name: parameter
      for name, parameter in inspect.signature(each.__init__).parameters.items()
      if name != "self" and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    }
    for each in classes
    if isinstance(each, type) and issubclass(each, keras.layers.Layer)
  }


def uses_of_layers():
  """Returns a program that makes each public layer and reads its arguments."""
  lines = ["import keras_bert_impl as kb", ""]
  for name, arguments in arguments_of_layers().items():
    needed = [4 for each in arguments.values() if each.default is each.empty]
    given = ", ".join([*map(str, needed), 'name="own"', 'dtype="float32"'])
    lines.append(f"layer = kb.{name}({given})")
    lines += [f"reveal_type(layer.{each})  # {name}" for each in arguments]
  return "\n".join(lines)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
  """What the checker says of the documents, wrong calls and layers, dicts."""
  folder = tmp_path_factory.mktemp("typed")
  for page in PAGES:
    blocks = test_documents.blocks(test_documents.ROOT / page, "python")
    name = f"{pathlib.Path(page).stem.lower()}_page.py"
    (folder / name).write_text("\n".join(blocks), encoding="utf-8")
  shutil.copy(WRONG, folder)
  (folder / LAYERS).write_text(uses_of_layers())
  settings = {
    "typeCheckingMode": "standard",
    "extraPaths": [str(test_documents.ROOT)],
  }
  (folder / "pyrightconfig.json").write_text(json.dumps(settings))
  process = subprocess.run(
    [
      CHECKER,
      "-p",
      str(folder),
      "--pythonpath",
      sys.executable,
      "--outputjson",
    ],
    capture_output=True,
    text=True,
    check=False,
  )
  return json.loads(process.stdout)["generalDiagnostics"]


@pytest.fixture(scope="module")
def errors(found):
  """{file name: lines with errors}."""
  pages = [f"{pathlib.Path(page).stem.lower()}_page.py" for page in PAGES]
  lines = {name: set() for name in (*pages, WRONG.name, LAYERS)}
  for each in found:
    if each["severity"] == "error":
      name = pathlib.Path(each["file"]).name
      lines[name].add(each["range"]["start"]["line"] + 1)
  return lines


@pytest.mark.integration
@pytest.mark.skipif(CHECKER is None, reason="basedpyright is not installed")
def test_the_code_of_documents_has_no_errors(errors):
  pages = {name: lines for name, lines in errors.items() if "_page" in name}
  assert len(pages) == len(PAGES)
  assert not any(pages.values()), pages


@pytest.mark.integration
@pytest.mark.skipif(CHECKER is None, reason="basedpyright is not installed")
def test_each_wrong_call_is_found(errors):
  lines = WRONG.read_text(encoding="utf-8").splitlines()
  first = lines.index('  """Is never called."""') + 2
  expected = set(range(first, len(lines) + 1))
  assert len(expected) >= 40
  assert errors[WRONG.name] == expected


@pytest.mark.integration
@pytest.mark.skipif(CHECKER is None, reason="basedpyright is not installed")
def test_the_arguments_of_each_layer_are_attributes_of_known_types(
  found, errors
):
  assert errors[LAYERS] == set()
  types_ = [
    each["message"].rpartition(" is ")[2]
    for each in found
    if pathlib.Path(each["file"]).name == LAYERS
  ]
  program = uses_of_layers()
  assert len(types_) == program.count("reveal_type") > 100
  wrong = [x for x in types_ if "Unknown" in x or x == '"Any"']
  assert not wrong


def fields(*config_classes):
  """Returns {name: type} of the fields that are settings of `fit`."""
  found = {}
  for config_class in config_classes:
    hints = typing.get_type_hints(config_class)
    names = {field.name for field in dataclasses.fields(config_class)}
    found |= {name: hints[name] for name in names - OTHERS}
  return found


def is_same(declared, own):
  """Whether a setting takes what a field holds; any sequence for a tuple."""
  if isinstance(own, types.UnionType):
    given = typing.get_args(declared)
    return all(any(is_same(x, y) for x in given) for y in typing.get_args(own))
  if typing.get_origin(own) in (tuple, dict):
    return typing.get_origin(declared) is not None
  return declared == own


FILES = model_files.ModelFilesConfig


@pytest.mark.parametrize(
  ("settings", "config_classes"),
  [
    (typed.FileNames, [FILES]),
    (
      typed.FitSettings,
      [fine_tuning_config.FineTuningConfig, training_config.TrainingConfig],
    ),
    (text_classifier.TextSettings, ["texts"]),
    (token_tagger.TagSettings, ["tags"]),
    (question_answerer.AnswerSettings, ["answers"]),
    (encoder_training.EncoderSettings, ["embeddings"]),
    (corpus_encoder.CorpusSettings, [corpus_options.CorpusOptions]),
    (dependency_parser.ParserSettings, ["parsing"]),
    (coreference_resolver.CoreferenceSettings, ["coreference"]),
    (text_generator.GeneratorSettings, ["generation"]),
    (reranker.RerankerSettings, ["reranking"]),
  ],
)
def test_settings_are_the_fields_of_their_dataclasses(settings, config_classes):
  of_kinds = {kind.name: kind.options for kind in kinds.all_kinds()}
  own = fields(*(of_kinds.get(each, each) for each in config_classes))
  declared = typing.get_type_hints(settings)
  if settings is not typed.FileNames:
    own = {n: x for n, x in own.items() if n not in fields(FILES)}
  assert own.keys() <= declared.keys()
  for name, hint in own.items():
    assert is_same(declared[name], hint), name
