"""A small BERT with a vocabulary, that estimators start from."""

import json
import pathlib
import shutil
import string

import pytest

PARITY = pathlib.Path(__file__).parents[1] / "data/parity"


@pytest.fixture(name="checkpoint", scope="session")
def fixture_checkpoint(tmp_path_factory):
  """Folder of a BERT of two layers that knows letters and a few words."""
  return with_vocabulary("bert_pretraining", tmp_path_factory)


@pytest.fixture(scope="session")
def three_classes(tmp_path_factory):
  """The same of a classifier whose config.json says LABEL_0 to LABEL_2."""
  return with_vocabulary("bert_classifier", tmp_path_factory)


def with_vocabulary(name, tmp_path_factory):
  folder = tmp_path_factory.mktemp("checkpoint") / "bert"
  shutil.copytree(PARITY / name, folder)
  config = json.loads((folder / "config.json").read_text())
  letters = string.ascii_lowercase
  tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat"]
  tokens += [*letters, *(f"##{letter}" for letter in letters)]
  tokens += [f"[unused{n}]" for n in range(config["vocab_size"] - len(tokens))]
  (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
  return str(folder)
