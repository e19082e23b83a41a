"""The second of two processes with one output is refused."""

import pytest

from keras_bert_impl import files, locks
from tests.official_tasks import scripts

pytestmark = pytest.mark.integration


def of_shard(path):
  return locks.of_file(f"{path}-00000-of-00002")


# Script, flag of its output, how that is held, its other flags.
CASES = {
  "run_pretraining": (
    "output_dir",
    locks.of_folder,
    {"input_file": "none", "bert_config_file": "none", "do_eval": True},
  ),
  "run_classifier": (
    "output_dir",
    locks.of_folder,
    {"train_file": "none", "init_checkpoint": "none", "do_train": True},
  ),
  "run_ablation": ("model_dir", locks.of_folder, {"table": "5"}),
  "convert_checkpoint": ("output", files.new_folder, {"input": "none"}),
  "create_pretraining_data": (
    "output_file",
    of_shard,
    {"input_file": "text.txt", "vocab_file": "vocab.txt", "num_shards": 2},
  ),
}


@pytest.mark.parametrize("script", CASES)
def test_an_output_in_use_is_refused_in_one_line(script, tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  flag, hold, others = CASES[script]
  scripts.write_model_files(tmp_path)
  scripts.write_text(tmp_path / "text.txt")
  output = tmp_path / "out"
  with hold(output):
    before = {*tmp_path.rglob("*")}
    status, _, err = scripts.run(script, **{flag: output}, **others)
    assert status == 1
    assert f"{output}" in scripts.error_line(err)
    assert "process" in scripts.error_line(err)
    assert {*tmp_path.rglob("*")} == before
