"""Encodes a corpus of any size as shards of vectors.

The source is read once, checked, and laid down as the texts of each shard in
the hidden folder `.work` of the output. Then processes write the shards, see
`corpus_shards`; at last manifest.json is written, and the work folder goes.
"""

import contextlib
import dataclasses
import functools
import hashlib
import itertools
import json
import os

import tensorflow as tf

from keras_bert_impl import files, heads, locks, progress
from keras_bert_impl.kinds.embeddings.corpus import (
  corpus_shards,
  corpus_texts,
  vector_forms,
)
from tfrecords import manifest
from tfrecords.writing import beam_runner, worker_pool

MANIFEST = "manifest.json"
FORMAT_VERSION = 1
_WORK, _PLAN = ".work", "plan.json"
# Options that decide the bytes.
_OF_BYTES = ("precision", "file_format", "shard_size", "batch_size")
_OF_BYTES += ("pool_factor",)
_SAMPLE = 64  # texts whose vectors tell the size of all
_MOST_SHARDS = 99_999  # five digits in the names of the files


def encode(encoder, source, output_dir, settings):
  """Writes the vectors of a corpus, or continues to.

  Args:
    encoder: `TextEncoder`.
    source: as of `corpus_texts.read`.
    output_dir: str, folder of the vectors.
    settings: `CorpusOptions`.

  Raises:
    ValueError: a value or a text is wrong, or the folder has other vectors.
    FileNotFoundError: a file is missing. OSError: writing failed; finished
      shards stay.
  """
  vector_forms.check(encoder.head, settings)
  settings = _filled(settings, encoder.head)
  if settings.runner:
    beam_runner.make_options(settings)  # Raises its errors before the work.
  work = os.path.join(output_dir, _WORK)
  with locks.of_folder(output_dir), _work_folder(work):
    laid_down = _lay_down(source, settings, work)
    tasks = [
      corpus_shards.ShardTask(output_dir, work, k, len(laid_down), settings)
      for k in range(len(laid_down))
    ]
    facts = corpus_shards.facts_of(encoder)
    origin = facts | _origin(laid_down, settings)
    records = _finished(tasks, origin)
    left = [task for task in tasks if task.number not in records]
    if left:
      _tell_size(encoder, left[0], origin["num_texts"])
      num_texts = sum(laid_down[task.number][0] for task in left)
      _write(encoder, facts, left, num_texts)
    records |= {x.number: files.read_json(x.record_path) for x in left}
    name = os.path.basename(encoder.checkpoint or type(encoder).__name__)
    content = {"format_version": FORMAT_VERSION, "model": name, **origin}
    content["shards"] = [records[task.number] for task in tasks]
    files.write_json(os.path.join(output_dir, MANIFEST), content)


@contextlib.contextmanager
def _work_folder(path):
  """Context of the work folder, which goes unless there is work to go on."""
  if not files.is_folder(path):  # Refuses stores that are not known.
    tf.io.gfile.makedirs(path)
  try:
    yield
  except BaseException:
    if not files.exists(os.path.join(path, _PLAN)):
      tf.io.gfile.rmtree(path)
    raise
  tf.io.gfile.rmtree(path)


def _filled(settings, head):
  """Returns options with the defaults of a kind of vectors."""
  shard_size = 1024 if head == heads.LATE else 8192
  batch_size = 1024 if head == heads.STATIC else 32
  return dataclasses.replace(
    settings,
    shard_size=settings.shard_size or shard_size,
    batch_size=settings.batch_size or batch_size,
  )


def _lay_down(source, settings, work):
  """Writes the texts of each shard; returns their [(number, SHA-256)].

  Raises:
    ValueError: a text is wrong, or an id is there twice.
  """
  read = functools.partial(
    corpus_texts.read, source, settings.id_column, settings.text_columns
  )
  texts, found, ids = read(), [], corpus_texts.UniqueIds()
  with progress.bar("Texts read", unit=" texts") as bar:
    while block := [*itertools.islice(texts, settings.shard_size)]:
      if len(found) == _MOST_SHARDS:
        raise ValueError(
          f"shard_size ({settings.shard_size}) makes more than {_MOST_SHARDS:,}"
          " shards: give a larger one."
        )
      rows = (json.dumps([text.id, text.text]) for text in block)
      content = "".join(f"{row}\n" for row in rows).encode()
      task = corpus_shards.ShardTask("", work, len(found), 0, settings)
      files.write_atomically(task.texts_path, content)
      found.append((len(block), hashlib.sha256(content).hexdigest()))
      ids.add([text.id for text in block])
      bar.update(len(block))
  again = ids.repeated()
  if again is not None:
    place = f"source[{again}]"
    if isinstance(source, str | os.PathLike):
      place = next(itertools.islice(read(), again, None)).place
    raise ValueError(
      f"{place} has the id of an earlier text: give each one of its own."
    )
  return found


