"""Writes pre-training data: text files to TFRecord shards.

The corpus is cut into chunks (documents.py); chunk k belongs to shard k modulo
the number of shards. `shards.write_shard` is a pure function of its task: the
bytes do not depend on the number of processes or machines, and memory holds one
chunk at a time.
"""

import dataclasses
import itertools
import time

from absl import logging

from keras_bert_impl import choices, locks, options
from keras_bert_impl.tasks.masking import masking as masking_lib
from keras_bert_impl.tokenizers.formats import (
  tokenizer_options,
  vocabularies,
)
from tfrecords import manifest
from tfrecords.text import documents, sources
from tfrecords.writing import (
  beam_runner,
  packings,
  shards,
  worker_pool,
  writing_config,
)

_CHUNK_BYTES = 4 << 20
# Fields that other values of the origin cover already.
_OTHER_NAMES = (
  "vocab_file",
  "do_lower_case",
  "compose_hangul",
  "objective",
  "do_whole_word_mask",
)


@dataclasses.dataclass(kw_only=True)
class Summary(shards.ShardCounts):
  """Contents of all shards, and the time it took to write them.

  Attributes:
    files: tuple of str, paths of the shards.
    num_written_shards: int, shards written by this run, without those that were
      finished before.
    num_written_bytes: int, size of their text.
    seconds: float, time of this run.
  """

  files: tuple[str, ...]
  num_written_shards: int
  num_written_bytes: int
  seconds: float

  @property
  def positive_share(self):
    """Share of instances with a random second segment, or swapped ones."""
    return self.num_positive / max(self.num_instances, 1)

  @property
  def unknown_share(self):
    """Share of the tokens of the text that are [UNK]."""
    return self.num_unknown_tokens / max(self.num_text_tokens, 1)

  def padding_share(self, max_seq_length):
    """Returns the share of padding in rows of a length, float."""
    return 1 - self.num_tokens / (self.num_records * max_seq_length)

  @property
  def megabytes_per_second(self):
    """Megabytes (10**6 bytes) of text read per second."""
    return self.num_written_bytes / 1e6 / max(self.seconds, 1e-9)

  def describe_data(self):
    """Returns {name: number} of what the shards hold, for results.json."""
    left_out = ("num_unknown_tokens", "num_positive")
    numbers = {
      field.name: getattr(self, field.name)
      for field in dataclasses.fields(shards.ShardCounts)
      if field.name not in left_out
    }
    return {**numbers, "unknown_share": self.unknown_share}

  def describe_work(self):
    """Returns {name: number} of what this run wrote, for results.json."""
    names = ("num_written_shards", "seconds", "megabytes_per_second")
    return {name: getattr(self, name) for name in names}


def shard_paths(output_file, num_shards):
  """Returns the paths of the shards of an output.

  Args:
    output_file: str; one shard has this name, several
      `<output_file>-00000-of-00008`.
    num_shards: int.
  """
  options.check_numbers(writing_config.NUM_SHARDS, num_shards=num_shards)
  if num_shards == 1:
    return [output_file]
  return [
    f"{output_file}-{index:05d}-of-{num_shards:05d}"
    for index in range(num_shards)
  ]


def write_shards(
  config,
  input_files,
  output_files,
  input_format="auto",
  num_workers=1,
  on_progress=None,
  beam=None,
):
  """Writes the pre-training data of text files, or continues to.

  Args:
    config: writing_config.PretrainingDataConfig.
    input_files: sequence of str, see documents.open_files.
    output_files: sequence of str, the shards; those whose manifest fits are
      finished and left as they are.
    input_format: str, see documents.FORMATS.
    num_workers: int, processes; the bytes do not depend on it.
    on_progress: callable (bytes of text done, bytes of text to do), or None.
    beam: writing_config.BeamConfig; if it names a runner, that runs the
      workers, `num_workers` is ignored, and progress is reported at the end.

  Returns:
    Summary.

  Raises:
    ValueError: a value is wrong; the corpus is empty, or a single document
      where pairs are needed; the vocabulary has too few sentinels; the output
      was started with other values, or another process is writing it; or Apache
      Beam is needed and missing.
    FileNotFoundError: a file is missing. OSError: writing failed; finished
      shards stay.
  """
  options.check_numbers(options.POSITIVE, num_workers=num_workers)
  # Workers and Beam get the file, not the folder or the name it was found by.
  vocabulary = vocabularies.Vocabulary.load(config.vocab_file)
  config = dataclasses.replace(config, vocab_file=vocabulary.origin)
  _check_noise(config, vocabulary)
  beam = beam or writing_config.BeamConfig()
  if beam.runner:
    beam_runner.prepare_data_sets(input_files, beam)
  input_files = sources.replace_by_text(
    input_files, beside=output_files[0] if output_files else ""
  )
  files = documents.open_files(input_files, input_format)
  _check_documents(files, config)
  tasks = plan_shards(config, vocabulary, files, output_files)
  with locks.of_file(tasks[0].path):
    return _write(
      tasks, num_workers, on_progress or (lambda done, total: None), beam
    )


