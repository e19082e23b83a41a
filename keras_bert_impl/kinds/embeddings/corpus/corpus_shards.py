"""Writes one shard of vectors: a pure function of its task.

The bytes depend on the texts, the model and the options, not on the process
that writes them, the number of its cores or what was written before.
"""

import dataclasses
import functools
import json
import os

from keras_bert_impl import files
from keras_bert_impl.kinds.embeddings.corpus import (
  corpus_options,
  shard_files,
  vector_forms,
)
from keras_bert_impl.runs.labelled_data import hidden_states
from tfrecords import manifest


@dataclasses.dataclass(frozen=True)
class StoredEncoder:
  """An encoder that other processes open; can be pickled.

  Attributes:
    kind: class of the encoder.
    path: str, its folder.
    dtype: str, the policy that it computes by.
    facts: str, JSON of its `facts_of`.
  """

  kind: type
  path: str
  dtype: str
  facts: str

  def open(self):
    """Returns the encoder, which is opened once in a process.

    Raises:
      ValueError: it is another one.
    """
    return _opened(self)


@dataclasses.dataclass(frozen=True)
class ShardTask:
  """The arguments of `write_shard`; can be pickled.

  Attributes:
    folder: str, of the vectors.
    work: str, folder of texts and of records of what is finished.
    number: int, of the shard, from 0.
    num_shards: int.
    options: `CorpusOptions` whose defaults are filled in.
    encoder: `StoredEncoder`, for other processes.
  """

  folder: str
  work: str
  number: int
  num_shards: int
  options: corpus_options.CorpusOptions
  encoder: StoredEncoder | None = None

  @property
  def texts_path(self):
    """Path of its texts, JSON lines of [id, text]."""
    return os.path.join(self.work, f"texts-{self.number:05d}.jsonl")

  @property
  def record_path(self):
    """Path of the record of its files, which is written last."""
    return os.path.join(self.work, f"shard-{self.number:05d}.json")

  @property
  def place(self):
    """The number of the shard, and the number of shards."""
    return self.number, self.num_shards


def facts_of(encoder):
  """Returns what decides the vectors of an encoder, {name: value} of JSON."""
  texts = encoder.texts
  late = texts.late and {k: str(x) for k, x in vars(texts.late).items()}
  return {
    "vectors": encoder.head,
    "size": encoder.embedding_size,
    "dtype": encoder.model.dtype_policy.name,
    "weights_sha256": hidden_states.fingerprint(encoder.model),
    "vocab_file_hash": encoder.tokenizer.vocabulary.fingerprint,
    "max_seq_length": texts.max_seq_length,
    "do_lower_case": texts.do_lower_case,
    "prompt": texts.prompt_of("document"),
    "late": late,
  }


def write_shard(task, advance=None, encoder=None):
  """Writes the files of a shard, and then the record of them.

  Args:
    task: `ShardTask`.
    advance: callable (number of texts), called as the work goes on, or None.
    encoder: `TextEncoder`; default: the one that is stored.

  Raises:
    OSError: writing failed.
  """
  encoder = encoder or task.encoder.open()
  ids, texts = zip(*read_texts(task), strict=True)
  arrays = arrays_of(encoder, texts, task.options, advance)
  names = shard_files.write(
    task.folder,
    task.place,
    task.options.file_format,
    ids,
    arrays,
    encoder.tokenizer.vocabulary.tokens,
  )
  found = {
    name: manifest.describe(os.path.join(task.folder, name)) for name in names
  }
  record = {
    "num_texts": len(ids),
    "num_vectors": len(arrays["vectors"]),
    "files": found,
  }
  files.write_json(task.record_path, record)


def read_texts(task):
  """Returns the texts of a shard, list of [id, text]."""
  return [*map(json.loads, files.read_text(task.texts_path).splitlines())]


def arrays_of(encoder, texts, options, advance=None):
  """Returns the arrays of texts, as of `vector_forms.pack`."""
  vectors = encoder.vectors_of("document", texts, options.batch_size, advance)
  return vector_forms.pack(vectors, encoder.head, options)


def is_intact(folder, record):
  """Returns whether the files of a record are as it says."""
  return all(
    manifest.is_intact(os.path.join(folder, name), described)
    for name, described in record["files"].items()
  )


# An encoder takes seconds to open; a process writes many shards.
@functools.lru_cache(maxsize=1)
def _opened(stored):
  encoder = stored.kind.from_checkpoint(stored.path, stored.dtype)
  if json.dumps(facts_of(encoder)) != stored.facts:
    raise ValueError(
      f"{stored.path} holds another encoder than the one that was given: save"
      " that, and open what was saved."
    )
  return encoder
