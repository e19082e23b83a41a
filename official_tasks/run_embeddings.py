r"""Trains an encoder of texts: vectors are near where texts belong together.

    python official_tasks/run_embeddings.py --do_train --do_eval \
      --train_file=pairs.tsv --dev_fraction=0.1 \
      --init_checkpoint=all-MiniLM-L6-v2 --output_dir=vectors

    ... --train_file=sts-train.tsv --text_columns=sentence1,sentence2 \
      --label_column=score --loss=cosent     pairs with scores
    ... --train_file=train-v1.1.json --dev_file=dev-v1.1.json
                                             questions and their paragraphs
    ... --train_file=beir/scifact --dev_file=beir/scifact
    ... --train_file=lines.txt --columns=text   SimCSE: each text with itself
    ... --vectors=sparse --init_checkpoint=bert-base-uncased          SPLADE
    ... --train_batch_size=1024 --chunk_size=32  large batches, little memory

A file is a table with a column for each text (the anchor, its positive, any
negatives), or has the labels of NLI, of which triplets are made; SQuAD's JSON;
or a folder of BEIR. Scores of --dev_file are those of retrieval or, of pairs
with scores, their rank correlation with the similarities. Writes checkpoints,
results.json, report.html, and sentence_encoder/ or sparse_encoder/, which
sentence-transformers, SentenceEncoder or SparseEncoder, and
export_saved_model.py open.
"""

import dataclasses

from etils import epy

from keras_bert_impl import options
from keras_bert_impl.command_line import program
from keras_bert_impl.runs.labelled_data import labelled_splits, task_options
from official_tasks import fine_tuning_flags
from tfrecords.labelled import data_sets, embedding_data

with epy.lazy_imports():
  from keras_bert_impl.runs.fine_tuning import task_parts


@dataclasses.dataclass(frozen=True)
class EmbeddingConfig(task_options.EmbeddingOptions):
  """Files and columns of the examples, and the options of the task.

  Raises:
    ValueError: flags contradict each other.
  """

  train_file: str | None = options.common(
    None, "Files or folders to train on, comma-separated."
  )
  train_weights: str | None = options.field(
    None,
    "Passes over each of train_file in an epoch, comma-separated, such as"
    " 1,0.5; default: 1 each.",
  )
  dev_file: str | None = options.common(None, "File or folder to evaluate on.")
  dev_fraction: float = options.common(
    0.0,
    "Share of the training examples to hold out as the dev set; the same"
    " examples every time.",
    interval="[0, 1)",
  )
  corpus_file: str | None = options.common(
    None, "Other texts to search beside those of dev_file, or files of them."
  )
  text_columns: str | None = options.common(
    None,
    "Names of the columns of the texts, comma-separated, the anchor first;"
    " default: all but label_column.",
  )
  label_column: str = options.common(
    "label",
    "Name of the column of scores or labels of NLI, where there is one.",
  )
  columns: str | None = options.field(
    None, "Column names, comma-separated, for files without a header line."
  )

  def __post_init__(self):
    super().__post_init__()
    if self.dev_fraction and self.dev_file:
      raise ValueError(
        "--dev_fraction cannot be combined with --dev_file: give one of them."
      )

  @property
  def table_columns(self):
    """`embedding_data.Columns` of the flags."""
    names = self.columns and tuple(program.split_names(self.columns))
    texts = tuple(program.split_names(self.text_columns or ""))
    return embedding_data.Columns(texts, self.label_column, names or None)


def _weights(config, number):
  """Returns the weights of `number` files, list of float; None for 1 each."""
  if config.train_weights is None:
    return None
  names = program.split_names(config.train_weights)
  try:
    weights = [*map(float, names)]
  except ValueError:
    weights = []
  if len(weights) != number or not all(0 < w < 1e4 for w in weights):
    raise ValueError(
      f"train_weights ({config.train_weights!r}) must be {number} numbers above"
      " 0, one for each of train_file."
    )
  return weights


def _splits(config, settings):
  """Returns {split: examples} of the splits that the run needs."""

  def find(kind, flag):
    paths = program.split_names(getattr(config, f"{kind}_file", None) or "")
    if not paths:
      raise ValueError(
        f"{flag} needs --{kind}_file"
        + (" or --dev_fraction." if kind == "dev" else ".")
      )
    return {kind: paths}

  def read(split, paths):
    columns = config.table_columns
    parts = [embedding_data.read(path, columns, split) for path in paths]
    if split == "train":
      weights = _weights(config, len(paths))
      return embedding_data.in_proportions(parts, weights)
    return [example for part in parts for example in part]

  splits = labelled_splits.read_needed(
    settings, config.dev_fraction, find, read, data_sets.hold_out
  )
  for path in program.split_names(config.corpus_file or ""):
    if "dev" in splits:
      splits["dev"] += embedding_data.read_corpus(path, config.table_columns)
  return splits


def main():
  """Reads the flags and the data; the rest is `job.Job`."""
  config = program.from_flags(EmbeddingConfig)
  job = fine_tuning_flags.read_flags()
  splits = _splits(config, job.settings)
  parts = task_parts.of_embeddings(job, splits, config)
  job.run(parts, splits, dataclasses.asdict(config))


program.define_flags(EmbeddingConfig)
fine_tuning_flags.define_flags()

if __name__ == "__main__":
  program.run(main)
