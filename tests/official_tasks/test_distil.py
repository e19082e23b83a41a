"""A student is pre-trained with a teacher, from the command line."""

import numpy as np
import pytest

from keras_bert_impl.checkpoints import reading
from keras_bert_impl.training import run_log
from tests.official_tasks import scripts
from tests.official_tasks import test_objectives as pretrained

pytestmark = pytest.mark.integration


@pytest.fixture(name="folder", scope="module")
def fixture_folder(tmp_path_factory):
  """Records, and a teacher of two layers that has learned a little."""
  folder = tmp_path_factory.mktemp("distil")
  data = pretrained.write_data(folder, "roberta", num_hidden_layers=2)
  pretrained.check_all("create_pretraining_data", [data])
  teacher = flags(folder, "teacher", objective="roberta")
  pretrained.check_all("run_pretraining", [teacher])
  return folder


def flags(folder, output, **changes):
  values = pretrained.flags(folder, "distil", output_dir=folder / output)
  del values["eval_text_file"]
  return values | {"do_export": False} | changes


def test_a_student_of_some_layers_learns_from_its_teacher(folder):
  status, err = scripts.run_each(
    "convert_checkpoint",
    [
      {
        "input": folder / "teacher",
        "output": folder / "start",
        "format": "google",
        "layers": "1",
      }
    ],
  )[0]
  assert status == 0, err
  of_student = {
    "bert_config_file": folder / "start/bert_config.json",
    "vocab_file": folder / "vocab.txt",
    "init_checkpoint": folder / "start",
    "teacher_checkpoint": folder / "teacher",
    "masked_lm_weight": 0.0,
    "hidden_weight": 1.0,
    "relation_weight": 1.0,
  }
  student = flags(folder, "student", **of_student)
  half = flags(folder, "again", **of_student | {"save_checkpoints_steps": 20})
  pretrained.check_all("run_pretraining", [student, half | {"do_eval": False}])
  first, *_, last = run_log.read(str(folder / "student"))
  for loss in ("soft_target", "cosine", "hidden"):
    assert last[f"{loss}_loss"] < first[f"{loss}_loss"], loss
  assert last["relation_loss"] > 0
  results = scripts.results(folder / "student")
  assert 0 < results["eval"]["masked_lm_accuracy"] <= 1
  ours, again = (
    reading.open_checkpoint(str(folder / name)).tensors
    for name in ("student", "again")
  )
  assert not [name for name in ours if "layer_1" in name or "teacher" in name]
  for name in ours:  # The same seed, the same bits.
    np.testing.assert_array_equal(ours[name], again[name], err_msg=name)


def test_a_teacher_is_needed_and_has_the_same_vocabulary(folder, tmp_path):
  words = [*reversed((folder / "vocab.txt").read_text().split())]
  other = tmp_path / "vocab.txt"
  other.write_text("\n".join([*words[-5:][::-1], *words[:-5]]) + "\n")
  weights = ("masked_lm", "soft_target", "cosine")
  cases = [
    (
      {f"{name}_weight": 0 for name in weights},
      "relation_weight are all 0, so that nothing is learned",
    ),
    (
      {"objective": "bert", "teacher_checkpoint": folder / "teacher"},
      "is an option of --objective=distil, not of --objective=bert: leave",
    ),
    ({"lora_alpha": 16}, "lora_alpha (16.0) needs --lora_rank, but there is"),
    (
      {"objective": "bert", "lora_rank": 2},
      "lora_rank (2) needs --init_checkpoint: adapters",
    ),
    ({}, "--objective=distil needs --teacher_checkpoint, a masked language"),
    (
      {"teacher_checkpoint": folder / "teacher", "vocab_file": other},
      "has another vocabulary than",
    ),
  ]
  scripts.check_mistakes(
    "run_pretraining", cases, lambda **values: flags(folder, "no", **values)
  )
