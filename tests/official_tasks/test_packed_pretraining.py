"""Packed records: the flag that writes them is the only one they need."""

import pytest

from keras_bert_impl.training import run_log
from tests.official_tasks import scripts
from tests.official_tasks.test_objectives import (
  OBJECTIVES,
  flags,
  write_data,
)
from tfrecords import manifest

NAMES = ("electra", "roberta")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
  """Folder of each objective's run on packed records."""
  folders = {name: tmp_path_factory.mktemp(name) for name in NAMES}
  plain = {
    name: write_data(folders[name], name, **OBJECTIVES[name][0])
    | {"packing": "doc_sentences"}
    for name in NAMES
  }
  outcomes = scripts.run_each(
    "create_pretraining_data",
    [
      values | changes
      for name, values in plain.items()
      for changes in (
        {"pack_sequences": True},
        {"output_file": folders[name] / "held_out"},
      )
    ],
  )
  assert {status for status, _ in outcomes} == {0}, outcomes
  outcomes = scripts.run_each(
    "run_pretraining",
    [
      flags(
        folders[name],
        name,
        eval_input_file=folders[name] / "held_out",
        gradient_accumulation_steps=2,
        do_export=name == "roberta",
      )
      for name in NAMES
    ],
  )
  assert {status for status, _ in outcomes} == {0}, outcomes
  return folders


@pytest.mark.parametrize("name", NAMES)
def test_packed_records_are_learned_and_others_evaluated(runs, name):
  folder = runs[name]
  content = manifest.read(str(folder / "records"))
  assert content["origin"]["pack_sequences"]
  assert content["num_records"] < content["num_instances"]
  entries = run_log.read(str(folder / "out"))
  results = scripts.results(folder / "out")
  for loss in OBJECTIVES[name][1]:
    assert entries[-1][f"{loss}_loss"] < entries[0][f"{loss}_loss"] - 0.1
    assert results["eval"][f"{loss}_loss"] < entries[0][f"{loss}_loss"]
  assert results["data"]["num_instances"] == content["num_instances"]


def test_the_encoder_is_exported(runs):
  saved_models = runs["roberta"] / "out" / "saved_model"
  assert (saved_models / "encoder" / "1" / "saved_model.pb").exists()


def test_pairs_are_not_packed(runs, tmp_path):
  [(status, err)] = scripts.run_each(
    "create_pretraining_data",
    [write_data(tmp_path, "albert") | {"pack_sequences": True}],
  )
  assert status == 1
  assert "pack_sequences needs texts" in scripts.error_line(err)
