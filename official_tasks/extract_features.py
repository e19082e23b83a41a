r"""Writes an encoder's hidden states of each token of a text.

    python official_tasks/extract_features.py --input_file=texts.txt \
      --output_file=features.jsonl --layers=-1,-2,-3,-4 \
      --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt

Each line is one text, or a pair "text A ||| text B". The output's format, by
the ending of --output_file or by --output_format:

  jsonl     the original's: {"linex_index": line from 0, "features": [{"token",
            "layers": [{"index", "values"}]}]}
  npz       for NumPy: values [tokens of all lines, layers, H], row_splits
            [lines + 1], input_ids [tokens], layers; all in memory at the end
  tfrecord  a tf.train.Example a line: linex_index, input_ids [n], layers,
            values [n * layers * H], hidden_size

Layers are counted from the embeddings, which are layer 0: 1 is the first
transformer layer, and -1 the last. Differs from the original: there 0 is the
first transformer layer; the numbers below zero are the same. Its flags of TPUs
are accepted and ignored: this runs on the host or its GPU.
"""

import dataclasses
import os
import time

from etils import epy

from keras_bert_impl import choices, files, options
from keras_bert_impl.command_line import program
from keras_bert_impl.model_folders import model_files

with epy.lazy_imports():
  from keras_bert_impl.layers.basics import kernels
  from keras_bert_impl.runs.feature_extraction import extractor as extractor_lib
  from keras_bert_impl.runs.feature_extraction import line_files
  from keras_bert_impl.training import run_results

FORMATS = ("jsonl", "npz", "tfrecord")
_ENDINGS = {
  ".jsonl": "jsonl",
  ".json": "jsonl",
  ".npz": "npz",
  ".tfrecord": "tfrecord",
  ".tf_record": "tfrecord",
}
_IGNORED = "Accepted and ignored: a flag of google-research/bert for TPUs."


@dataclasses.dataclass(frozen=True)
class ExtractionConfig(model_files.ModelFilesConfig):
  """Texts, layers and output; names and defaults of google-research/bert.

  Raises:
    ValueError: a value is out of range, or the output format is unknown.
  """

  input_file: str = options.required(
    'Texts, or pairs "text A ||| text B", one per line.'
  )
  output_file: str = options.required("File to write.")
  init_checkpoint: str = options.required(
    "Checkpoint of the encoder: a prefix such as bert_model.ckpt, a"
    " folder of safetensors, a .keras file, or a name: klue/bert-base."
  )
  layers: str = options.common(
    "-1,-2,-3,-4",
    "Layers to write: 0 for the embeddings, 1 for the first layer (which is 0"
    " in google-research/bert), -1 for the last one.",
  )
  max_seq_length: int = options.common(
    128,
    "Maximum tokens per line; longer lines are cut.",
    interval=options.SEQ_LENGTHS,
  )
  batch_size: int = options.field(
    32, "Lines per batch.", interval=options.BATCH_SIZES
  )
  compute_dtype: str = options.field(
    "float32",
    "Dtype the encoder computes in; bfloat16 is faster where the processor has"
    " instructions for it.",
    choices.COMPUTE_DTYPES,
  )
  output_format: str | None = options.field(
    None, "Output format; default: by the extension of output_file.", FORMATS
  )
  use_tpu: bool = options.field(False, _IGNORED)
  master: str | None = options.field(None, _IGNORED)
  num_tpu_cores: int = options.field(8, _IGNORED, interval="[0, 1000000]")
  use_one_hot_embeddings: bool = options.field(False, _IGNORED)

  def __post_init__(self):
    if self.format is None:
      raise ValueError(
        f"output_file ({self.output_file}) must end in {', '.join(_ENDINGS)}, "
        "or --output_format must be given."
      )

  @property
  def format(self):
    """One of `FORMATS`, or None if it is unknown."""
    ending = os.path.splitext(self.output_file)[1].lower()
    return self.output_format or _ENDINGS.get(ending)


program.define_flags(ExtractionConfig)


def main():
  """Loads the encoder, reads, encodes, writes."""
  config = program.from_flags(ExtractionConfig)
  if config.compute_dtype == "bfloat16":
    kernels.assume_frozen_weights()
  extractor = extractor_lib.Extractor(config)
  started = time.monotonic()
  texts = files.read_lines(config.input_file, "input_file")
  lines = extractor.extract(map(str.strip, texts))
  with files.new_file(config.output_file) as path:
    line_files.WRITERS[config.format](path, lines, extractor)
    if not extractor.counts["lines"]:
      raise ValueError(
        f"input_file ({config.input_file}) is empty: give a file with one text"
        " per line."
      )
  counts, seconds = extractor.counts, time.monotonic() - started
  rows = [
    ("Lines", f"{counts['lines']:,}"),
    ("  cut", f"{counts['cut']:,}"),
    ("Tokens", f"{counts['tokens']:,}"),
    ("Layers", config.layers),
    ("Lines/s", f"{counts['lines'] / seconds:.1f}"),
  ]
  print(run_results.table(rows))
  print(config.output_file)


if __name__ == "__main__":
  program.run(main)
