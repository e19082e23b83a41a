"""Pre-training on packed rows and by length against padded rows of one text.

  python benchmarks/packing_benchmark.py \
    --input_file=sections.txt --vocab_file=vocab.txt

Writes the records of a text twice, with and without --pack_sequences, and
trains a small encoder on both in turns, and on the latter with
--bucket_by_length too (masked tokens, dropout, AdamW). Prints the share of
padding, texts of a row, and texts per CPU second of a step with its reading;
CPU time is what counts, so that other work on the machine does not. The first
steps, which compile, are not counted: by length those of a pool of batches.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

import tempfile  # noqa: E402
import time  # noqa: E402

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from absl import app, flags  # noqa: E402

from keras_bert_impl import configs, features  # noqa: E402
from keras_bert_impl.optimizers import adamw  # noqa: E402
from keras_bert_impl.tasks.basics import pretraining
from keras_bert_impl.tasks.masking import masking  # noqa: E402
from keras_bert_impl.tasks.pretraining import masked_lm
from keras_bert_impl.tokenizers.formats import vocabularies
from keras_bert_impl.training import (
  distribution,
  run_results,
  training_config,
  training_loop,
)
from tfrecords import manifest  # noqa: E402
from tfrecords.reading import lanes, reader, record_parsing, scan  # noqa: E402
from tfrecords.writing import (
  writer,  # noqa: E402
  writing_config,
)

flags.DEFINE_string("input_file", None, "Text of documents.", required=True)
flags.DEFINE_string("vocab_file", None, "Vocabulary for it.", required=True)
flags.DEFINE_integer("max_seq_length", 512, "Length of the rows.")
flags.DEFINE_integer("batch_size", 8, "Rows of a step.")
flags.DEFINE_integer("num_hidden_layers", 2, "Size of the encoder.")
flags.DEFINE_integer("hidden_size", 128, "Size of the encoder.")
flags.DEFINE_integer("num_steps", 10, "Steps of each kind in a round.")
flags.DEFINE_integer("num_rounds", 5, "Rounds; the medians are printed.")

FLAGS = flags.FLAGS
_SEED = 1


class Contestant:
  """A training on the records of the text."""

  def __init__(self, folder, is_packed=False, by_length=False):
    self.summary, dataset = _batches(folder, is_packed, by_length)
    strategy = tf.distribute.get_strategy()
    vocab_size = vocabularies.Vocabulary.load(FLAGS.vocab_file).size
    task = masked_lm.MaskedLanguageModelTask(
      _encoder_config(vocab_size),
      pretraining.PretrainingData(is_packed=is_packed),
    )
    self._loop = training_loop.TrainingLoop(
      task,
      task.build_model(),
      adamw.AdamW(1e-4),
      strategy,
      training_config.TrainingConfig(train_batch_size=FLAGS.batch_size),
    )
    self._iterator = iter(distribution.distribute(strategy, dataset))
    self._loop.train(self._iterator, 50 if by_length else 1)
    self.seconds = []  # of a step, one number per round
    self.padding_shares = []

  @property
  def texts_of_a_row(self):
    """Mean number of texts in a row, float."""
    return self.summary.num_instances / self.summary.num_records

  @property
  def texts_per_second(self):
    """Texts that a CPU second trains on, float."""
    rows_per_second = FLAGS.batch_size / np.median(self.seconds)
    return self.texts_of_a_row * rows_per_second

  def run(self):
    """Makes the steps of a round."""
    start = time.process_time()
    metrics = self._loop.train(self._iterator, FLAGS.num_steps)
    self.padding_shares.append(metrics["padding_share"])
    self.seconds.append((time.process_time() - start) / FLAGS.num_steps)


def main(unused_argv):
  """Prints one row of the table for each way."""
  with tempfile.TemporaryDirectory() as folder:
    ways = {
      "one text": Contestant(folder),
      "by length": Contestant(folder, by_length=True),
      "packed": Contestant(folder, is_packed=True),
    }
    for _ in range(FLAGS.num_rounds):
      for way in ways.values():
        way.run()
  alone = ways["one text"].texts_per_second
  rows = [
    (
      name,
      f"{np.mean(way.padding_shares):.1%}",
      f"{way.texts_of_a_row:.2f}",
      f"{np.median(way.seconds):.2f}",
      f"{way.texts_per_second:.1f}",
      f"{way.texts_per_second / alone:.2f}",
    )
    for name, way in ways.items()
  ]
  header = ("rows", "padding", "texts", "CPU s/step", "texts/CPU s", "ratio")
  print(run_results.table(rows, header))


def _encoder_config(vocab_size):
  return configs.EncoderConfig(
    vocab_size=vocab_size,
    hidden_size=FLAGS.hidden_size,
    num_hidden_layers=FLAGS.num_hidden_layers,
    num_attention_heads=FLAGS.hidden_size // 64,
    intermediate_size=4 * FLAGS.hidden_size,
    max_position_embeddings=FLAGS.max_seq_length,
  )


def _batches(folder, is_packed, by_length):
  """Writes the records; returns their `Summary` and endless batches."""
  length = FLAGS.max_seq_length
  config = writing_config.PretrainingDataConfig(
    FLAGS.vocab_file,
    objective="roberta",
    packing="doc_sentences",
    max_seq_length=length,
    max_predictions_per_seq=round(0.15 * length),
    dupe_factor=1,
    pack_sequences=is_packed,
  )
  path = os.path.join(folder, f"packed-{is_packed}-{by_length}")
  summary = writer.write_shards(config, [FLAGS.input_file], [path])
  vocabulary = vocabularies.Vocabulary.load(FLAGS.vocab_file)
  prepare = masking.Masking(vocabulary, length, **config.masking_values)
  limits = record_parsing.Limits(
    length, config.max_predictions_per_seq, vocabulary.size
  )
  records = scan.open_records({path: manifest.read(path)}, limits)
  assert (features.SEQUENCE_IDS in records.layout.features) == is_packed
  return summary, reader.make_dataset(
    records, prepare, FLAGS.batch_size, lanes.Order(_SEED, by_length=by_length)
  )


if __name__ == "__main__":
  app.run(main)
