r"""Makes TFRecords for pre-training from text.

    python official_tasks/create_pretraining_data.py \
      --input_file=./sample_text.txt --output_file=/tmp/tf_examples.tfrecord \
      --vocab_file=$BERT_BASE_DIR/vocab.txt --do_lower_case=True \
      --max_seq_length=128 --max_predictions_per_seq=20 --masked_lm_prob=0.15 \
      --random_seed=12345 --dupe_factor=5

Text is sentences (one per line, a blank line between documents), prose such as
a published book, or a data set of TensorFlow Datasets (tfds:NAME). Interrupted
runs are continued by the same command. --runner runs it on Apache Beam, see
docs/beam.md. Each shard has a manifest beside it; a summary is written to
<output_file without suffix>.results.json.
"""

import dataclasses
import functools
import itertools
import os

from absl import logging
from etils import epy

from keras_bert_impl import files as files_lib
from keras_bert_impl import options
from keras_bert_impl.command_line import program, startup
from tfrecords.text import documents, sources
from tfrecords.writing import writing_config

with epy.lazy_imports():
  from keras_bert_impl import progress, tokenizers
  from keras_bert_impl.tokenizers import agreement
  from keras_bert_impl.training import run_results
  from tfrecords.writing import beam_runner, shards, writer

SAMPLE_SENTENCES = 1000

# Names of the share of pairs with label 1, in the results and in the summary.
_POSITIVE = {
  "next_sentence": ("next_sentence_random_share", "Random next sentences"),
  "sentence_order": ("sentence_order_swapped_share", "Swapped segments"),
}


@dataclasses.dataclass(frozen=True)
class FilesConfig:
  """Files to read and write, and the number of processes."""

  input_file: str = options.required(
    "Text to read: paths, glob patterns, folders or"
    " tfds:NAME?split=..., comma-separated."
  )
  output_file: str = options.required(
    "TFRecord files to write, comma-separated."
  )
  input_format: str = options.common(
    "auto",
    "Format of the text; see tfrecords/text/documents.py.",
    documents.FORMATS,
  )
  num_shards: int | None = options.common(
    None,
    "Files to split output_file into, named ...-00000-of-00008 and so on.",
    interval=writing_config.NUM_SHARDS,
  )
  num_workers: int | None = options.common(
    None,
    "Processes; default: one per core. Not with a runner, which has its own.",
    interval="[1, 1024]",
  )
  num_shown: int = options.field(
    3, "Number of instances to print at the end.", interval="[0, 1000000]"
  )
  max_unknown_share: float = options.field(
    0.5,
    "Most [UNK] in the text, above which it is refused; 1 allows any.",
    interval="[0, 1]",
  )


program.define_flags(FilesConfig)
program.define_flags(writing_config.BeamConfig)
program.define_flags(writing_config.PretrainingDataConfig)


def main():
  """Writes the shards, prints some records and a summary."""
  files = program.from_flags(FilesConfig)
  beam = program.from_flags(writing_config.BeamConfig)
  config = program.from_flags(writing_config.PretrainingDataConfig)
  num_workers = _num_workers(files, beam)
  input_files = program.split_names(files.input_file)
  tokenizer = tokenizers.load(config.vocab_file, **config.tokenizer_options)
  if beam.runner:
    # Before the text is looked into.
    beam_runner.prepare_data_sets(input_files, beam)
  _check_agreement(tokenizer, input_files, files)
  output_files = _output_files(files)
  logging.info("Output files:\n  %s", "\n  ".join(output_files))
  with progress.bar("Text", unit="B", unit_scale=True) as bar:
    summary = writer.write_shards(
      config,
      input_files,
      output_files,
      files.input_format,
      num_workers,
      functools.partial(progress.advance, bar),
      beam,
    )
  shards.log_records(
    summary.files, files.num_shown, tokenizer.vocabulary.tokens
  )
  results = _results(summary, files, beam, config, tokenizer.options)
  path = os.path.splitext(output_files[0])[0] + ".results.json"
  files_lib.write_json(path, results)
  _print_summary(summary, config, path)
  agreement.check_unknown(summary.unknown_share, files.max_unknown_share)


def _check_agreement(tokenizer, input_files, files):
  """Checks that vocabulary, normalisation and beginning of the text fit."""
  sentences = itertools.chain.from_iterable(
    sources.iter_documents(input_files, files.input_format)
  )
  sample = list(itertools.islice(sentences, SAMPLE_SENTENCES))
  agreement.check(tokenizer, sample, files.max_unknown_share)


def _output_files(files):
  """Returns the paths of the shards."""
  names = program.split_names(files.output_file)
  if files.num_shards is None:
    return names
  if len(names) != 1:
    raise ValueError(
      f"num_shards ({files.num_shards}) needs a single output_file, not "
      f"{files.output_file!r}."
    )
  return writer.shard_paths(names[0], files.num_shards)


def _num_workers(files, beam):
  if files.num_workers is None:
    return run_results.num_cores()
  if beam.runner:
    raise ValueError(
      f"num_workers ({files.num_workers}) must be left out for "
      f"--runner={beam.runner}: give its own option in --pipeline_options, "
      "such as --direct_num_workers of DirectRunner."
    )
  return files.num_workers


def _results(summary, files, beam, config, tokenizer_options):
  data = summary.describe_data()
  if config.use_pairs:
    data[_POSITIVE[config.packing][0]] = summary.positive_share
  return {
    "data": data,
    "write": summary.describe_work(),
    "config": {
      **dataclasses.asdict(files),
      **dataclasses.asdict(beam),
      **dataclasses.asdict(config),
      **dataclasses.asdict(tokenizer_options),
    },
    "versions": run_results.versions(),
    "artifacts": {"tfrecords": list(summary.files)},
  }


def _print_summary(summary, config, path):
  rows = [
    ("Documents", f"{summary.num_documents:,}"),
    ("Sentences", f"{summary.num_sentences:,}"),
    ("Tokens of the text", f"{summary.num_text_tokens:,}"),
    ("of these [UNK]", f"{summary.unknown_share:.2%}"),
    ("Instances", f"{summary.num_instances:,}"),
    ("Tokens of the instances", f"{summary.num_tokens:,}"),
    ("Rows", f"{summary.num_records:,}"),
    ("Padding", f"{summary.padding_share(config.max_seq_length):.1%}"),
  ]
  if config.use_pairs:
    rows.append((_POSITIVE[config.packing][1], f"{summary.positive_share:.2%}"))
  written = summary.num_written_shards
  found = len(summary.files) - written
  rows += [
    ("Shards written, finished before", f"{written}, {found}"),
    ("Text per second", f"{summary.megabytes_per_second:.2f} MB"),
  ]
  print(run_results.table(rows))
  print(f"TFRecords: {summary.files[0]}", end="")
  print(" ..." if len(summary.files) > 1 else "")
  print(f"Results: {path}")


if __name__ == "__main__":
  program.run(main)
elif __name__ == "__mp_main__":  # in a worker process
  startup.import_quietly("keras")
