"""Logs of a training run: progress bar, TensorBoard, JSON lines."""

import json
import os

import tensorflow as tf

from keras_bert_impl import files, progress

LOG_NAME = "train_log.jsonl"


class RunLog:
  """Writes each report to the progress bar, TensorBoard and a file.

  Entries are dicts with `step` and scalars. After a resume, entries beyond the
  step resumed from are dropped, so the log reads like an uninterrupted run's.

  Args:
    output_dir: str, gets `train_log.jsonl` and `tensorboard/`.
    start_step: int, updates already made.
    total_steps: int, updates of the whole run.
    on_report: callable (step, {name: float}), told of each report; or None.
  """

  def __init__(self, output_dir, start_step, total_steps, on_report=None):
    self._on_report = on_report
    self._lines = JsonLines(os.path.join(output_dir, LOG_NAME))
    self._lines.cut(start_step)
    self._writer = tf.summary.create_file_writer(
      os.path.join(output_dir, "tensorboard")
    )
    self._bar = progress.bar(
      "Training", initial=start_step, total=total_steps, unit="step"
    )

  def write(self, step, scalars):
    """Logs {name: float} for `step` and moves the bar there."""
    self._lines.append({"step": step, **scalars})
    with self._writer.as_default(step=step):
      for name, value in scalars.items():
        tf.summary.scalar(name, value)
    self._bar.set_postfix_str(
      f"loss {scalars['loss']:.3f},"
      f" {scalars['examples_per_second']:.0f} examples/s",
      refresh=False,
    )
    self._bar.update(step - self._bar.n)
    if self._on_report:
      self._on_report(step, scalars)

  def close(self):
    """Flushes everything."""
    self._bar.close()
    self._writer.close()


class NoLog:
  """The log of a worker that is not the chief: logs nothing."""

  def write(self, step, scalars):
    """Does nothing."""

  def close(self):
    """Does nothing."""


class JsonLines:
  """A file of entries, dicts with `step`, one per line."""

  def __init__(self, path):
    self.path = path

  def append(self, entry):
    """Adds an entry at the end."""
    with tf.io.gfile.GFile(self.path, "a") as file:
      file.write(json.dumps(entry) + "\n")

  def cut(self, step):
    """Drops the entries beyond `step`."""
    lines = [json.dumps(e) + "\n" for e in self.read() if e["step"] <= step]
    files.write_atomically(self.path, "".join(lines))

  def read(self):
    """Returns the entries, oldest first; [] without a file."""
    if not files.exists(self.path):
      return []
    entries = []
    for line in files.read_text(self.path).splitlines():
      try:
        entry = files.parse_json(line, self.path)
        files.field(entry, "step", int, self.path)
      except ValueError:
        break  # the line a killed process was writing
      entries.append(entry)
    return entries


def read(output_dir):
  """Returns the log's entries as dicts, oldest first; [] without a log."""
  return JsonLines(os.path.join(output_dir, LOG_NAME)).read()
