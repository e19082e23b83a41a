"""Training checkpoints: everything for an exact resume, in one file set.

A checkpoint holds the model's variables by path, the optimizer's slots as
"<path>/adam_m", "<path>/adam_v" and `global_step`: the layout of the original's
checkpoints, so `--init_checkpoint` reads both with the same code. Data order
and dropout are functions of the step and need no state.
"""

import contextlib
import copy
import json
import os
import re

import tensorflow as tf
from absl import logging

from keras_bert_impl import file_errors, files
from keras_bert_impl.checkpoints import assignment
from keras_bert_impl.checkpoints.formats import tf_format

GLOBAL_STEP = "global_step"
BASE_NAME = "model.ckpt"

# The files of checkpoints, and of them those of a save that was killed.
_FILES = re.compile(rf"{re.escape(BASE_NAME)}-(?P<step>\d+)\.(?P<part>.+)")
_LEFTOVERS = re.compile(rf"{_FILES.pattern}\.tempstate\d+")


class Saver:
  """Writes, rotates and restores the checkpoints of one output directory.

  A checkpoint counts only once the state file `checkpoint` names it, and that
  file is replaced atomically: a process killed at any moment leaves the one
  before in force. Without a state file that can be read, all that are there
  count.

  Args:
    output_dir: str, may be a `gs://` path.
    model: `keras.Model`.
    optimizer: built optimizer with `slot_variables()`.
    keep_checkpoint_max: int, number of checkpoints kept.
    is_chief: bool; False, for all workers but one, only reads.
  """

  def __init__(
    self, output_dir, model, optimizer, keep_checkpoint_max=5, is_chief=True
  ):
    self.output_dir = output_dir
    self._is_chief = is_chief
    self.keep_checkpoint_max = keep_checkpoint_max
    self._variables = {
      **{variable.path: variable for variable in model.weights},
      **optimizer.slot_variables(),
      GLOBAL_STEP: optimizer.iterations,
    }

  def in_folder(self, folder):
    """Returns a saver of the same variables for one checkpoint in a folder."""
    other = copy.copy(self)
    other.output_dir = folder
    other.keep_checkpoint_max = 1
    return other

  def latest(self):
    """Returns the prefix of the newest checkpoint, or None."""
    return latest(self.output_dir)

  def save(self, step):
    """Writes the checkpoint of `step` and deletes the oldest; returns it.

    What a killed save left half-written is deleted too.
    """
    prefix = os.path.join(self.output_dir, f"{BASE_NAME}-{step}")
    if not self._is_chief:
      return prefix
    _remove_files(self.output_dir, _LEFTOVERS)
    try:
      tf_format.write(
        prefix, {name: v.value for name, v in self._variables.items()}
      )
    except tf.errors.OpError as error:
      _remove(prefix)
      raise OSError(
        f"checkpoint {prefix} could not be written"
        f" ({file_errors.reason(error)}). Last good one:"
        f" {self.latest() or 'none yet'}. Remedy: {file_errors.remedy(error)};"
        " then run the same command again."
      ) from error
    others = [p for p in _checkpoints(self.output_dir) if p != prefix]
    kept = [*others, prefix][-self.keep_checkpoint_max :]
    self._write_state(kept)
    for stale in set(others) - set(kept):
      _remove(stale)
    return prefix

  def restore_latest(self):
    """Restores the newest checkpoint that can be read.

    Returns:
      Its prefix; None if there is none in the folder.

    Raises:
      ValueError: there are some, but none can be read; or as `restore`.
    """
    prefixes = _checkpoints(self.output_dir)
    for prefix in reversed(prefixes):
      try:
        self.restore(prefix)
        self._tell_of_missing_state(prefix)
        return prefix
      except tf_format.UnreadableError as error:
        logging.warning("%s Trying the checkpoint before it.", error)
    if prefixes:
      raise ValueError(
        f"output_dir ({self.output_dir}) holds no checkpoint that can be read:"
        " bring one back, or choose another --output_dir."
      )
    return None

  def restore(self, prefix):
    """Restores every variable from a checkpoint.

    Raises:
      UnreadableError: it is damaged; some variables may have been assigned.
      ValueError: it lacks a variable or has another shape.
    """
    assignment.assign(
      self._variables,
      tf_format.read(prefix),
      prefix,
      remedy="Choose another --output_dir.",
    )

  def _tell_of_missing_state(self, prefix):
    """Logs which checkpoint was restored without a state file that names it."""
    if _named(self.output_dir) is None:
      logging.warning(
        "%s, which names the newest checkpoint, is missing or damaged: going"
        " on from %s, the last step there. To start anew, choose another"
        " --output_dir or delete all of %s-*.",
        _state_path(self.output_dir),
        prefix,
        os.path.join(self.output_dir, BASE_NAME),
      )

  def _write_state(self, prefixes):
    """Writes the state file, which names the newest checkpoint last.

    Names without the folder, so that the folder may be moved.
    """
    names = [prefix.rpartition("/")[2] for prefix in prefixes]
    lines = [f"model_checkpoint_path: {json.dumps(names[-1])}"]
    lines += [f"all_model_checkpoint_paths: {json.dumps(n)}" for n in names]
    path = _state_path(self.output_dir)
    files.write_atomically(path, "\n".join(lines) + "\n")


def latest(folder):
  """Returns the prefix of the newest checkpoint in a folder, or None."""
  there = [p for p in _checkpoints(folder) if files.exists(f"{p}.index")]
  return there[-1] if there else None


def is_of_run(prefix):
  """Returns whether a checkpoint has the name that a `Saver` gives it."""
  return bool(_FILES.fullmatch(f"{prefix.rpartition('/')[2]}.index"))


def remove_all(folder):
  """Deletes the checkpoints of a folder, the state file last."""
  _remove_files(folder, _FILES)
  state = _state_path(folder)
  if files.exists(state):
    tf.io.gfile.remove(state)


def _checkpoints(folder):
  """Returns the prefixes of the valid checkpoints, the newest last."""
  named = _named(folder)
  return _found(folder) if named is None else named


def _named(folder):
  """Returns the prefixes in the state file, None without a readable one."""
  state = None
  with contextlib.suppress(ValueError):  # Empty.
    state = tf.train.get_checkpoint_state(folder)
  if state is None:
    return None
  return list(state.all_model_checkpoint_paths) or [state.model_checkpoint_path]


def _found(folder):
  """Returns the prefixes of all checkpoints with an index, by step."""
  steps = [
    int(match["step"])
    for match in _matches(folder, _FILES)
    if match["part"] == "index"
  ]
  return [os.path.join(folder, f"{BASE_NAME}-{step}") for step in sorted(steps)]


def _matches(folder, pattern):
  """Returns the matches of a pattern in the file names of a folder."""
  names = files.Folder(folder).names
  return list(filter(None, map(pattern.fullmatch, names)))


def _remove_files(folder, pattern):
  for match in _matches(folder, pattern):
    tf.io.gfile.remove(os.path.join(folder, match.string))


def _remove(prefix):
  folder, _, name = prefix.rpartition("/")
  _remove_files(folder, re.compile(rf"{re.escape(name)}\..+"))


def _state_path(folder):
  return os.path.join(folder, "checkpoint")
