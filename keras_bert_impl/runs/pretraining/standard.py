"""Standard scores: one measure of held-out text for all objectives.

The losses of two objectives are of other rows, masks and vocabularies. Here all
models read the same text and predict the same of its tokens, in rows of one
segment; bits per byte compare vocabularies too.
"""

import collections
import itertools
import math
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert_impl import features, tokenizers
from keras_bert_impl.layers.basics import kernels
from keras_bert_impl.metrics import intervals
from keras_bert_impl.training import distribution
from tfrecords.text import documents

MASKED_TOKEN = "masked_token"
MASKED_SHARE = 0.15
_SEED = 0
# Of a longer text, so many passages at equal distances are read.
_NUM_PASSAGES = 32
_PASSAGE_BYTES = 8192
_NAMES = ("accuracy", "bits_per_token", "bits_per_byte")


class Rows(NamedTuple):
  """Full rows of a text, [CLS] A [SEP].

  Attributes:
    ids: int32 [R, L].
    is_masked: bool [R, L], the drawn tokens.
    num_bytes: int [R, L], how much of the text each token covers.
    vocabulary: `Vocabulary` of the ids.
    origin: str, the files of the text.
  """

  ids: object
  is_masked: object
  num_bytes: object
  vocabulary: object
  origin: str = ""


def open_rows(data, vocabulary, model_type):
  """Returns the `Rows` of --eval_text_file; None without it.

  Args:
    data: `DataConfig`.
    vocabulary: `Vocabulary`, loaded from a file, or None.
    model_type: str, the family of the model.

  Raises:
    FileNotFoundError, ValueError: the text is missing or too short.
  """
  if not data.eval_text_file or vocabulary is None:
    logging.info(
      "No standard scores, which compare objectives and vocabularies: they need"
      " the held-out text (--eval_text_file) and a vocabulary."
    )
    return None
  texts = read_passages(data.eval_text_file.split(","))
  tokenizer = tokenizers.load(vocabulary.origin, model_type)
  rows = None
  if texts and data.max_seq_length > 2:  # [CLS] and [SEP].
    rows = make_rows(tokenizer, texts, data.max_seq_length)
  if rows is None or not rows.is_masked.any():
    raise ValueError(
      f"eval_text_file ({data.eval_text_file}) must fill a row of"
      f" max_seq_length ({data.max_seq_length}): give more text."
    )
  return rows._replace(origin=data.eval_text_file)


def read_passages(paths):
  """Returns passages of running text, list of str: all of it or a sample.

  Args:
    paths: list of str, text files or patterns, as `documents.open_chunks`.
  """
  chunks = documents.open_chunks(paths)
  size = sum(part.stop - part.start for part in itertools.chain(*chunks))
  period = max(size / _NUM_PASSAGES, _PASSAGE_BYTES)
  passages, place = collections.defaultdict(list), 0
  for document in itertools.chain(*map(documents.read_chunk, chunks)):
    for sentence in document:
      passage, inside = divmod(place, period)
      if inside < _PASSAGE_BYTES:
        passages[passage].append(sentence)
      place += len(sentence.encode("utf-8")) + 1
  return [" ".join(sentences) for sentences in passages.values()]


def make_rows(tokenizer, texts, max_seq_length):
  """Returns the `Rows` of texts, one after the other, without the last part.

  [SEP] stands in place of [CLS] where the vocabulary has none.

  Every character has a random number, and a token is masked if that of its
  first one is below 0.15: so tokens of two vocabularies that begin at one place
  are masked together, however long the rows are.

  Args:
    tokenizer: as `tokenizers.load` returns it.
    texts: list of str.
    max_seq_length: int, L.
  """
  vocabulary = tokenizer.vocabulary
  columns = [
    x.to_list() for x in tokenizer.tokenize_with_offsets(tf.constant(texts))
  ]
  random = np.random.default_rng(_SEED)
  parts = [_drawn(*row, random) for row in zip(texts, *columns, strict=True)]
  ids, is_masked, num_bytes = map(np.concatenate, zip(*parts, strict=True))
  # Nobody gains by unknown words: they cost bits, and cover no bytes.
  role_ids = vocabulary.role_ids
  num_bytes[ids == role_ids.get("unk", -1)] = 0
  width = max_seq_length - 2
  whole = len(ids) // width * width

  def cut(values, first=0, last=0):
    rows = values[:whole].reshape(-1, width)
    return np.pad(
      rows, [(0, 0), (1, 1)], constant_values=[(0, 0), (first, last)]
    )

  return Rows(
    cut(ids, role_ids.get("cls", vocabulary.sep_id), vocabulary.sep_id),
    cut(is_masked),
    cut(num_bytes),
    vocabulary,
  )


