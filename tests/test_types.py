"""Types: documents have no errors, and wrong calls are found."""

import dataclasses
import json
import pathlib
import shutil
import subprocess
import sys
import types
import typing

import pytest

from keras_bert_impl import kinds
from keras_bert_impl.estimators import typed
from keras_bert_impl.kinds.answers import question_answerer
from keras_bert_impl.kinds.embeddings.encoders import encoder_training
from keras_bert_impl.kinds.reranking import reranker
from keras_bert_impl.kinds.tags import token_tagger
from keras_bert_impl.kinds.texts import text_classifier
from keras_bert_impl.model_folders import model_files
from keras_bert_impl.runs.fine_tuning import fine_tuning_config
from keras_bert_impl.training import training_config
from tests import test_documents

CHECKER = shutil.which("basedpyright", path=pathlib.Path(sys.executable).parent)
WRONG = pathlib.Path(__file__).with_name("wrongly_typed.py")
PAGES = ("README.md", "docs/python.md", "docs/embeddings.md")
# What `fit` has by other names, or finds out itself.
OTHERS = {
  *fine_tuning_config.DERIVED,
  *("do_train", "do_eval", "do_predict", "init_checkpoint", "output_dir"),
  *("num_train_epochs", "train_batch_size", "teacher_checkpoint"),
}


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
  """{file name: lines with errors} of the documents and the wrong calls."""
  folder = tmp_path_factory.mktemp("typed")
  for page in PAGES:
    blocks = test_documents.blocks(test_documents.ROOT / page, "python")
    name = f"{pathlib.Path(page).stem.lower()}_page.py"
    (folder / name).write_text("\n".join(blocks), encoding="utf-8")
  shutil.copy(WRONG, folder)
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
  found = {path.name: set() for path in folder.glob("*.py")}
  for each in json.loads(process.stdout)["generalDiagnostics"]:
    if each["severity"] == "error":
      name = pathlib.Path(each["file"]).name
      found[name].add(each["range"]["start"]["line"] + 1)
  return found


@pytest.mark.integration
@pytest.mark.skipif(CHECKER is None, reason="basedpyright is not installed")
def test_the_code_of_documents_has_no_errors(errors):
  pages = {name: lines for name, lines in errors.items() if name != WRONG.name}
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
