"""Writes one shard of records: a pure function of its task.

The bytes do not depend on the process or machine that runs it. Memory holds one
chunk of the corpus at a time.
"""

import collections
import dataclasses
import functools
import itertools
import os
import random
import re
import uuid

import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert_impl import (
  choices,
  features,
  file_errors,
  files,
  tokenizers,
)
from keras_bert_impl.tasks.masking import masking as masking_lib
from tfrecords import examples, manifest
from tfrecords.text import documents
from tfrecords.writing import instances, packed_rows, packings, writing_config

# Other documents from which an instance can draw its random next sentences.
NUM_OTHERS = 8

_MASKED_AT_ONCE = 1024
# Names of temporary files: of a file, and of the manifest of one.
_TEMPORARY = re.compile(
  r"\.(?P<name>.+)\.[0-9a-f]{32}\.tmp"
  rf"|(?P<described>.+){re.escape(manifest.SUFFIX)}\.tmp-\d+"
)


@dataclasses.dataclass(kw_only=True)
class ShardCounts:
  """Numbers of what shards hold.

  Attributes:
    num_documents: int.
    num_sentences: int.
    num_text_bytes: int, size of the text.
    num_text_tokens: int, tokens of the text.
    num_unknown_tokens: int, how many of them are [UNK].
    num_instances: int, texts or pairs of them.
    num_records: int, as many, or fewer where several share a row.
    num_tokens: int, tokens of the records, [CLS] and [SEP] included.
    num_positive: int, instances whose second segment is random or, for
      sentence-order prediction, whose segments are swapped.
  """

  num_documents: int = 0
  num_sentences: int = 0
  num_text_bytes: int = 0
  num_text_tokens: int = 0
  num_unknown_tokens: int = 0
  num_instances: int = 0
  num_records: int = 0
  num_tokens: int = 0
  num_positive: int = 0


@dataclasses.dataclass(frozen=True)
class Chunk:
  """A chunk of the corpus to write.

  Attributes:
    index: int, its number in the corpus, the key of its randomness.
    own: tuple of documents.TextFile, the text of its instances.
    others: tuple of tuples of documents.TextFile, chunks after it whose
      documents may serve as random next ones.
  """

  index: int
  own: tuple[documents.TextFile, ...]
  others: tuple[tuple[documents.TextFile, ...], ...]

  @property
  def num_bytes(self):
    """Size of its text."""
    return sum(part.stop - part.start for part in self.own)


@dataclasses.dataclass(frozen=True)
class ShardTask:
  """The arguments of `write_shard`; can be pickled.

  Attributes:
    path: str, the shard.
    config: writing_config.PretrainingDataConfig.
    chunks: tuple of Chunk.
    origin: dict, for the manifest.
  """

  path: str
  config: writing_config.PretrainingDataConfig
  chunks: tuple[Chunk, ...]
  origin: dict

  @property
  def num_bytes(self):
    """Size of its text."""
    return sum(chunk.num_bytes for chunk in self.chunks)


def write_shard(task, on_chunk=None):
  """Writes one shard and its manifest, of its `ShardCounts`, atomically.

  Chunks follow each other; the instances of a chunk, from all its repetitions,
  are shuffled.

  Args:
    task: ShardTask.
    on_chunk: callable (bytes of text), called after every chunk, or None.

  Raises:
    OSError: writing failed.
  """
  folder = os.path.dirname(task.path)
  temporary = temporary_path(task.path)
  counts = ShardCounts()
  try:
    if folder:
      tf.io.gfile.makedirs(folder)
    with tf.device("cpu:0"), tf.io.TFRecordWriter(temporary) as file:
      for chunk in task.chunks:
        for record in _records_of(chunk, task, counts):
          file.write(record)
        if on_chunk:
          on_chunk(chunk.num_bytes)
    tf.io.gfile.rename(temporary, task.path, overwrite=True)
    manifest.write(task.path, task.origin, dataclasses.asdict(counts))
  except (tf.errors.OpError, OSError) as error:
    raise OSError(
      f"writing {task.path} failed: {file_errors.reason(error)}. "
      f"Finished shards are kept: {file_errors.remedy(error)}; then run the "
      "same command again."
    ) from error
  finally:
    if tf.io.gfile.exists(temporary):
      tf.io.gfile.remove(temporary)


