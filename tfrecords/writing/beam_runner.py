"""Runs the writing of shards on Apache Beam, on one machine or many.

Workers read the text and write the shards themselves: every path must mean the
same file on each of them, on a shared file system or in an object store. They
write the same bytes as processes of one machine, and finished shards stay when
a pipeline is killed.

Apache Beam (extra "beam") is imported only when a runner is named.
"""

import collections
import contextlib
import dataclasses
import functools
import io
import json
import os
import shlex

import tensorflow as tf

from tfrecords import manifest
from tfrecords.text import documents, tfds_documents
from tfrecords.writing import shards

# Workers are other processes, but not in every mode of every runner.
_is_driver = False


@dataclasses.dataclass
class Counts:
  """Counts of words, documents and sentences of a text or a part of it.

  Attributes:
    words: dict of str to int.
    num_documents: int.
    num_sentences: int.
    errors: list of str, one line for each failure to count or write.
  """

  words: dict
  num_documents: int = 0
  num_sentences: int = 0
  errors: list = dataclasses.field(default_factory=list)


def make_options(config):
  """Returns the PipelineOptions of a `BeamConfig` with a runner.

  Raises:
    ValueError: Apache Beam is missing, or there is no such runner or option.
  """
  beam = _import_beam()
  said = io.StringIO()
  try:
    arguments = shlex.split(config.pipeline_options)
    options = beam.options.pipeline_options.PipelineOptions(
      arguments, runner=config.runner
    )
    # Values are parsed only on demand; a wrong one would print the usage of
    # all of Beam.
    with contextlib.redirect_stderr(said):
      options.get_all_options(retain_unknown_options=True)
    beam.runners.create_runner(config.runner)
  except (Exception, SystemExit) as error:
    reason = said.getvalue().strip() or str(error)
    raise ValueError(
      f"runner ({config.runner}) with pipeline_options "
      f"({config.pipeline_options}): {reason.splitlines()[-1]}"
    ) from error
  return options


def prepare_data_sets(input_files, config):
  """Prepares data sets of TensorFlow Datasets; Beam generates large ones.

  Args:
    input_files: sequence of str; only tfds:... matter.
    config: `BeamConfig`.

  Raises:
    ValueError: as for `make_options`, or an unknown data set. OSError: the
      pipeline failed.
  """
  make_options(config)  # Raises its errors before the work starts.
  for name in input_files:
    if name.startswith(tfds_documents.SCHEME):
      # TensorFlow Datasets changes its options: each data set needs new ones.
      options = make_options(config)
      try:
        tfds_documents.open_builder(name, options)
      except (ValueError, OSError):
        raise
      except Exception as error:
        raise OSError(_failure(config, error)) from error


def write_shards(tasks, config):
  """Writes shards on Beam.

  Args:
    tasks: non-empty sequence of shards.ShardTask.
    config: `BeamConfig`.

  Raises:
    ValueError: as for `make_options`. OSError: a shard could not be written, or
      the pipeline failed; finished shards stay.
  """
  try:
    run_each(config, tasks, _write_shard, tasks[0].path)
  finally:
    # A runner may abandon a worker that is still writing.
    shards.remove_temporaries([task.path for task in tasks])


def count_words(chunks, count, beside, config):
  """Counts the words of a text on Beam.

  Args:
    chunks: sequence of tuples of documents.TextFile, see documents.open_chunks.
    count: callable (iterable of str) -> Counter that can be pickled.
    beside: str, a file; a temporary file is written beside it.
    config: `BeamConfig`.

  Returns:
    `Counts`.

  Raises:
    ValueError: as for `make_options`. OSError: a text could not be read, or the
      pipeline failed.
  """
  return run_each(
    config, chunks, functools.partial(_count_chunk, count), beside
  )


def _import_beam():
  try:
    import apache_beam
  except ImportError as error:
    raise ValueError(
      "--runner needs Apache Beam, which is not installed: "
      "pip install 'keras-bert-impl[beam]'."
    ) from error
  return apache_beam


def run_each(config, elements, function, beside):
  """Maps a function over elements on Beam's workers and returns the sum.

  Args:
    config: `BeamConfig`.
    elements: sequence.
    function: callable (element) -> `Counts`.
    beside: str, a file; a temporary one beside it carries the sum back.
  """
  global _is_driver
  _is_driver = True
  beam = _import_beam()
  options = make_options(config)
  shards.remove_temporaries([beside])
  if folder := os.path.dirname(beside):
    tf.io.gfile.makedirs(folder)
  path = shards.temporary_path(beside)
  try:
    pipeline = beam.Pipeline(options=options)
    (
      pipeline
      | beam.Create(elements)
      # Without it one worker would do everything.
      | beam.Reshuffle()
      | beam.Map(_try, function)
      # A few large elements cost far less than one for each word.
      | beam.CombineGlobally(_sum)
      | beam.Map(_save, path)
    )
    state = pipeline.run().wait_until_finish()
  except Exception as error:
    raise OSError(_failure(config, error)) from error
  if state != beam.runners.runner.PipelineState.DONE:
    raise OSError(_failure(config, f"it ended as {state}"))
  with tf.io.gfile.GFile(path) as file:
    total = Counts(**json.load(file))
  tf.io.gfile.remove(path)
  if total.errors:
    raise OSError(min(total.errors))
  return total


def _failure(config, error):
  text = str(error).strip() or repr(error)
  # Runners print the first error last, after the stack traces.
  reason = text.splitlines()[-1].removesuffix(".")
  return (
    f"the pipeline on {config.runner} failed: {reason}. Finished shards are "
    "kept: fix the cause, and run the same command again."
  )


def _try(element, function):
  """Returns `function(element)`, or `Counts` with an error for the user.

  Each runner would report an exception in its own way, among stack traces of
  Beam.
  """
  if not _is_driver:
    _prepare_process()
  try:
    return function(element)
  except (ValueError, OSError, tf.errors.OpError) as error:
    return Counts({}, errors=[" ".join(str(error).split())])


@functools.lru_cache(maxsize=1)
def _prepare_process():
  # Another thread may have initialized TensorFlow already.
  with contextlib.suppress(RuntimeError):
    shards.prepare_worker()


def _write_shard(task):
  # After a failure a runner also repeats other tasks, even finished ones.
  if not manifest.is_finished(task.path):
    shards.write_shard(task)
  return Counts({})


def _count_chunk(count, chunk):
  counts = Counts({})

  def sentences():
    for document in documents.read_chunk(chunk):
      counts.num_documents += 1
      counts.num_sentences += len(document)
      yield from document

  counts.words = count(sentences())
  return counts


def _sum(many):
  """Returns the sum of `Counts`."""
  total = Counts(collections.Counter())
  for counts in many:
    total.words.update(counts.words)
    total.num_documents += counts.num_documents
    total.num_sentences += counts.num_sentences
    total.errors += counts.errors
  return total


def _save(counts, path):
  with tf.io.gfile.GFile(path, "w") as file:
    json.dump(vars(counts), file)