def _origin(laid_down, settings):
  """Returns what decides the bytes besides the model, {name: value} of JSON."""
  values = {name: getattr(settings, name) for name in _OF_BYTES}
  values["num_texts"] = sum(count for count, _ in laid_down)
  values["texts_sha256"] = manifest.fingerprint({"shards": laid_down})
  return values


def _finished(tasks, origin):
  """Returns the records of shards that are finished, {number: record}.

  Raises:
    ValueError: the folder has vectors of another origin.
  """
  folder, plan = tasks[0].folder, os.path.join(tasks[0].work, _PLAN)
  whole = files.find_json(os.path.join(folder, MANIFEST))
  earlier = whole or files.find_json(plan)
  if earlier is None:
    files.write_json(plan, origin)
    return {}
  known = {name: earlier.get(name) for name in origin}
  if known != origin:
    raise ValueError(
      f"{folder} has vectors of {manifest.difference(known, origin)}: give the"
      " same values to continue, another output_dir, or delete it."
    )
  found = {task.number: files.find_json(task.record_path) for task in tasks}
  if whole:
    found = dict(enumerate(whole["shards"]))
  return {
    number: record
    for number, record in found.items()
    if record and corpus_shards.is_intact(folder, record)
  }


def _tell_size(encoder, task, num_texts):
  """Tells how large the vectors will be, by those of some texts."""
  texts = [text for _, text in corpus_shards.read_texts(task)[:_SAMPLE]]
  arrays = corpus_shards.arrays_of(encoder, texts, task.options)
  size = sum(x.nbytes for x in arrays.values()) / len(texts) * num_texts
  what = "weights" if encoder.head == heads.SPARSE else "vectors"
  progress.tell(
    f"{num_texts:,} texts, {len(arrays['vectors']) / len(texts):.3g} {what} of"
    f" each, {task.options.precision}: about {size / 1e6:,.1f} MB"
  )


def _write(encoder, facts, tasks, num_texts):
  """Writes shards: on Beam, in several processes or in this one."""
  settings = tasks[0].options
  with progress.bar("Texts", total=num_texts, unit=" texts") as bar:
    if settings.runner or settings.num_workers > 1:
      stored = _stored(encoder, facts, tasks[0].work)
      tasks = [dataclasses.replace(task, encoder=stored) for task in tasks]
    if settings.runner:
      beside = os.path.join(tasks[0].work, "beam")
      beam_runner.run_each(settings, tasks, _write_on_beam, beside)
      bar.update(num_texts)
    elif settings.num_workers > 1:
      worker_pool.run(
        corpus_shards.write_shard,
        tasks,
        min(settings.num_workers, len(tasks)),
        lambda done: progress.advance(bar, done, num_texts),
      )
    else:
      for task in tasks:
        corpus_shards.write_shard(task, bar.update, encoder)


def _write_on_beam(task):
  # After a failure a runner also repeats other tasks, even finished ones.
  record = files.find_json(task.record_path)
  if not record or not corpus_shards.is_intact(task.folder, record):
    corpus_shards.write_shard(task)
  return beam_runner.Counts({})


def _stored(encoder, facts, work):
  """Returns the `StoredEncoder` of an encoder as its facts say it is now."""
  path = encoder.checkpoint
  if path is None or not files.is_remote(work):
    path = os.path.join(work, "encoder")
    if files.exists(path):
      tf.io.gfile.rmtree(path)
    encoder.save(path)
  return corpus_shards.StoredEncoder(
    type(encoder), path, facts["dtype"], json.dumps(facts)
  )
