"""The packages and scripts that are installed."""

import ast
import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

from keras_bert_impl import __main__ as command_line
from tests import test_documents

pytestmark = pytest.mark.integration

ROOT = pathlib.Path(__file__).parents[1]
PACKAGES = ("keras_bert_impl", "official_tasks", "tfrecords")


def run(*arguments, **options):
  """Runs Python with these arguments; returns what it printed."""
  result = subprocess.run(
    [sys.executable, *arguments], capture_output=True, text=True, **options
  )
  assert result.returncode == 0, result.stderr
  return result.stdout


# Modules that come with a requirement, and those of extras, by their folders.
COME_ALONG = {"google", "h5py"}  # with tensorflow
OF_EXTRAS = {
  "keras_bert_impl/serving/local": {"h11", "starlette", "uvicorn"},
  "keras_bert_impl/serving/small": {"onnx", "onnxruntime", "tf2onnx"},
}


def imported(path):
  """Returns the names of other packages that a file imports as it is read."""
  names = set()
  for node in ast.parse(path.read_text(encoding="utf-8")).body:
    if isinstance(node, ast.Import):
      names |= {alias.name for alias in node.names}
    elif isinstance(node, ast.ImportFrom):
      names.add(node.module)
  names = {name.partition(".")[0] for name in names}
  return names - {*PACKAGES} - sys.stdlib_module_names


def test_what_is_imported_is_installed_without_extras():
  required = {
    re.match(r"[\w-]+", line)[0].lower()
    for line in importlib.metadata.requires("keras-bert-impl")
    if "extra ==" not in line
  }
  modules = {
    name
    for name, owners in importlib.metadata.packages_distributions().items()
    if required & {owner.lower().replace("_", "-") for owner in owners}
  }
  assert {"numpy", "tensorflow"} <= modules
  for package in PACKAGES:
    for path in (ROOT / package).rglob("*.py"):
      folder = path.parent.relative_to(ROOT).as_posix()
      known = modules | COME_ALONG | OF_EXTRAS.get(folder, set())
      assert not imported(path) - known, path


def test_every_script_has_its_name():
  found = [
    path.stem
    for path in (ROOT / "official_tasks").glob("*.py")
    if "program.run(main" in path.read_text(encoding="utf-8")
  ]
  assert sorted(found) == list(command_line.SCRIPTS)


def test_the_version_is_told(monkeypatch, capsys):
  monkeypatch.setattr(sys, "argv", ["keras-bert-impl", "--version"])
  command_line.main()
  version = importlib.metadata.version("keras-bert-impl")
  assert capsys.readouterr().out == f"keras-bert-impl {version}\n"


def test_an_unknown_name_lists_the_scripts(monkeypatch, capsys):
  monkeypatch.setattr(sys, "argv", ["keras-bert-impl", "pretrain"])
  with pytest.raises(SystemExit) as stopped:
    command_line.main()
  assert stopped.value.code == 2
  told = capsys.readouterr().err
  assert "'pretrain'" in told and "run_pretraining" in told


@pytest.fixture(name="site", scope="module")
def fixture_site(tmp_path_factory):
  """Folder of packages into which a wheel of the checkout was unpacked."""
  folder = tmp_path_factory.mktemp("wheel")
  ignored = shutil.ignore_patterns(".git", "tests", "docs", "__pycache__")
  shutil.copytree(ROOT, folder / "checkout", ignore=ignored)
  options = ("-q", "--no-deps", "--no-build-isolation")
  run("-m", "pip", "wheel", *options, "./checkout", cwd=folder)
  [wheel] = folder.glob("*.whl")
  with zipfile.ZipFile(wheel) as archive:
    archive.extractall(folder / "site")
  return folder / "site"


def test_a_wheel_holds_three_packages(site):
  top = {path.name for path in site.iterdir() if path.suffix != ".dist-info"}
  assert top == set(PACKAGES)
  assert (site / "keras_bert_impl/py.typed").exists()
  for folder in ("serving/local", "visualization"):
    page = pathlib.Path("keras_bert_impl", folder, "page")
    names = {path.name for path in (ROOT / page).iterdir()}
    assert {path.name for path in (site / page).iterdir()} == names != set()


def test_an_editable_install_is_a_path_that_editors_read(site):
  checkout = site.parent / "checkout"
  program = "from setuptools import build_meta as b; b.build_editable('made')"
  run("-c", program, cwd=checkout)
  [wheel] = (checkout / "made").glob("*.whl")
  with zipfile.ZipFile(wheel) as archive:
    names = {n for n in archive.namelist() if ".dist-info/" not in n}
    [path] = names  # And no hook that only imports go through.
    assert archive.read(path).decode().strip() == str(checkout)


def documented_imports():
  """Returns the statements of all pages that import one of the packages."""
  nodes = [
    node
    for page in test_documents.PAGES
    for code in test_documents.blocks(page, "python")
    for node in ast.walk(ast.parse(code))
    if isinstance(node, ast.Import | ast.ImportFrom)
  ]
  return {
    ast.unparse(node)
    for node in nodes
    if ast.unparse(node).split()[1].partition(".")[0] in PACKAGES
  }


def test_every_documented_import_works_outside_of_the_checkout(site, tmp_path):
  statements = documented_imports()
  assert len(statements) > 8
  program = "\n".join(
    [
      *statements,
      f"import os, {', '.join(PACKAGES)}",
      "from official_tasks import run_classifier",
      f"paths = [package.__path__[0] for package in ({', '.join(PACKAGES)})]",
      "print(*{os.path.dirname(path) for path in paths})",
    ]
  )
  environment = {**os.environ, "PYTHONPATH": str(site)}
  assert run("-c", program, cwd=tmp_path, env=environment) == f"{site}\n"


@pytest.mark.slow  # Their processes of workers too.
def test_scripts_run_outside_of_the_checkout(site, tmp_path):
  (tmp_path / "text.txt").write_text("a cat sees a dog .\n\n" * 50)
  for arguments in (
    "train_vocabulary --input_file=text.txt --vocab_file=vocab.txt"
    " --vocab_size=40",
    "create_pretraining_data --input_file=text.txt --output_file=a.tfrecord"
    " --vocab_file=vocab.txt --num_shards=2 --num_workers=2",
  ):
    environment = {**os.environ, "PYTHONPATH": str(site)}
    arguments = ["-m", "keras_bert_impl", *arguments.split()]
    run(*arguments, cwd=tmp_path, env=environment)