def temporary_path(path):
  """Returns the path of a temporary file beside a file.

  It is hidden, so that no pattern for shards matches it, and different each
  time, because Beam may run a task twice at once.
  """
  folder, name = os.path.split(path)
  return os.path.join(folder, f".{name}.{uuid.uuid4().hex}.tmp")


def remove_temporaries(paths):
  """Removes the temporary files of killed processes.

  Args:
    paths: sequence of str, files that no process is writing.
  """
  names = collections.defaultdict(set)
  for path in paths:
    folder, name = os.path.split(path)
    names[folder or "."].add(name)
  for folder in filter(tf.io.gfile.isdir, names):
    for entry in files.list_folder(folder):
      match = _TEMPORARY.fullmatch(entry)
      if match and (match["name"] or match["described"]) in names[folder]:
        tf.io.gfile.remove(os.path.join(folder, entry))


def prepare_worker():
  """Limits this process to one core and no accelerator.

  Raises:
    RuntimeError: TensorFlow is initialized already in this process.
  """
  tf.config.threading.set_intra_op_parallelism_threads(1)
  tf.config.threading.set_inter_op_parallelism_threads(1)
  tf.config.set_visible_devices([], "GPU")


def _records_of(chunk, task, counts):
  """Yields the serialized records of a chunk and adds up `counts`."""
  config = task.config
  tokenizer, mask = _prepare(
    config,
    task.origin["vocab_file_hash"],
    tuple(task.origin["tokenizer_options"].items()),
  )
  vocabulary = tokenizer.vocabulary
  tokenized = instances.tokenize(
    documents.read_chunk(chunk.own),
    itertools.chain.from_iterable(map(documents.read_chunk, chunk.others)),
    tokenizer,
    NUM_OTHERS if config.packing == "next_sentence" else 0,
    tokenizer.sentence_prefix,
  )
  # The same random numbers wherever this chunk is written.
  rng = random.Random(f"{config.random_seed} {chunk.index}")
  made = packings.PACKINGS[config.packing](
    tokenized,
    config.max_seq_length,
    config.short_seq_prob,
    config.dupe_factor,
    rng,
  )
  rng.shuffle(made)
  rows = [[instance] for instance in made]
  if config.pack_sequences:
    rows = packed_rows.fill(made, config.max_seq_length, rng)
  _count(tokenized, made, chunk, vocabulary, counts)
  counts.num_records += len(rows)
  for start in range(0, len(rows), _MASKED_AT_ONCE):
    batch = _columns(
      rows[start : start + _MASKED_AT_ONCE], tokenized, tokenizer, config
    )
    counts.num_tokens += sum(map(len, batch[features.INPUT_IDS]))
    seed = [rng.getrandbits(31), rng.getrandbits(31)]
    if mask:
      batch = _masked(mask, batch, seed)
    for values in zip(*batch.values(), strict=True):
      record = dict(zip(batch, values, strict=True))
      yield examples.serialize(record, (features.MASKED_LM_WEIGHTS,))


def _columns(rows, tokenized, tokenizer, config):
  """Returns {feature: list of lists of int} of the clean records of rows.

  Args:
    rows: list of lists of Instance.
    tokenized: TokenizedChunk.
    tokenizer: as `tokenizers.load` returns it.
    config: writing_config.PretrainingDataConfig.
  """
  vocabulary, framing = tokenizer.vocabulary, tokenizer.framing

  is_cut = config.packing == choices.DOCUMENTS
  has_begin = framing.begin or "cls" in vocabulary.role_ids
  cls_id = vocabulary.cls_id if has_begin and not is_cut else None

  def ids_of(rows):
    found = instances.sequences(
      tokenized, rows, cls_id, vocabulary.sep_id, has_end=not is_cut
    )
    return list(found)

  if config.packing == choices.FOLLOWING_SENTENCES:
    pairs = zip(*(row[0].segments for row in rows), strict=True)
    names = (features.INPUT_IDS, features.TARGET_IDS)
    return {
      name: ids_of([[instances.Instance((segment,))] for segment in segments])
      for name, segments in zip(names, pairs, strict=True)
    }
  columns = {features.INPUT_IDS: ids_of(rows)}
  if config.use_pairs:
    columns[features.NEXT_SENTENCE_LABELS] = [[row[0].label] for row in rows]
  if config.pack_sequences:
    columns[features.SEQUENCE_IDS] = list(map(instances.sequence_ids, rows))
  return columns


