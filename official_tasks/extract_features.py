r"""Writes what an encoder says of each token of a text, layer by layer.

    python official_tasks/extract_features.py --input_file=texts.txt \
      --output_file=features.jsonl --layers=-1,-2,-3,-4 \
      --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt

One text, or a pair "text A ||| text B", a line. What is written, by the ending
of --output_file or by --output_format:

  jsonl     the original's: {"linex_index": line from 0, "features": [{"token",
            "layers": [{"index", "values"}]}]}
  npz       for NumPy: values [tokens of all lines, layers, H], row_splits
            [lines + 1], input_ids [tokens], layers; all in memory at the end
  tfrecord  a tf.train.Example a line: linex_index, input_ids [n], layers,
            values [n * layers * H], hidden_size

Layers are counted from the embeddings, which are layer 0: 1 is the first
transformer layer, and -1 the last. Differs from the original: there 0 is the
first transformer layer; the numbers below zero are the same.
"""

import contextlib
import dataclasses
import io
import itertools
import json
import os
import re
import time
from typing import NamedTuple

import numpy as np
from etils import epy

from keras_bert_impl import options
from official_tasks.command_line import common
from official_tasks.model_folders import files as model_files

with epy.lazy_imports():
  import keras
  import tensorflow as tf
  from keras import ops

  from keras_bert_impl import features, models, progress, tokenizers
  from keras_bert_impl.checkpoints import assignment, reading
  from keras_bert_impl.training import report

FORMATS = ("jsonl", "npz", "tfrecord")
_ENDINGS = {
  ".jsonl": "jsonl",
  ".json": "jsonl",
  ".npz": "npz",
  ".tfrecord": "tfrecord",
  ".tf_record": "tfrecord",
}
_PAIR = re.compile(r"^(.*) \|\|\| (.*)$")
_BATCHES_AT_ONCE = 8


@dataclasses.dataclass(frozen=True)
class ExtractionConfig(model_files.ModelFilesConfig):
  """What is extracted; names and defaults of google-research/bert.

  Raises:
    ValueError: a value is out of range, or the format is not known.
  """

  input_file: str = dataclasses.field(
    metadata={"help": 'Texts, or pairs "text A ||| text B", one a line.'}
  )
  output_file: str = dataclasses.field(metadata={"help": "File to write."})
  init_checkpoint: str = dataclasses.field(
    metadata={
      "help": "Checkpoint of the encoder: a prefix such as bert_model.ckpt, a"
      " folder of safetensors, or a .keras file."
    }
  )
  layers: str = options.common(
    "-1,-2,-3,-4",
    "Layers to write: 0 for the embeddings, 1 for the first layer, -1 for the"
    " last one.",
  )
  max_seq_length: int = options.common(
    128, "Most tokens per line; what is longer is cut."
  )
  batch_size: int = options.field(32, "Lines per call of the encoder.")
  output_format: str | None = options.field(
    None, "What to write; default: as the ending of output_file says.", FORMATS
  )

  def __post_init__(self):
    for name in ("batch_size", "max_seq_length"):
      if getattr(self, name) < 1:
        raise ValueError(f"{name} ({getattr(self, name)}) must be positive.")
    if self.format is None:
      raise ValueError(
        f"The ending of output_file ({self.output_file}) says nothing of its "
        f"format: name it {', '.join(_ENDINGS)}, or give --output_format."
      )

  @property
  def format(self):
    """One of `FORMATS`, or None where nothing says it."""
    ending = os.path.splitext(self.output_file)[1].lower()
    return self.output_format or _ENDINGS.get(ending)


class Line(NamedTuple):
  """A line of the input as it is written.

  Attributes:
    index: int, from 0.
    input_ids: int32 [n].
    values: float32 [n, layers, H].
  """

  index: int
  input_ids: np.ndarray
  values: np.ndarray


common.define_flags(ExtractionConfig)


def main():
  """Loads the encoder, reads, encodes, writes."""
  config = common.from_flags(ExtractionConfig)
  extractor = Extractor(config)
  started = time.monotonic()
  lines = extractor.extract(_read_lines(config.input_file))
  with _new_file(config.output_file) as path:
    _WRITERS[config.format](path, lines, extractor)
    if not extractor.counts["lines"]:
      raise ValueError(f"input_file ({config.input_file}) holds no lines.")
  counts, seconds = extractor.counts, time.monotonic() - started
  rows = [
    ("Lines", f"{counts['lines']:,}"),
    ("  cut", f"{counts['cut']:,}"),
    ("Tokens", f"{counts['tokens']:,}"),
    ("Layers", config.layers),
    ("Lines/s", f"{counts['lines'] / seconds:.1f}"),
  ]
  print(report.table(rows))
  print(config.output_file)


