"""Parses and checks records: batches in the graph, faults in Python.

Forms and features: keras_bert_impl/features.py.
"""

import dataclasses
import math

import tensorflow as tf
from google.protobuf import message

from keras_bert_impl import features
from tfrecords import examples


@dataclasses.dataclass(frozen=True)
class Limits:
  """Limits of a run that its records must keep.

  Attributes:
    max_seq_length: int, length of a masked record, maximum of a clean one.
    max_predictions_per_seq: int, predictions of a masked record.
    vocab_size: int, ids must be below it.
  """

  max_seq_length: int
  max_predictions_per_seq: int
  vocab_size: int


@dataclasses.dataclass(frozen=True)
class Layout:
  """Form and limits of every record of a run.

  Attributes:
    form: features.RecordForm.
    limits: Limits.
  """

  form: features.RecordForm
  limits: Limits

  @property
  def features(self):
    """{name: Feature}; the shape (None,) means a varying length."""
    limits = self.limits
    return features.record(
      self.form, limits.max_seq_length, limits.max_predictions_per_seq
    )

  @property
  def bounds(self):
    """{name: number}: values of the feature lie in [0, bound)."""
    limits = self.limits
    return {
      features.INPUT_IDS: limits.vocab_size,
      features.INPUT_MASK: 2,
      features.SEGMENT_IDS: 2,
      features.MASKED_LM_POSITIONS: limits.max_seq_length,
      features.MASKED_LM_IDS: limits.vocab_size,
      features.MASKED_LM_WEIGHTS: math.inf,
      features.NEXT_SENTENCE_LABELS: 2,
      features.SEQUENCE_IDS: limits.max_seq_length + 1,
      features.TARGET_IDS: limits.vocab_size,
    }


def form_of(serialized):
  """Returns the RecordForm of a record, or None where it is not one."""
  example = _parse(serialized)
  if example is None or features.INPUT_IDS not in example.features.feature:
    return None
  names = example.features.feature
  return features.RecordForm(
    is_masked=features.MASKED_LM_POSITIONS in names,
    use_pairs=features.NEXT_SENTENCE_LABELS in names,
    is_packed=features.SEQUENCE_IDS in names,
    has_target=features.TARGET_IDS in names,
  )


def parse_batch(serialized, batch_size, layout):
  """Parses and checks a batch of records, in the graph.

  Args:
    serialized: string [<= B].
    batch_size: int, B. Missing records are replaced by empty ones: no id in a
      clean record, zeros in a masked one.
    layout: Layout.

  Returns:
    dict of `input_ids` RaggedTensor int64 [B, (n)] for clean records, of the
    padded features [B, L] or [B, P] for masked ones; `next_sentence_labels`
    int64 [B, 1] with pairs; `sequence_ids` like `input_ids` of packed ones.

  Raises:
    InvalidArgumentError, when it runs: a record has a fault; `find_fault`
      tells which one.
  """
  num_real = tf.shape(serialized)[0]
  if serialized.shape[0] != batch_size:
    padding = tf.fill([batch_size - num_real], _padding_record(layout))
    serialized = tf.concat([serialized, padding], axis=0)
    serialized = tf.ensure_shape(serialized, [batch_size])
  batch = tf.io.parse_example(
    serialized,
    {
      name: tf.io.RaggedFeature(tf.int64)
      if feature.shape[0] is None
      else tf.io.FixedLenFeature(feature.shape, feature.dtype)
      for name, feature in layout.features.items()
    },
  )
  checks = [
    tf.debugging.Assert(_is_within(batch[name], bound), [name])
    for name, bound in layout.bounds.items()
    if name in batch
  ]
  if not layout.form.is_masked:
    batch |= _with_static_rows(batch, batch_size)
    ids, sound = batch[features.INPUT_IDS], True
    for text in (ids, batch.get(features.TARGET_IDS, ids)):
      lengths = text.row_lengths()
      sound &= tf.reduce_max(lengths) <= layout.limits.max_seq_length
      sound &= tf.reduce_all(lengths[:num_real] > 0)
    if layout.form.is_packed:
      texts = batch[features.SEQUENCE_IDS]
      sound &= tf.reduce_all(texts.row_splits == ids.row_splits)
    checks.append(tf.debugging.Assert(sound, [features.INPUT_IDS]))
  with tf.control_dependencies(checks):
    return tf.nest.map_structure(tf.identity, batch, expand_composites=True)


