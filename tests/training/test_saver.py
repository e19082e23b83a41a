"""Checkpoints: what is kept, what is restored, what is refused."""

import os
import random
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.optimizers import adamw
from keras_bert_impl.training import savers


def make(folder, units=3, keep=2):
  keras.utils.set_random_seed(units)
  model = keras.Sequential(
    [keras.layers.Input((2,)), keras.layers.Dense(units, name="dense")],
    name="model",
  )
  optimizer = adamw.AdamW(0.1)
  optimizer.build(model.trainable_variables)
  return model, optimizer, savers.Saver(str(folder), model, optimizer, keep)


def step(model, optimizer):
  gradients = [tf.ones_like(v.value) for v in model.trainable_variables]
  optimizer.apply(gradients, model.trainable_variables)


def state(model, optimizer):
  variables = [*model.weights, *optimizer.slot_variables().values()]
  return [v.numpy() for v in variables]


def check_equal(found, expected):
  for a, b in zip(found, expected, strict=True):
    np.testing.assert_array_equal(a, b)


def save_two(folder, first, second):
  """Saves two steps; returns what the first one saved."""
  model, optimizer, saver = make(folder)
  step(model, optimizer)
  saver.save(first)
  saved = state(model, optimizer)
  step(model, optimizer)
  saver.save(second)
  return saved


def test_only_the_newest_are_kept_and_the_folder_may_move(tmp_path):
  folder = tmp_path / "before"
  _, _, saver = make(folder)
  for number in (1, 2, 3):
    saver.save(number)
  assert sorted(p.name for p in folder.glob("*.index")) == [
    "model.ckpt-2.index",
    "model.ckpt-3.index",
  ]
  moved = shutil.move(folder, tmp_path / "after")
  assert make(moved)[2].latest() == str(tmp_path / "after" / "model.ckpt-3")


def test_a_checkpoint_that_the_state_does_not_name_does_not_count(tmp_path):
  _, _, saver = make(tmp_path)
  saver.save(1)
  # Killed between the files of a checkpoint and the state that names it.
  for path in tmp_path.glob("model.ckpt-1.*"):
    shutil.copy(path, tmp_path / path.name.replace("-1.", "-2.", 1))
  assert saver.latest().endswith("model.ckpt-1")


def test_another_models_checkpoint_is_refused_and_changes_nothing(tmp_path):
  make(tmp_path, units=3)[2].save(1)
  model, optimizer, saver = make(tmp_path, units=4)
  before = state(model, optimizer)
  with pytest.raises(ValueError, match=r"dense/kernel has shape \(2, 3\)"):
    saver.restore(saver.latest())
  check_equal(state(model, optimizer), before)


