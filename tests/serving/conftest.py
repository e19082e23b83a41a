"""One export of every head for all tests of this folder."""

import pathlib
from typing import NamedTuple

import pytest

from keras_bert_impl.serving import export
from tests.serving import all_heads


class Export(NamedTuple):
  """A head, and the directory of the only version of its SavedModel."""

  head: all_heads.Head
  version_dir: pathlib.Path


@pytest.fixture(scope="session")
def exports(tmp_path_factory):
  """{name of `all_heads.NAMES`: `Export`}.

  The directories were moved after the export, and the vocabulary that the
  models were made with is gone.
  """
  folder = tmp_path_factory.mktemp("heads")
  heads = {name: all_heads.make(name, folder) for name in all_heads.NAMES}
  for name, head in heads.items():
    export.export(head.servable, folder / "made" / name)
  (folder / "made").rename(folder / "moved")
  (folder / "vocab.txt").unlink()
  return {
    name: Export(head, folder / "moved" / name / "1")
    for name, head in heads.items()
  }