def token_ids(serialized, layout):
  """Returns the ids of each record's tokens, RaggedTensor int64 [N, (n)].

  A record with a fault has any.

  Args:
    serialized: string [N].
    layout: Layout.
  """
  name = features.INPUT_IDS
  if not layout.form.is_masked:
    specification = tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64)
    return tf.io.parse_example(serialized, {name: specification})[name]
  padded = tf.io.parse_example(
    serialized,
    {
      key: tf.io.FixedLenFeature(feature.shape, feature.dtype)
      for key, feature in layout.features.items()
      if key in (name, features.INPUT_MASK)
    },
  )
  is_real = tf.cast(padded[features.INPUT_MASK], tf.bool)
  return tf.ragged.boolean_mask(padded[name], is_real)


def _with_static_rows(batch, num_rows):
  """Returns the ragged features of a batch, with a known number of rows."""
  return {
    name: tf.RaggedTensor.from_row_splits(
      x.values, tf.ensure_shape(x.row_splits, [num_rows + 1]), validate=False
    )
    for name, x in batch.items()
    if isinstance(x, tf.RaggedTensor)
  }


def find_fault(serialized, layout):
  """Returns a clause that says what is wrong with a record, or None.

  Args:
    serialized: bytes.
    layout: Layout that the other records have.
  """
  example = _parse(serialized)
  if example is None:
    return "is not a tf.train.Example"
  own_form = form_of(serialized)
  if own_form and own_form.is_masked and not layout.form.is_masked:
    return "is masked, but the first record is not"
  if own_form and own_form.is_packed and not layout.form.is_packed:
    return "holds several texts, but the first record does not"
  if own_form and own_form.has_target and not layout.form.has_target:
    return "holds two texts, but the first record does not"
  bounds = layout.bounds
  for name, feature in layout.features.items():
    fault = _feature_fault(
      example.features.feature, name, feature, layout.limits, bounds.get(name)
    )
    if fault:
      return fault
  if layout.form.is_packed:
    return _packing_fault(example.features.feature)
  return None


def _padding_record(layout):
  """Returns the serialized record that fills a batch up."""
  zeros = {n: [0] * (f.shape[0] or 0) for n, f in layout.features.items()}
  floats = [n for n, f in layout.features.items() if f.dtype == "float32"]
  return examples.serialize(zeros, floats)


def _feature_fault(found, name, expected, limits, bound):
  kind = found[name].WhichOneof("kind") if name in found else None
  if kind is None:
    return f"has no feature {name}"
  if kind != _kind(expected.dtype):
    return f"has {name} of type {kind}, not {_kind(expected.dtype)}"
  values = getattr(found[name], kind).value
  length = expected.shape[0]
  if length is None and not 0 < len(values) <= limits.max_seq_length:
    return (
      f"has {len(values)} values in {name}, but max_seq_length "
      f"({limits.max_seq_length}) allows 1 to {limits.max_seq_length}"
    )
  if length is not None and len(values) != length:
    return (
      f"has {len(values)} values in {name}, not {length} (max_seq_length "
      f"{limits.max_seq_length}, max_predictions_per_seq "
      f"{limits.max_predictions_per_seq})"
    )
  outside = [v for v in values if bound is not None and not 0 <= v < bound]
  if outside and bound == math.inf:
    return f"has {outside[0]} in {name}, allowed are finite numbers from 0 on"
  if outside:
    return (
      f"has {outside[0]} in {name}, allowed are 0 to {bound - 1} (vocabulary "
      f"of {limits.vocab_size} tokens, max_seq_length {limits.max_seq_length})"
    )
  return None


def _packing_fault(found):
  num_ids, num_texts = (
    len(found[name].int64_list.value)
    for name in (features.INPUT_IDS, features.SEQUENCE_IDS)
  )
  if num_ids != num_texts:
    return (
      f"has {num_texts} values in {features.SEQUENCE_IDS}, not {num_ids} as in "
      f"{features.INPUT_IDS}"
    )
  return None


def _is_within(values, bound):
  if isinstance(values, tf.RaggedTensor):
    values = values.values
  if values.dtype.is_floating:  # Every comparison with NaN is false.
    return tf.reduce_all((values >= 0) & (values < bound))
  # Negative numbers are large as unsigned ones: one pass instead of two.
  return tf.reduce_max(tf.bitcast(values, tf.uint64)) < bound


def _kind(dtype):
  return {"int64": "int64_list", "float32": "float_list"}[dtype]


def _parse(serialized):
  try:
    return tf.train.Example.FromString(serialized)
  except message.DecodeError:
    return None
