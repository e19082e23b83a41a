"""Trained models, exported from the command line: all runs in one process.

What is served of each kind of model is tested in tests/model_folders.
"""

import json

import pytest
import tensorflow as tf
import tensorflow_text  # noqa: F401  Registers the ops of the tokenizer.

from tests.model_folders import runs
from tests.official_tasks import scripts

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("models")
  runs.write(folder / "run", "bilstm", configuration={"task_name": "mrpc"})
  return folder


@pytest.fixture(scope="module")
def outcomes(folder):
  """What each run said."""
  runs_of_script = {
    "good": {"weights_dtype": "float16", "model_name": "pairs"},
    "a file": {"export_dir": folder / "run/vocab.txt"},
    "flag of another head": {"pooling": "cls"},
    "too few labels": {"labels": "a"},
    "an encoder to write": {"head": "generation"},
    "no tokens to write": {"head": "generation", "max_new_tokens": 0},
  }
  found = scripts.run_each(
    "export_saved_model",
    [
      {"checkpoint_dir": folder / "run", "export_dir": folder / name} | values
      for name, values in runs_of_script.items()
    ],
  )
  return dict(zip(runs_of_script, found, strict=True))


def test_a_run_is_exported_and_what_was_exported_is_written_down(
  folder, outcomes
):
  assert outcomes["good"][0] == 0, outcomes["good"][1]
  version_dir = folder / "good/1"
  path = version_dir / "assets.extra/model.json"
  described = json.loads(path.read_text("utf-8"))
  assert described["labels"] == ["0", "1"]
  assert described["text_pairs"] is True
  assert described["model_name"] == "pairs"
  assert described["compute_dtype"] == "float32"
  assert described["weights_dtype"] == "float16"
  signature = tf.saved_model.load(str(version_dir)).signatures["classify"]
  assert set(signature.structured_outputs) == {"classes", "scores"}
  results = scripts.results(folder / "good")
  assert results["version_dir"] == str(version_dir)
  assert results["model"]["label_names"]["1"] == "equivalent"
  assert "classify" in results["signatures"]


@pytest.mark.parametrize(
  ("name", "words"),
  [
    ("a file", ["export_dir", "vocab.txt", "is a file"]),
    ("flag of another head", ["--pooling", "--head=classification"]),
    ("too few labels", ["labels (a)", "2"]),
    ("an encoder to write", ["--head=generation does not fit", "train it"]),
    ("no tokens to write", ["max_new_tokens (0) must be in [1, "]),
  ],
)
def test_bad_input_is_told_in_one_line(folder, outcomes, name, words):
  status, err = outcomes[name]
  assert status == 1
  line = scripts.error_line(err)
  assert all(word in line for word in words), line
  assert not (folder / name).exists()