# A tokenizer takes half a second to build; a process writes many shards.
@functools.lru_cache(maxsize=1)
def _prepare(config, vocab_file_hash, tokenizer_options):
  """Returns (tokenizer, function that masks; None if nothing is masked)."""
  tokenizer = tokenizers.load(config.vocab_file, **dict(tokenizer_options))
  if tokenizer.vocabulary.fingerprint != vocab_file_hash:
    raise ValueError(
      f"vocab_file ({config.vocab_file}) has changed since the start; restore "
      "it, or start again with another output_file."
    )
  if config.masking == "dynamic":
    return tokenizer, None
  masking = masking_lib.make(
    tokenizer.vocabulary, config.max_seq_length, **config.masking_values
  )
  # One trace for all batches, including the smaller last one of a chunk.
  batch = {features.INPUT_IDS: tf.RaggedTensorSpec([None, None], tf.int32)}
  if config.use_pairs:
    batch[features.NEXT_SENTENCE_LABELS] = tf.TensorSpec([None, 1], tf.int32)
  if config.pack_sequences:
    batch[features.SEQUENCE_IDS] = batch[features.INPUT_IDS]
  mask = tf.function(
    masking,
    input_signature=[batch, tf.TensorSpec([2], tf.int32)],
    autograph=False,
  )
  return tokenizer, mask


def _masked(mask, columns, seed):
  """Returns {feature: list of B lists of numbers} of clean columns, masked.

  Args:
    mask: function (batch, seed) -> masked batch.
    columns: {feature: list of B lists of int}.
    seed: list of two int, of the masks.
  """
  batch = {name: _ragged(rows) for name, rows in columns.items()}
  if features.NEXT_SENTENCE_LABELS in batch:
    labels = batch[features.NEXT_SENTENCE_LABELS]
    batch[features.NEXT_SENTENCE_LABELS] = labels.to_tensor(shape=[None, 1])
  masked = mask(batch, tf.constant(seed, tf.int32))
  return {
    name: x.to_list() if isinstance(x, tf.RaggedTensor) else x.numpy().tolist()
    for name, x in masked.items()
  }


def _ragged(rows):
  """Returns a RaggedTensor int32 [B, (n)] of B lists of int."""
  values = np.fromiter(itertools.chain.from_iterable(rows), np.int32)
  lengths = np.fromiter(map(len, rows), np.int64)
  return tf.RaggedTensor.from_row_lengths(values, lengths)


def log_records(paths, count, tokens):
  """Logs the first records of shards in full.

  Args:
    paths: sequence of str.
    count: int, records to log.
    tokens: sequence of str, of the vocabulary, by id.
  """
  for record in tf.data.TFRecordDataset(list(paths)).take(count):
    example = tf.train.Example.FromString(record.numpy())
    logging.info("*** Example ***")
    columns = {
      name: feature.int64_list.value or feature.float_list.value
      for name, feature in sorted(example.features.feature.items())
    }
    words = (tokens[i] for i in columns[features.INPUT_IDS])
    logging.info("tokens: %s", " ".join(words))
    for name, values in columns.items():
      logging.info("%s: %s", name, " ".join(map(str, values)))


def _count(tokenized, made, chunk, vocabulary, counts):
  """Adds the numbers of a chunk's own documents to `counts`."""
  num_sentences = int(tokenized.document_splits[tokenized.num_own])
  num_tokens = int(tokenized.sentence_splits[num_sentences])
  unknown = tokenized.ids[:num_tokens] == vocabulary.role_ids.get("unk", -1)
  counts.num_documents += tokenized.num_own
  counts.num_sentences += num_sentences
  counts.num_text_bytes += chunk.num_bytes
  counts.num_text_tokens += num_tokens
  counts.num_unknown_tokens += int(unknown.sum())
  counts.num_instances += len(made)
  counts.num_positive += sum(i.label for i in made)
