"""Encoding of a corpus of any size, from Python."""

import inspect
import os
import typing
from collections.abc import Iterable, Sequence

from keras_bert_impl import calls, options
from keras_bert_impl.estimators import typed
from keras_bert_impl.kinds.embeddings.corpus import (
  corpus_options,
  corpus_vectors,
  corpus_writer,
)

if typing.TYPE_CHECKING:
  from typing_extensions import Unpack


class CorpusSettings(typing.TypedDict, total=False):
  """Settings of `encode_corpus`."""

  batch_size: int | None
  file_format: str
  id_column: str | None
  num_workers: int
  pipeline_options: str
  pool_factor: int
  precision: str
  runner: str | None
  shard_size: int | None
  text_columns: Sequence[str] | None


class CorpusEncoder(calls.Public):
  """An encoder whose vectors of a corpus are written to disk. Abstract."""

  def encode_corpus(
    self,
    source: typed.Path | Iterable[typing.Any],
    output_dir: typed.Path,
    **settings: "Unpack[CorpusSettings]",
  ) -> corpus_vectors.CorpusVectors:
    """Encodes texts as documents, of which a shard at a time is in memory.

    A call that was killed goes on when it is made again. The bytes of a shard
    depend neither on that nor on the number of workers.

    Args:
      source: str, a folder of BEIR (its corpus.jsonl), a .jsonl (_id or id,
        title and text), a .tsv (id and text), a .txt (a text a line) or
        tfds:NAME?split=...; several with commas; or an iterable, such as a list
        or a `tf.data.Dataset`, of texts, of tuples (id, text) or of dicts.
        Texts without ids are numbered from 0.
      output_dir: str, folder of shards, ids and manifest.json.
      **settings: flags of encode_corpus.py: precision ("float32", "float16",
        "int8" or "binary"), file_format, shard_size (texts of a file),
        batch_size, pool_factor, num_workers, runner, pipeline_options,
        id_column and text_columns.

    Returns:
      `CorpusVectors`.

    Raises:
      FileNotFoundError: a file is missing.
      ValueError: a setting or a text is wrong, or an id is there twice; names
        file and line. Or output_dir has other vectors, or is in use.
    """
    known = options.names(corpus_options.CorpusOptions)
    title = f"{type(self).__name__}.encode_corpus"
    own = inspect.signature(self.encode_corpus)
    calls.check_names(title, own, settings, known)
    values = options.parsed(corpus_options.CorpusOptions, settings)
    config = corpus_options.CorpusOptions(**values)
    corpus_writer.encode(self, source, os.fspath(output_dir), config)
    return corpus_vectors.load_corpus_vectors(output_dir)
