"""Hidden states of texts, layer by layer."""

import itertools
import re
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from keras_bert_impl import features, models, progress, tokenizers
from keras_bert_impl.checkpoints import assignment, reading
from keras_bert_impl.command_line import program
from keras_bert_impl.model_folders import model_files

_PAIR = re.compile(r"^(.*) \|\|\| (.*)$")
_BATCHES_AT_ONCE = 8


class Line(NamedTuple):
  """The features of one line of the input.

  Attributes:
    index: int, from 0.
    input_ids: int32 [n].
    values: float32 [n, layers, H].
  """

  index: int
  input_ids: np.ndarray
  values: np.ndarray


class Extractor:
  """Extracts the hidden states of texts.

  Args:
    config: `ExtractionConfig`.

  Attributes:
    tokenizer: of `tokenizers.load`.
    layers: list of int, as given.
    hidden_size: int, H; of a pair of encoders, that of both.
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
    self.tokenizer = tokenizers.make(files.vocabulary, files.tokenizer_options)
    self.counts = dict.fromkeys(("lines", "cut", "tokens"), 0)
    self._max_seq_length = config.max_seq_length
    self._batch_size = config.batch_size
    checkpoint = reading.open_checkpoint(config.init_checkpoint)
    self._encode, self.hidden_size = _load_encoder(
      checkpoint, encoder_config, self.layers, config.compute_dtype
    )

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
  layers = program.split_numbers(text, "layers")
  for index in layers:
    if not -number - 1 <= index <= number:
      raise ValueError(
        f"layers ({text}) must be from 0, the embeddings, to {number}, or from"
        f" -1, the last layer, to {-number - 1}, not {index}."
      )
  return layers


def _load_encoder(checkpoint, config, layers, dtype):
  """Returns a function of ids, mask and segments to [B, L, layers, H]; H."""
  encoder = models.make_encoder(config, use_pooler=False, dtype=dtype)
  assignment.assign(
    {weight.path: weight for weight in encoder.weights},
    checkpoint.tensors,
    checkpoint.path,
    remedy="Give the configuration that belongs to the weights.",
  )
  hidden = [encoder.hidden_states[index] for index in layers]
  stacked = ops.cast(ops.stack(hidden, axis=2), "float32")
  model = keras.Model(encoder.input, stacked)
  ids = tf.TensorSpec((None, None), tf.int32)

  @tf.function(input_signature=[ids, ids, ids], autograph=False)
  def encode(input_ids, input_mask, segment_ids):
    return model(
      {
        features.INPUT_IDS: input_ids,
        features.INPUT_MASK: input_mask,
        features.SEGMENT_IDS: segment_ids,
      }
    )

  return encode, stacked.shape[-1]