def _drawn(text, ids, starts, ends, random):
  """Returns ids int32, is_masked bool and num_bytes int, [n], of a text.

  Bytes of white space do not count, as only some vocabularies have it in their
  tokens. What several tokens share, parts of one character, the first has.
  """
  sizes = [0 if c.isspace() else len(c.encode("utf-8")) for c in text]
  before = np.cumsum([0, *sizes])
  starts, ends = np.array(starts, int), np.array(ends, int)
  is_drawn = np.append(random.random(len(text)) < MASKED_SHARE, False)
  seen = np.maximum.accumulate(np.append(0, ends))[:-1]
  num_bytes = before[ends] - before[np.clip(seen, starts, ends)]
  return np.array(ids, np.int32), is_drawn[starts], num_bytes


def evaluate(experiment, rows, batch_size):
  """Returns the standard scores of a model, {name: JSON value}.

  Args:
    experiment: `Experiment` of a `PretrainingTask`.
    rows: `Rows`.
    batch_size: int.

  Returns:
    `accuracy`, `bits_per_token` and `bits_per_byte` of the tokens, which begin
    with "next_token_" or "previous_token_" for a language model; their
    `intervals`, the numbers of tokens and of their bytes, `predicted_by` and
    `eval_text_file`. None if the model cannot predict these tokens.
  """
  task = experiment.task
  if task.predicts == MASKED_TOKEN:
    is_hidden, mask_id = rows.is_masked, rows.vocabulary.mask_id
  else:
    is_hidden, mask_id = np.ones_like(rows.is_masked), None
    is_hidden[:, [0, -1]] = False
  batch = task.hide(rows.ids, is_hidden, mask_id)
  if batch is None or distribution.num_workers(experiment.strategy) > 1:
    logging.info(
      "No standard scores: they need one worker, a model that predicts tokens"
      " of a text alone and, of XLNet, --mem_len=0."
    )
    return None
  # The last batch is filled up.
  index = np.arange(-(-len(rows.ids) // batch_size) * batch_size)
  batch = {k: tf.gather(x, index % len(rows.ids)) for k, x in batch.items()}
  batches = tf.data.Dataset.from_tensor_slices(batch)
  batches = batches.batch(batch_size, drop_remainder=True)
  sums = [*map(_sums, batches, experiment.predict(batches))]
  num_bytes = (rows.num_bytes * is_hidden).sum(axis=1)
  table = np.column_stack([np.concatenate(sums)[: len(num_bytes)], num_bytes])
  start = "" if task.predicts == MASKED_TOKEN else f"{task.predicts}_"
  numbers = {"num_tokens": is_hidden.sum(), "num_bytes": num_bytes.sum()}
  return {
    **_scores(table, start),
    **{name: int(number) for name, number in numbers.items()},
    **({"predicted_by": task.predicted_by} if task.predicted_by else {}),
    "eval_text_file": rows.origin,
  }


def _sums(batch, outputs):
  """Returns bits, right answers and predictions of rows, float [B, 3]."""
  labels, weights = (
    batch[features.MASKED_LM_IDS],
    batch[features.MASKED_LM_WEIGHTS],
  )
  # Those of a pair of encoders are of all places, the last one included.
  logits = outputs["token_logits"][:, : labels.shape[1]]
  bits = kernels.cross_entropy(logits, labels) / math.log(2)
  is_right = tf.cast(kernels.is_predicted(logits, labels), tf.float32)
  columns = [tf.where(weights > 0, x, 0) for x in (bits, is_right, weights)]
  return np.stack([tf.reduce_sum(x, axis=1) for x in columns], axis=1)


def _scores(table, start):
  """Returns scores and, of several rows, which are drawn again, intervals.

  Args:
    table: float [R, 4], bits, right answers, predictions and bytes of each row.
    start: str, of the names.
  """

  def of_sample(rows, weights):
    bits, right, number, num_bytes = (weights @ rows).T
    number, num_bytes = np.maximum(number, 1), np.maximum(num_bytes, 1)
    values = right / number, bits / number, bits / num_bytes
    return {start + k: x for k, x in zip(_NAMES, values, strict=True)}

  found = of_sample(table, np.ones((1, len(table))))
  known = intervals.bootstrap(of_sample, table) if len(table) > 1 else {}
  return {name: float(x[0]) for name, x in found.items()} | {
    "intervals": {name: x._asdict() for name, x in known.items()}
  }
