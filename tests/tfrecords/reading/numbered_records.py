"""Files of numbered records, and how tests read them."""

import dataclasses

import numpy as np
import tensorflow as tf

from keras_bert_impl.tasks.masking import masking
from keras_bert_impl.tokenizers.formats import vocabularies
from tfrecords import examples, manifest
from tfrecords.reading import lanes, reader, record_parsing, scan

LENGTH, PREDICTIONS = 16, 4
VOCABULARY = vocabularies.Vocabulary(
  (*vocabularies.SPECIAL_TOKENS, *(f"w{k}" for k in range(95)))
)
MASKING = masking.Masking(VOCABULARY, LENGTH, PREDICTIONS)
LIMITS = record_parsing.Limits(LENGTH, PREDICTIONS, VOCABULARY.size)
_ORDER = {field.name for field in dataclasses.fields(lanes.Order)}


def instance(number):
  """Ids of a clean record from which its number can be read."""
  cls, sep = VOCABULARY.cls_id, VOCABULARY.sep_id
  digits = [5 + number // 90, 5 + number % 90]
  return [cls, *digits, sep, *[7] * (number % (LENGTH - 5)), 8, sep]


def serialized(values):
  """Returns the bytes of an example; floats by the type of the values."""
  return examples.serialize(
    values, [n for n, x in values.items() if isinstance((*x, 0)[0], float)]
  )


def clean_record(number, **changes):
  values = {
    "input_ids": instance(number),
    "next_sentence_labels": [number % 2],
    **changes,
  }
  return serialized({k: v for k, v in values.items() if v is not None})


def masked_record(number, **changes):
  """Returns a record as the original's script writes it."""
  ids = instance(number)
  padding = [0] * (LENGTH - len(ids))
  segments = [0] * 4 + [1] * (len(ids) - 4)
  values = {
    "input_ids": ids[:4] + [VOCABULARY.mask_id] + ids[5:] + padding,
    "input_mask": [1] * len(ids) + padding,
    "segment_ids": segments + padding,
    "masked_lm_positions": [4, 0, 0, 0],
    "masked_lm_ids": [ids[4], 0, 0, 0],
    "masked_lm_weights": [1.0, 0.0, 0.0, 0.0],
    "next_sentence_labels": [number % 2],
    **changes,
  }
  return serialized({k: v for k, v in values.items() if v is not None})


def write(folder, counts, make=clean_record, with_manifest=False):
  """Writes files of numbered records; returns their paths."""
  files = []
  number = 0
  for index, count in enumerate(counts):
    file = str(folder / f"{make.__name__}-{index:02d}")
    with tf.io.TFRecordWriter(file) as writer:
      for _ in range(count):
        writer.write(make(number))
        number += 1
    if with_manifest:
      manifest.write(file, {}, {"num_records": count})
    files.append(file)
  return files


def as_read(batch, unused_seed):
  """A `prepare` that changes nothing but the ragged ids."""
  ids = batch["input_ids"]
  if isinstance(ids, tf.RaggedTensor):
    batch["input_ids"] = ids.to_tensor(shape=[ids.shape[0], LENGTH])
  return batch


def drawn(batch, seed):
  """A `prepare` with draws for each row, which is traced in a moment."""
  batch = as_read(batch, seed)
  shape = batch["input_ids"].shape
  return batch | {"draws": tf.random.stateless_uniform(shape, seed)}


def open_records(files, **options):
  """Returns the `scan.Records` of files; `options` are limits or arguments."""
  skip_corrupt_records = options.pop("skip_corrupt_records", False)
  limits = dataclasses.replace(LIMITS, **options)
  manifests = {file: manifest.read(file) for file in files}
  return scan.open_records(manifests, limits, skip_corrupt_records)


def make_dataset(records, batch_size=4, prepare=drawn, **options):
  """Returns a dataset; `options` are fields of the order, or arguments."""
  order = {name: options.pop(name) for name in _ORDER & options.keys()}
  return reader.make_dataset(
    records, prepare, batch_size, lanes.Order(**{"seed": 1} | order), **options
  )


def batches(records, batch_size=4, prepare=drawn, take=-1, **options):
  """Returns the batches as dicts of arrays."""
  dataset = make_dataset(records, batch_size, prepare, **options)
  return list(dataset.take(take).as_numpy_iterator())


def numbers(read):
  """Returns the numbers of the records in batches of `as_read`."""
  ids = np.concatenate([batch["input_ids"] for batch in read])
  return ((ids[:, 1] - 5) * 90 + ids[:, 2] - 5).tolist()


def assert_equal(one, other):
  assert len(one) == len(other)
  for left, right in zip(one, other, strict=True):
    assert left.keys() == right.keys()
    for name in left:
      np.testing.assert_array_equal(left[name], right[name])
