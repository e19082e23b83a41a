"""Locks between processes, and what a killed one leaves."""

import contextlib
import os
import pathlib
import subprocess
import sys

import pytest

from keras_bert_impl import files, locks

LOCKS = {"of_folder": locks.of_folder, "of_file": locks.of_file}


@contextlib.contextmanager
def another_process(path, context):
  """Another process inside `with <context>(path)`; killed at the end."""
  code = (
    "import sys; from keras_bert_impl import files, locks\n"
    f"with {context}(sys.argv[1]): print('in', flush=True); input()"
  )
  process = subprocess.Popen(
    [sys.executable, "-c", code, str(path)],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
  )
  assert process.stdout.readline() == "in\n"
  try:
    yield process
  finally:
    process.kill()
    process.communicate()


@pytest.mark.parametrize("name", LOCKS)
def test_an_output_in_use_is_refused_until_its_process_ends(tmp_path, name):
  output = tmp_path / "out"
  with another_process(output, f"locks.{name}") as process:
    for _ in range(2):  # A refused lock takes nothing away.
      with pytest.raises(ValueError) as refused, LOCKS[name](output):
        pass
      assert str(refused.value).startswith(
        f"{output} is in use by process {process.pid} on "
      )
    with LOCKS[name](tmp_path / "other"):
      pass
  assert [*tmp_path.rglob("*.lock*")]  # It was killed.
  with LOCKS[name](output):
    with pytest.raises(ValueError, match="in use"), LOCKS[name](output):
      pass
  assert not [*tmp_path.rglob("*.lock*")]


def test_a_folder_that_got_nothing_is_not_left(tmp_path):
  with locks.of_folder(tmp_path / "new"):
    pass
  assert not (tmp_path / "new").exists()
  with locks.of_folder(tmp_path):
    pass
  assert tmp_path.exists()


@pytest.mark.parametrize("lock", LOCKS.values())
def test_without_locks_all_go_on(tmp_path, lock, monkeypatch):
  with lock("gs://bucket/out"):
    pass

  def flock(unused_descriptor, unused_operation):
    raise OSError(95, "Operation not supported")

  monkeypatch.setattr("fcntl.flock", flock)
  with lock(tmp_path / "out"), lock(tmp_path / "out"):
    files.write_atomically(tmp_path / "file", "text")
    (tmp_path / "folder.tmp-1").mkdir()  # Whose it is nobody knows.
    with files.new_folder(tmp_path / "folder"):
      pass
  assert {path.name for path in tmp_path.iterdir()} == {
    "file",
    "folder",
    "folder.tmp-1",
  }


@pytest.mark.parametrize("context", ["new_folder", "new_file"])
def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path, context):
  output = tmp_path / "out"
  new = getattr(files, context)
  with another_process(output, f"files.{context}") as process:
    leftover = pathlib.Path(f"{output}.tmp-{process.pid}")
    if context == "new_folder":
      (leftover / "large").touch()
      with pytest.raises(ValueError, match="out is in use by process"):
        with new(output):
          pass
    else:
      with new(output):  # The last one wins.
        pass
    assert leftover.exists()
  assert leftover.exists()
  (tmp_path / "out.tmp-notes").touch()  # Not ours.
  with new(output) as path:
    assert not leftover.exists() and os.path.exists(path)
  assert {path.name for path in tmp_path.iterdir()} == {"out", "out.tmp-notes"}


def test_what_is_taken_for_a_leftover_is_made_again(tmp_path):
  made = []

  def make(path):  # Another process removes it twice before it is locked.
    made.append(path)
    if len(made) > 2:
      os.mkdir(path)

  with locks.making(str(tmp_path / "new"), make):
    assert len(made) == 3


def test_of_two_new_folders_the_first_is_kept(tmp_path):
  with pytest.raises(ValueError, match="out exists already: choose another"):
    with files.new_folder(tmp_path / "out"):
      files.write_json(tmp_path / "out" / "file", {})
  assert [path.name for path in tmp_path.iterdir()] == ["out"]
