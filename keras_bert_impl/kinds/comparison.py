"""Compares an export with its checkpoint: size, time of a row, scores."""

import os
import time

import numpy as np
import tensorflow as tf

from keras_bert_impl import choices, features
from keras_bert_impl.kinds import file_servables, scorer
from keras_bert_impl.serving.small import runtimes
from keras_bert_impl.training import run_results


class Comparison:
  """Scores a servable on labelled examples, before and after its export.

  Args:
    servable: `servables.Servable` of a trained model, in float32.
    checkpoint: str, the checkpoint that it was made of.
    path: str, file of labelled examples, as the script of its task reads it.
    file_format: str, of `choices.FORMATS`, that it will be exported to.
    columns: list of str, the columns of the file: of one text or two, and of
      their label; empty for those of its script.
    **model_files: fields of `model_files.ModelFilesConfig`.

  Attributes:
    results: {"checkpoint" and, after `add`, "export": {"weights_dtype": str,
      "bytes": int, "ms": {"p50" and "p99": float} of a row's ids, "scores":
      {metric: float}}}.

  Raises:
    FileNotFoundError: there is no such file.
    ValueError: its head has no scores, an example is wrong, or what runs the
      format is not installed.
  """

  def __init__(
    self, servable, checkpoint, path, file_format, columns=(), **model_files
  ):
    if file_format != choices.SAVED_MODEL:
      runtimes.check_packages(runtimes.PACKAGES[file_format], file_format)
    self._servable = servable
    self._file_format = file_format
    self._scorer = scorer.Scorer(
      servable.head,
      checkpoint,
      path,
      ("--compare_with", "--compare_columns"),
      columns,
      servable.max_seq_length,
      **model_files,
    )
    size = sum(weight.shape.num_elements() for weight in servable.model_weights)
    self.results = {"checkpoint": self._measure(servable, 4 * size, "float32")}

  def add(self, version_dir, weights_dtype):
    """Scores the version that was exported, in its folder.

    Args:
      version_dir: str.
      weights_dtype: str, of the weights there; None for float32.
    """
    servable = self._servable
    if self._file_format != choices.SAVED_MODEL:
      servable = file_servables.load(version_dir)
    self.results["export"] = self._measure(
      servable, _num_bytes(version_dir), weights_dtype or "float32"
    )

  def table(self):
    """Returns the printed table, str."""
    columns = self.results.values()
    rows = [
      ("weights", *(found["weights_dtype"] for found in columns)),
      ("MB", *(f"{found['bytes'] / 1e6:.1f}" for found in columns)),
      *(
        (
          f"ms a row, {name}",
          *(f"{found['ms'][name]:.2f}" for found in columns),
        )
        for name in ("p50", "p99")
      ),
      *(
        (name, *(f"{found['scores'][name]:.4f}" for found in columns))
        for name in self.results["export"]["scores"]
      ),
    ]
    return run_results.table(rows, ("", *self.results))

  def _measure(self, servable, num_bytes, weights_dtype):
    answers = Answers(servable)
    scores = self._scorer.score(answers)
    return {
      "weights_dtype": weights_dtype,
      "bytes": num_bytes,
      "ms": answers.times(),
      "scores": scores,
    }


class Answers:
  """A servable as a function of batches of rows, which times single rows.

  Args:
    servable: `servables.Servable`.
  """

  def __init__(self, servable):
    self._answer = tf.function(servable.answer_rows, reduce_retracing=True)
    self._inputs = (*servable.row_inputs,)
    self._seconds = []

  def __call__(self, batches):
    """Yields {output: array [B, ...]} of batches {name: int32 [B, ...]}."""
    for batch in batches:
      rows = {name: batch[name] for name in self._inputs}
      outputs = self._run(rows)
      self._time(rows)
      yield outputs

  def times(self):
    """Returns {"p50": float, "p99": float}: milliseconds of one row's ids."""
    p50, p99 = np.percentile(self._seconds, (50, 99)) * 1000
    return {"p50": float(p50), "p99": float(p99)}

  def _run(self, rows):
    return {name: x.numpy() for name, x in self._answer(rows).items()}

  def _time(self, rows):
    """Times the first row of a batch, without its padding."""
    row = {name: x[:1].numpy() for name, x in rows.items()}
    mask = row[features.INPUT_MASK]
    is_token = mask.any(axis=tuple(range(mask.ndim - 1)))
    row = {name: tf.constant(x[..., is_token]) for name, x in row.items()}
    self._run(row)  # The first of a length may compile.
    started = time.perf_counter()
    self._run(row)
    self._seconds.append(time.perf_counter() - started)


def _num_bytes(folder):
  """Returns the size of all files of a folder."""
  return sum(
    tf.io.gfile.stat(os.path.join(parent, name)).length
    for parent, _, names in tf.io.gfile.walk(folder)
    for name in names
  )