class Extractor:
  """An encoder of text.

  Args:
    config: `ExtractionConfig`.

  Attributes:
    tokenizer: of `tokenizers.load`.
    layers: list of int, as given.
    hidden_size: int, H.
    counts: {"lines", "cut", "tokens": int} of what was extracted.

  Raises:
    FileNotFoundError: a file is missing.
    ValueError: checkpoint, configuration, vocabulary and flags do not fit
      together.
  """

  def __init__(self, config):
    files = model_files.find(
      config, config.init_checkpoint, config.max_seq_length
    )
    encoder_config = files.encoder_config
    self.layers = _parse_layers(config.layers, encoder_config)
    self.hidden_size = encoder_config.hidden_size
    self.tokenizer = tokenizers.load(
      files.vocabulary_path, **vars(files.tokenizer_options)
    )
    self.counts = dict.fromkeys(("lines", "cut", "tokens"), 0)
    self._max_seq_length = config.max_seq_length
    self._batch_size = config.batch_size
    checkpoint = reading.open_checkpoint(config.init_checkpoint)
    self._encode = _load_encoder(checkpoint, encoder_config, self.layers)

  def extract(self, texts):
    """Yields the `Line` of each text, in order; the batches are by length."""
    texts = enumerate(progress.bar("Texts", iterable=texts, unit="line"))
    while block := list(
      itertools.islice(texts, _BATCHES_AT_ONCE * self._batch_size)
    ):
      rows = self._tokenize([text for _, text in block])
      order = sorted(range(len(rows)), key=lambda i: len(rows[i][0]))
      values = [None] * len(rows)
      for start in range(0, len(order), self._batch_size):
        batch = order[start : start + self._batch_size]
        outputs = self._encode_rows([rows[i] for i in batch])
        for i, output in zip(batch, outputs, strict=True):
          values[i] = output[: len(rows[i][0])]
      for (index, _), (ids, _), value in zip(block, rows, values, strict=True):
        self.counts["lines"] += 1
        self.counts["tokens"] += len(ids)
        yield Line(index, ids, value)

  def _tokenize(self, texts):
    """Returns [(input_ids, segment_ids)] of texts, int32 [n] both."""
    pairs = [match and match.groups() for match in map(_PAIR.match, texts)]
    rows = [None] * len(texts)
    for is_pair in (False, True):
      places = [i for i, pair in enumerate(pairs) if bool(pair) == is_pair]
      if not places:
        continue
      sides = zip(*(pairs[i] or (texts[i],) for i in places), strict=True)
      pieces = [self.tokenizer.tokenize(list(side)) for side in sides]
      inputs = self.tokenizer.assemble(
        *pieces, max_seq_length=self._max_seq_length
      )
      inputs = {name: x.numpy() for name, x in inputs.items()}
      wanted = sum(side.row_lengths() for side in pieces).numpy()
      lengths = inputs[features.INPUT_MASK].sum(axis=1)
      kept = lengths - self.tokenizer.num_special_tokens(len(pieces))
      self.counts["cut"] += int(np.sum(kept < wanted))
      for row, place in enumerate(places):
        rows[place] = (
          inputs[features.INPUT_IDS][row, : lengths[row]],
          inputs[features.SEGMENT_IDS][row, : lengths[row]],
        )
    return rows

  def _encode_rows(self, rows):
    """Returns float32 [B, L, layers, H] of rows of `_tokenize`."""
    length = max(len(ids) for ids, _ in rows)
    batch = np.zeros((3, len(rows), length), np.int32)
    for index, (ids, segments) in enumerate(rows):
      for part, values in enumerate((ids, np.ones_like(ids), segments)):
        batch[part, index, : len(ids)] = values
    return self._encode(*batch).numpy()


