"""Examples per CPU second of the input pipeline, on one core.

  python benchmarks/reader_benchmark.py [--num_records=100000]

Measures the raw records, parsing, dynamic masking by each policy, and records
masked when they were written, at length 128 with 20 predictions; then what a
worker of one, two and four does for the batches of a training, whose rows come
in lanes, in examples of the whole batch. CPU time is what counts, so that other
work on the machine does not. The records are synthetic: Google-style pairs,
91 % full, every fifth piece a "##" piece.
"""

import os

# Before TensorFlow starts its threads.
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tempfile  # noqa: E402
import time  # noqa: E402

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from absl import app, flags  # noqa: E402

from keras_bert_impl import choices  # noqa: E402
from keras_bert_impl.tasks.masking import masking  # noqa: E402
from keras_bert_impl.tokenizers.formats import vocabularies  # noqa: E402
from tfrecords import examples  # noqa: E402
from tfrecords.reading import lanes, reader, record_parsing, scan  # noqa: E402

flags.DEFINE_integer("num_records", 100_000, "Records of the synthetic shards.")
flags.DEFINE_integer(
  "num_epochs", 5, "How often they are read; starting costs 0.2 s."
)
flags.DEFINE_integer("batch_size", 256, "Examples per batch.")
flags.DEFINE_integer("max_seq_length", 128, "Length of the sequences.")
flags.DEFINE_integer("repeats", 3, "Measurements; the median is printed.")

_SEED = 1
_NUM_FILES = 8
_NUM_PREDICTIONS = 20
_SPECIAL = vocabularies.SPECIAL_TOKENS


def main(unused_argv):
  """Prints one line per measurement."""
  tf.config.threading.set_intra_op_parallelism_threads(1)
  tf.config.threading.set_inter_op_parallelism_threads(1)
  length = flags.FLAGS.max_seq_length
  vocabulary = _vocabulary()
  masks = {
    policy: masking.Masking(
      vocabulary, length, _NUM_PREDICTIONS, masking_policy=policy
    )
    for policy in choices.MASKING_POLICIES
  }
  with tempfile.TemporaryDirectory() as folder:
    clean_files = _write_clean(folder, vocabulary)
    clean = _open(clean_files, vocabulary)
    static = _open(_write_static(folder, clean, masks["token"]), vocabulary)
    raw = tf.data.TFRecordDataset(clean_files).repeat(flags.FLAGS.num_epochs)
    raw = raw.batch(flags.FLAGS.batch_size)
    _report("clean, in order, not parsed", _on_one_thread(raw))
    for name, records, prepare in (
      ("clean, parsed", clean, _unchanged),
      *((f"clean, masked by {name}", clean, masks[name]) for name in masks),
      ("static, parsed", static, _unchanged),
    ):
      dataset = reader.make_dataset(
        records,
        prepare,
        flags.FLAGS.batch_size,
        lanes.Order(_SEED, num_epochs=flags.FLAGS.num_epochs),
      )
      _report(name, _on_one_thread(dataset))
    for num_workers in (1, 2, 4):
      dataset = reader.make_dataset(
        clean,
        masks["token"],
        flags.FLAGS.batch_size,
        lanes.Order(_SEED),
        num_parts=num_workers,
      )
      num_records = flags.FLAGS.num_records * flags.FLAGS.num_epochs
      dataset = dataset.take(num_records // flags.FLAGS.batch_size)
      _report(f"one worker of {num_workers}, by token", _on_one_thread(dataset))


def _vocabulary(size=30522):
  ordinary = (
    f"##{k}" if k % 5 == 0 else f"w{k}" for k in range(size - len(_SPECIAL))
  )
  return vocabularies.Vocabulary((*_SPECIAL, *ordinary))


def _write_clean(folder, vocabulary):
  rng = np.random.default_rng(_SEED)
  length = flags.FLAGS.max_seq_length
  files = [os.path.join(folder, f"clean-{k}") for k in range(_NUM_FILES)]
  for file in files:
    with tf.io.TFRecordWriter(file) as writer:
      for _ in range(flags.FLAGS.num_records // _NUM_FILES):
        # 9 of 10 are full, the rest of any length: 91 to 95 % on average.
        n = length if rng.random() < 0.9 else rng.integers(5, length + 1)
        ids = rng.integers(len(_SPECIAL), vocabulary.size, n)
        ids[0] = vocabulary.cls_id
        ids[[n // 2, n - 1]] = vocabulary.sep_id
        record = {"input_ids": ids, "next_sentence_labels": [0]}
        writer.write(examples.serialize(record))
  return files


def _write_static(folder, clean, mask):
  file = os.path.join(folder, "static")
  dataset = reader.make_dataset(
    clean, mask, flags.FLAGS.batch_size, lanes.Order(_SEED, num_epochs=1)
  )
  with tf.io.TFRecordWriter(file) as writer:
    for batch in dataset.unbatch().as_numpy_iterator():
      writer.write(examples.serialize(batch, ("masked_lm_weights",)))
  return [file]


def _open(files, vocabulary):
  limits = record_parsing.Limits(
    flags.FLAGS.max_seq_length, _NUM_PREDICTIONS, vocabulary.size
  )
  return scan.open_records(dict.fromkeys(files), limits)


def _unchanged(batch, unused_seed):
  return batch


def _on_one_thread(dataset):
  options = tf.data.Options()
  options.threading.private_threadpool_size = 1
  options.threading.max_intra_op_parallelism = 1
  return dataset.with_options(options)


def _report(name, dataset):
  rates = []
  for _ in range(flags.FLAGS.repeats):
    start = time.process_time()
    count = dataset.reduce(np.int64(0), lambda n, _: n + 1).numpy()
    seconds = time.process_time() - start
    rates.append(count * flags.FLAGS.batch_size / seconds)
  print(f"{name:30s}{np.median(rates):12,.0f} examples/s", flush=True)


if __name__ == "__main__":
  app.run(main)