INDEX, DATA = ".index", ".data-00000-of-00001"
# To what may happen to a file.
DAMAGES = {
  "gone": lambda content: None,
  "empty": lambda content: b"",
  "truncated": lambda content: content[: len(content) // 2],
  "zeros": lambda content: bytes(len(content)),
  "garbage": lambda content: random.Random(1).randbytes(len(content)),
  "hole": lambda content: content[: len(content) // 3] + content[-60:],
  "small hole": lambda content: content[:10] + content[20:],
  "flipped bit": lambda content: (
    content[: len(content) // 2]
    + bytes([content[len(content) // 2] ^ 1])
    + content[len(content) // 2 + 1 :]
  ),
}


@pytest.mark.parametrize(
  ("suffix", "damage"),
  [
    *((DATA, damage) for damage in DAMAGES),
    *((INDEX, damage) for damage in DAMAGES if damage != "flipped bit"),
  ],
)
def test_the_one_before_takes_the_place_of_one_that_cannot_be_read(
  tmp_path, caplog, suffix, damage
):
  saved = save_two(tmp_path, 1, 2)
  path = tmp_path / f"model.ckpt-2{suffix}"
  content = DAMAGES[damage](path.read_bytes())
  path.unlink()
  if content is not None:
    path.write_bytes(content)
  model, optimizer, saver = make(tmp_path)
  with caplog.at_level("WARNING"):
    assert saver.restore_latest().endswith("model.ckpt-1")
  assert "model.ckpt-2" in caplog.text
  assert "Trying the checkpoint before it." in caplog.text
  # Weights, moments and step.
  check_equal(state(model, optimizer), saved)
  assert optimizer.iterations == 1
  # And the next one can be written over what was damaged.
  saver.save(2)
  assert saver.restore_latest().endswith("model.ckpt-2")


def test_a_folder_without_one_that_can_be_read_is_no_new_one(tmp_path, caplog):
  _, _, saver = make(tmp_path / "new")
  assert saver.restore_latest() is None
  assert not caplog.text
  _, _, saver = make(tmp_path)
  saver.save(1)
  (tmp_path / "model.ckpt-1.index").unlink()
  with pytest.raises(ValueError, match="holds no checkpoint that can be read"):
    saver.restore_latest()


def test_the_clock_may_go_backwards(tmp_path):
  _, _, saver = make(tmp_path)
  for number in (1, 2):
    saver.save(number)
  for path in tmp_path.glob("model.ckpt-2.*"):
    os.utime(path, (0, 0))  # 1970
  assert saver.restore_latest().endswith("model.ckpt-2")
  saver.save(3)
  assert {path.name for path in tmp_path.glob("*.index")} == {
    "model.ckpt-2.index",
    "model.ckpt-3.index",
  }


@pytest.mark.parametrize("content", [None, "", "???"])
def test_without_a_state_file_the_last_step_that_can_be_read_is_taken_up(
  tmp_path, caplog, content
):
  saved = save_two(tmp_path, 9, 10)
  for path in tmp_path.glob("model.ckpt-10.data-*"):
    path.write_bytes(b"")
  state_file = tmp_path / "checkpoint"
  state_file.unlink()
  if content is not None:
    state_file.write_text(content)
  model, optimizer, saver = make(tmp_path)
  with caplog.at_level("WARNING"):
    assert saver.restore_latest().endswith("model.ckpt-9")
  assert "checkpoint, which names the newest" in caplog.text
  assert "going on from" in caplog.text
  check_equal(state(model, optimizer), saved)
  # The next one mends it, and counts the others.
  saver.save(11)
  assert saver.latest().endswith("model.ckpt-11")
  assert sorted(p.name for p in tmp_path.glob("*.index")) == [
    "model.ckpt-10.index",
    "model.ckpt-11.index",
  ]
  caplog.clear()
  saver.restore_latest()
  assert not caplog.text


def test_what_a_killed_save_left_is_removed_by_the_next(tmp_path):
  _, _, saver = make(tmp_path)
  saver.save(1)
  for name in (
    "model.ckpt-1.index.tempstate5816207110441163862",
    "model.ckpt-2.data-00000-of-00001.tempstate11205834403453290",
  ):
    (tmp_path / name).write_bytes(b"half")
  (tmp_path / "notes.tempstate1").write_text("mine")
  saver.save(2)
  assert sorted(path.name for path in tmp_path.iterdir()) == [
    "checkpoint",
    "model.ckpt-1.data-00000-of-00001",
    "model.ckpt-1.index",
    "model.ckpt-2.data-00000-of-00001",
    "model.ckpt-2.index",
    "notes.tempstate1",
  ]


def test_none_is_left_to_be_taken_up_after_all_were_removed(tmp_path):
  _, _, saver = make(tmp_path)
  saver.save(1)
  for path in tmp_path.glob("model.ckpt-1.*"):  # The state does not name it.
    shutil.copy(path, tmp_path / path.name.replace("-1.", "-2.", 1))
  savers.remove_all(str(tmp_path))
  assert not list(tmp_path.iterdir())
  assert saver.restore_latest() is None


def test_a_folder_may_have_any_name(tmp_path):
  folder = tmp_path / "run [1] *"
  folder.mkdir()
  os.mknod(os.fsencode(folder) + b"/\xff")  # And its other files, too.
  _, _, saver = make(folder, keep=1)
  saver.save(1)
  saver.save(2)
  assert [p.name for p in folder.glob("*.index")] == ["model.ckpt-2.index"]