def plan_shards(config, vocabulary, files, output_files):
  """Returns the `ShardTask` of every shard.

  Args:
    config: writing_config.PretrainingDataConfig.
    vocabulary: Vocabulary of `config.vocab_file`.
    files: sequence of documents.TextFile.
    output_files: sequence of str.
  """
  if len(set(output_files)) < len(output_files) or not output_files:
    raise ValueError(
      f"output_file ({','.join(output_files)!r}) must name each shard once."
    )
  num_shards = len(output_files)
  total = sum(file.stop - file.start for file in files)
  per_shard = -(-total // (num_shards * _CHUNK_BYTES))
  parts = documents.plan_chunks(files, num_shards * per_shard)
  filled = [index for index, part in enumerate(parts) if part]
  chunks_of = [[] for _ in output_files]
  for rank, index in enumerate(filled):
    after = itertools.islice(
      itertools.chain(filled[rank + 1 :], filled[:rank]), shards.NUM_OTHERS
    )
    chunks_of[index % num_shards].append(
      shards.Chunk(index, parts[index], tuple(parts[other] for other in after))
    )
  origin = _origin(config, vocabulary, files, num_shards)
  return [
    shards.ShardTask(path, config, tuple(chunks), origin)
    for path, chunks in zip(output_files, chunks_of, strict=True)
  ]


def _check_noise(config, vocabulary):
  """Checks that the vocabulary has what noise needs, made now or in reading."""
  values = config.masking_values
  if values["masking_policy"] in choices.NOISES:
    masking_lib.make(vocabulary, config.max_seq_length, **values)


def _check_documents(files, config):
  """Checks that there are enough documents."""
  needed = 2 if config.packing == "next_sentence" else 1
  found = documents.count_documents(files, needed)
  if not found:
    names = ", ".join(file.path for file in files[:3])
    raise ValueError(
      f"the corpus is empty: give files with text instead of {names}"
      f"{', ...' if len(files) > 3 else ''}."
    )
  if found < needed:
    raise ValueError(packings.one_document_message())


def _origin(config, vocabulary, files, num_shards):
  """Returns the configuration of the shards and the text, as a flat dict.

  Without paths, because a corpus may be moved. Training reads the choices of
  masking from it.
  """
  values = {
    name: value
    for name, value in dataclasses.asdict(config).items()
    if value is not None and name not in _OTHER_NAMES
  }
  values["vocab_file_hash"] = vocabulary.fingerprint
  values["tokenizer_options"] = tokenizer_options.stored_values(
    tokenizer_options.resolve(config.vocab_file, **config.tokenizer_options)
  )
  values["num_shards"] = num_shards
  values["input_files_hash"] = manifest.fingerprint(
    {"files": [documents.fingerprint(file) for file in files]}
  )
  return values


def _write(tasks, num_workers, on_progress, beam):
  """Writes the shards that are not finished; returns the `Summary` of all."""
  manifest.check_same_origin([task.path for task in tasks], tasks[0].origin)
  unfinished = [task for task in tasks if not manifest.is_finished(task.path)]
  shards.remove_temporaries([task.path for task in tasks])
  start = time.monotonic()
  _run(unfinished, num_workers, on_progress, beam)
  return _summarize(tasks, unfinished, time.monotonic() - start)


def _run(tasks, num_workers, on_progress, beam):
  """Writes shards: on Beam, in `num_workers` processes or in this one."""
  total = sum(task.num_bytes for task in tasks)
  if beam.runner:
    if tasks:
      beam_runner.write_shards(tasks, beam)
    on_progress(total, total)
    return
  num_workers = min(num_workers, len(tasks))
  if num_workers > 1:
    # The largest first, so that all workers end at about the same time.
    largest_first = sorted(tasks, key=lambda task: -task.num_bytes)
    try:
      worker_pool.run(
        shards.write_shard,
        largest_first,
        num_workers,
        lambda done: on_progress(done, total),
      )
    finally:
      # Killed workers leave theirs; no process writes any more.
      shards.remove_temporaries([task.path for task in tasks])
    return
  done = 0

  def advance(num_bytes):
    nonlocal done
    done += num_bytes
    on_progress(done, total)

  for task in tasks:
    shards.write_shard(task, advance)


def _summarize(tasks, written, seconds):
  """Returns the `Summary` of finished shards, from their manifests."""
  contents = [manifest.read(task.path) for task in tasks]
  totals = {
    field.name: sum(content[field.name] for content in contents)
    for field in dataclasses.fields(shards.ShardCounts)
  }
  for task, content in zip(tasks, contents, strict=True):
    if not content["num_records"]:
      logging.warning(
        "%s is empty: %d shards are too many for this corpus.",
        task.path,
        len(tasks),
      )
  if totals["num_sentences"] and not totals["num_records"]:
    raise ValueError(
      "no document of the corpus has two sentences, one after the other: write"
      " a sentence a line, and a blank line only between documents."
    )
  if not totals["num_records"]:
    raise ValueError(
      "no sentence of the corpus has a token, so there are no instances: "
      "check input_file and vocab_file."
    )
  return Summary(
    files=tuple(task.path for task in tasks),
    **totals,
    num_written_shards=len(written),
    num_written_bytes=sum(task.num_bytes for task in written),
    seconds=seconds,
  )
