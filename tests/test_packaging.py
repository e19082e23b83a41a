"""What is installed, and where."""

import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

from keras_bert_impl import __main__ as command_line

ROOT = pathlib.Path(__file__).parents[1]


def run(*arguments, **options):
  return subprocess.run(
    [sys.executable, "-m", "keras_bert_impl", *arguments],
    capture_output=True,
    text=True,
    **{"cwd": ROOT, **options},
  )


def test_every_script_has_its_name():
  found = [
    path.stem
    for path in (ROOT / "official_tasks").glob("*.py")
    if "program.run(main" in path.read_text(encoding="utf-8")
  ]
  assert sorted(found) == list(command_line.SCRIPTS)


def test_a_script_is_run_by_its_name():
  result = run("train_vocabulary", "--help")
  assert result.returncode == 0, result.stderr
  assert result.stdout.startswith("Learns a vocabulary")
  assert "\n    keras-bert-impl train_vocabulary \\\n" in result.stdout
  assert "official_tasks/" not in result.stdout
  result = run("train_vocabulary", "--vocab_size=many")
  assert result.returncode == 2
  assert "--vocab_size=many" in result.stderr


def test_the_version_is_told():
  result = run("--version")
  assert result.returncode == 0, result.stderr
  version = importlib.metadata.version("keras-bert-impl")
  assert result.stdout == f"keras-bert-impl {version}\n"


def test_an_unknown_name_lists_the_scripts():
  result = run("pretrain")
  assert result.returncode == 2
  assert "'pretrain'" in result.stderr and "run_pretraining" in result.stderr


# As in the README, docs/ and the scripts.
_DOCUMENTED = """
import os
import keras_bert_impl, official_tasks, tfrecords
from keras_bert_impl.runs.fine_tuning import job
from official_tasks import run_classifier
from tfrecords.labelled import classification_data
packages = (keras_bert_impl, official_tasks, tfrecords)
print(*{os.path.dirname(package.__path__[0]) for package in packages})
"""


@pytest.mark.slow
def test_a_wheel_holds_three_packages_that_are_imported_as_documented(tmp_path):
  checkout = tmp_path / "checkout"
  shutil.copytree(
    ROOT, checkout, ignore=shutil.ignore_patterns(".git", "tests")
  )
  subprocess.run(
    [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", checkout],
    check=True,
    cwd=tmp_path,
  )
  [wheel] = tmp_path.glob("*.whl")
  site = tmp_path / "site"
  with zipfile.ZipFile(wheel) as archive:
    archive.extractall(site)
  top = {path.name for path in site.iterdir() if path.suffix != ".dist-info"}
  assert top == {"keras_bert_impl", "official_tasks", "tfrecords"}

  environment = {**os.environ, "PYTHONPATH": str(site)}
  found = subprocess.run(
    [sys.executable, "-c", _DOCUMENTED],
    stdout=subprocess.PIPE,
    text=True,
    cwd=tmp_path,
    env=environment,
    check=True,
  ).stdout
  assert found == f"{site}\n"
  (tmp_path / "text.txt").write_text("a cat sees a dog .\n" * 50)
  result = run(
    "train_vocabulary",
    "--input_file=text.txt",
    "--vocab_file=vocab.txt",
    "--vocab_size=40",
    cwd=tmp_path,
    env=environment,
  )
  assert result.returncode == 0, result.stderr
  (tmp_path / "text.txt").write_text("a cat sees a dog .\n\n" * 50)
  result = run(
    "create_pretraining_data",
    "--input_file=text.txt",
    "--output_file=a.tfrecord",
    "--vocab_file=vocab.txt",
    "--num_shards=2",
    "--num_workers=2",
    cwd=tmp_path,
    env=environment,
  )
  assert result.returncode == 0, result.stderr