def _parse_layers(text, config):
  """Returns the layers of the flag, list of int."""
  number = config.num_hidden_layers
  try:
    layers = [int(index) for index in common.split_names(text)]
  except ValueError as error:
    raise ValueError(
      f"layers ({text}) must be numbers, as in -1,-2."
    ) from error
  for index in layers:
    if not -number - 1 <= index <= number:
      raise ValueError(
        f"There is no layer {index} (layers={text}): the encoder has 0, the "
        f"embeddings, to {number}, or from the last one -1 to {-number - 1}."
      )
  if not layers:
    raise ValueError("layers is empty: name at least one, such as -1.")
  return layers


def _load_encoder(checkpoint, config, layers):
  """Returns a function of ids, mask and segments to [B, L, layers, H]."""
  encoder = models.TransformerEncoder(
    dataclasses.replace(config, use_pooler=False)
  )
  assignment.assign(
    {weight.path: weight for weight in encoder.weights},
    checkpoint.tensors,
    checkpoint.path,
    remedy="Give the configuration that belongs to the weights.",
  )
  hidden = [encoder.hidden_states[index] for index in layers]
  model = keras.Model(encoder.input, ops.stack(hidden, axis=2))
  ids = tf.TensorSpec((None, None), tf.int32)

  @tf.function(input_signature=[ids, ids, ids])
  def encode(input_ids, input_mask, segment_ids):
    return model(
      {
        features.INPUT_IDS: input_ids,
        features.INPUT_MASK: input_mask,
        features.SEGMENT_IDS: segment_ids,
      }
    )

  return encode


def _read_lines(path):
  """Yields the lines of a UTF-8 file, without white space around them."""
  if not tf.io.gfile.exists(path):
    raise FileNotFoundError(f"input_file ({path}) does not exist.")
  with tf.io.gfile.GFile(path, "rb") as file:
    for number, line in enumerate(file, start=1):
      try:
        # A byte-order mark stands at the beginning of files only.
        yield line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
      except UnicodeDecodeError as error:
        raise ValueError(
          f"{path}:{number} is not UTF-8; convert the file."
        ) from error


@contextlib.contextmanager
def _new_file(path):
  """Context of a file that appears at `path` when it is complete."""
  tf.io.gfile.makedirs(os.path.dirname(path) or ".")
  temporary = f"{path}.tmp-{os.getpid()}"
  try:
    yield temporary
    tf.io.gfile.rename(temporary, path, overwrite=True)
  finally:
    if tf.io.gfile.exists(temporary):
      tf.io.gfile.remove(temporary)


def _write_jsonl(path, lines, extractor):
  tokens = extractor.tokenizer.vocabulary.tokens
  with tf.io.gfile.GFile(path, "w") as file:
    for line in lines:
      values = np.round(line.values.astype(np.float64), 6).tolist()
      content = {
        "linex_index": line.index,
        "features": [
          {
            "token": tokens[input_id],
            "layers": [
              {"index": index, "values": vector}
              for index, vector in zip(extractor.layers, vectors, strict=True)
            ],
          }
          for input_id, vectors in zip(line.input_ids, values, strict=True)
        ],
      }
      file.write(json.dumps(content, ensure_ascii=False) + "\n")


def _write_npz(path, lines, extractor):
  ids = [np.zeros(0, np.int32)]
  shape = (0, len(extractor.layers), extractor.hidden_size)
  values = [np.zeros(shape, np.float32)]
  for line in lines:
    ids.append(line.input_ids)
    values.append(line.values)
  content = io.BytesIO()
  np.savez(
    content,
    values=np.concatenate(values),
    row_splits=np.cumsum([len(row) for row in ids], dtype=np.int64),
    input_ids=np.concatenate(ids),
    layers=np.array(extractor.layers, np.int32),
  )
  with tf.io.gfile.GFile(path, "wb") as file:
    file.write(content.getvalue())


def _write_tfrecord(path, lines, extractor):
  with tf.io.TFRecordWriter(path) as file:
    for line in lines:
      example = tf.train.Example()
      feature = example.features.feature
      feature["linex_index"].int64_list.value.append(line.index)
      feature["input_ids"].int64_list.value.extend(line.input_ids)
      feature["layers"].int64_list.value.extend(extractor.layers)
      feature["hidden_size"].int64_list.value.append(extractor.hidden_size)
      feature["values"].float_list.value.extend(line.values.ravel())
      file.write(example.SerializeToString(deterministic=True))


_WRITERS = {
  "jsonl": _write_jsonl,
  "npz": _write_npz,
  "tfrecord": _write_tfrecord,
}


if __name__ == "__main__":
  common.run(main)
