"""Reads TFRecord files as batches, the same ones every time.

  manifests = {file: manifest.read(file) for file in scan.list_files("train-*")}
  records = scan.open_records(
    manifests, record_parsing.Limits(128, 20, vocab_size)
  )
  dataset = reader.make_dataset(
    records, task.prepare, batch_size=32, order=lanes.Order(seed=1)
  )
  with scan.errors_explained(records):
    for batch in dataset: ...

Batch k is a pure function of (files, batch size, order, k), so that a run
continues at any batch (`start_batch`), without state. Batches are full: the
last one of an evaluation is filled up with padding rows, whose `input_mask` is
0 everywhere and whose `masked_lm_weights` are 0. `input_mask[:, 0]` therefore
is the weight of a row in all counts of rows, such as the next sentence loss.
"""

import tensorflow as tf

from keras_bert_impl import options
from tfrecords.reading import batch_plan, by_length, record_parsing, scan
from tfrecords.reading import lanes as lanes_lib


# AutoGraph has nothing to convert here, and would take seconds to find out.
@tf.autograph.experimental.do_not_convert
def make_dataset(
  records,
  prepare,
  batch_size,
  order,
  start_batch=0,
  drop_remainder=True,
  part=0,
  num_parts=1,
):
  """Returns the batches of some records, from `start_batch` on.

  Batches continue across the ends of epochs. Without a last epoch, a large
  batch of several files is made of lanes (see `batch_plan`): a worker that
  needs a part of each batch reads and prepares only the lanes of that part, and
  gets the same rows as a worker that reads all lanes.

  Args:
    records: scan.Records.
    prepare: callable (batch, seed) -> batch, traced without AutoGraph; `batch`
      is what record_parsing.parse_batch returns for the rows of one lane,
      `seed` int32 [2], different for every lane of every batch: all that its
      randomness may depend on.
    batch_size: int, B.
    order: lanes.Order.
    start_batch: int, batches that were read before; passing over them is
      cheap: whole epochs cost nothing, the rest is not parsed.
    drop_remainder: bool; False fills up the last batch with padding rows.
    part: int, which of `num_parts` equal parts of every batch is returned.
    num_parts: int, a divisor of B.

  Returns:
    tf.data.Dataset of what `prepare` returns, B / num_parts rows each; by
    length, without the padding that all rows of the batch have.

  Raises:
    ValueError: an argument is out of range, or there is no full batch.
  """
  _check(order, batch_size, start_batch, part, num_parts)
  is_endless = order.num_epochs is None
  if drop_remainder and not is_endless:
    _check_full_batch(records, batch_size, order.num_epochs)
  num_lanes = 1
  # The length of a batch depends on all of its rows.
  if is_endless and not order.by_length:
    num_lanes = batch_plan.choose_num_lanes(records.segments, batch_size)
  plan = batch_plan.plan_part(num_lanes, batch_size, part, num_parts)
  lanes = lanes_lib.Lanes(records.segments, num_lanes, order)
  if order.by_length:
    dataset = by_length.read(records, lanes, batch_size, start_batch)
    prepare = _without_padding(prepare)
  else:
    dataset = _read(lanes, plan, start_batch, drop_remainder)
  dataset = _prepare(
    dataset, plan, records.layout, prepare, order.seed, start_batch
  )
  dataset = _cut(dataset, plan)
  if is_endless:
    # Or several workers would ask each other at each step who has rows left.
    dataset = dataset.apply(
      tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
    )
  return dataset.prefetch(tf.data.AUTOTUNE)


def sample_ids(records, number):
  """Returns the tokens of some records, always the same, int64 [N, (n)].

  Args:
    records: scan.Records.
    number: int, the largest N.

  Returns:
    tf.RaggedTensor; masked records have their masks.
  """
  order = lanes_lib.Order(seed=0, num_epochs=1)
  lanes = lanes_lib.Lanes(records.segments, 1, order)
  rows = lanes.read(tf.constant(0, tf.int64), passed=0).rebatch(number)
  return record_parsing.token_ids(next(iter(rows)), records.layout)


def _read(lanes, plan, start_batch, drop_remainder):
  """Returns the serialized rows of each batch, lane after lane of a Plan."""

  def read_lane(lane):
    rows = lanes.read(lane, passed=start_batch * plan.rows_of_lane)
    return rows.rebatch(plan.rows_of_lane, drop_remainder)

  dataset = tf.data.Dataset.range(
    plan.first_lane, plan.first_lane + plan.num_read
  )
  return dataset.interleave(
    read_lane, cycle_length=plan.num_read, block_length=1
  )


def _prepare(dataset, plan, layout, prepare, seed, start_batch):
  """Parses and prepares what `_read` returns, each with a seed of its own."""

  def make_rows(index, serialized):
    batch, read_before = index // plan.num_read, index % plan.num_read
    lane = plan.first_lane + read_before
    serial = (start_batch + batch) * plan.num_lanes + lane
    rows = record_parsing.parse_batch(serialized, plan.rows_of_lane, layout)
    return prepare(rows, tf.stack([seed, tf.cast(serial, tf.int32)]))

  return dataset.enumerate().map(
    make_rows, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True
  )


def _cut(dataset, plan):
  """Joins the rows of a Plan's lanes and cuts out its part."""
  num_rows = plan.num_read * plan.rows_of_lane
  if plan.num_read > 1:
    dataset = dataset.rebatch(num_rows, drop_remainder=True)
  if plan.rows_of_part == num_rows:
    return dataset
  rows = slice(plan.skipped_rows, plan.skipped_rows + plan.rows_of_part)
  return dataset.map(
    lambda batch: {name: values[rows] for name, values in batch.items()}
  )


def _without_padding(prepare):
  """Returns `prepare` followed by `by_length.cut_padding`."""
  return lambda batch, seed: by_length.cut_padding(prepare(batch, seed))


def _check(order, batch_size, start_batch, part, num_parts):
  """Raises ValueError where an argument of `make_dataset` is out of range."""
  options.check_numbers(options.SEEDS, seed=order.seed, start_batch=start_batch)
  options.check_numbers(
    options.POSITIVE,
    window_size=order.window_size,
    batch_size=batch_size,
    num_parts=num_parts,
  )
  if order.by_length and order.num_epochs is not None:
    raise ValueError(
      f"num_epochs ({order.num_epochs}) must be None with by_length: a pool of"
      " batches needs all of its records."
    )
  if batch_size % num_parts or not 0 <= part < num_parts:
    raise ValueError(
      f"batch_size ({batch_size}) must be a multiple of num_parts "
      f"({num_parts}), and part ({part}) below it."
    )


def _check_full_batch(records, batch_size, num_epochs):
  total = num_epochs * records.num_records
  if total < batch_size:
    raise ValueError(
      f"{total} records ({num_epochs} epochs) of {scan.listed(records.files)}"
      f" do not fill a batch of batch_size ({batch_size})."
    )
