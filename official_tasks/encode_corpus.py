r"""Encodes a corpus of any size as vectors, for search.

    python official_tasks/encode_corpus.py --input_file=beir/nq \
      --checkpoint_dir=all-MiniLM-L6-v2 --output_dir=nq-vectors

    ... --precision=int8 (or float16, binary)   a quarter (a half, 1/32)
    ... --num_workers=8                         processes of one core each
    ... --runner=FlinkRunner --pipeline_options=...   Apache Beam
    ... --file_format=impacts                   SPLADE, for Anserini
    ... --pool_factor=2 --precision=int8        ColBERT

The corpus is a folder of BEIR, a .jsonl (_id or id, title and text), a .tsv (id
and text), a .txt (a text a line) or tfds:NAME?split=..., of which a shard at a
time is in memory. Writes vectors-00000-of-00123.npy and the ids beside, and at
last manifest.json, which `kb.load_corpus_vectors` opens. The same command
continues a run that was killed; the bytes of a shard depend neither on that nor
on the number of workers.
"""

import dataclasses
import os
import time

from etils import epy

from keras_bert_impl import choices, options
from keras_bert_impl.command_line import program, startup
from keras_bert_impl.kinds.embeddings.corpus import corpus_options

with epy.lazy_imports():
  from keras_bert_impl.kinds.embeddings.encoders import stored_encoders
  from keras_bert_impl.training import run_results


@dataclasses.dataclass(frozen=True)
class FilesConfig:
  """Texts, encoder and output."""

  input_file: str = options.required(
    "Texts: folders of BEIR, .jsonl, .tsv or .txt files, patterns of them or"
    " tfds:NAME?split=..., comma-separated."
  )
  checkpoint_dir: str = options.required(
    "Encoder: a folder of sentence-transformers, PyLate or model2vec, the"
    " output_dir of run_embeddings.py, or a checkpoint."
  )
  output_dir: str = options.required("Folder of the vectors.")
  compute_dtype: str = options.field(
    "float32", "Dtype that the encoder computes in.", choices.COMPUTE_DTYPES
  )


program.define_flags(FilesConfig)
program.define_flags(corpus_options.CorpusOptions)


def main():
  """Opens the encoder, encodes, and prints a summary."""
  config = program.from_flags(FilesConfig)
  settings = program.from_flags(corpus_options.CorpusOptions)
  encoder = stored_encoders.open_encoder(
    config.checkpoint_dir, config.compute_dtype
  )
  started = time.monotonic()
  vectors = encoder.encode_corpus(
    config.input_file,
    config.output_dir,
    **dataclasses.asdict(settings),
  )
  size = sum(
    described["num_bytes"]
    for shard in vectors.manifest["shards"]
    for described in shard["files"].values()
  )
  rows = [
    ("Texts", f"{len(vectors):,}"),
    ("Vectors", f"{vectors.kind}, {vectors.size}, {settings.precision}"),
    ("Shards", f"{len(vectors.manifest['shards']):,}"),
    ("Size", f"{size / 1e6:,.1f} MB"),
    ("Time", f"{time.monotonic() - started:.1f} s"),
  ]
  print(run_results.table(rows))
  print(os.path.join(config.output_dir, "manifest.json"))


if __name__ == "__main__":
  program.run(main)
elif __name__ == "__mp_main__":  # in a worker process
  startup.import_quietly("keras")
