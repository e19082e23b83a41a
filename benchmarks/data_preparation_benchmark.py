"""CPU seconds to make TFRecords, on one core, beside a port of the original.

  KERAS_BERT_DATA=... python benchmarks/data_preparation_benchmark.py \
    [--megabytes=5] [--dupe_factor=1]

Every measurement is a process of its own, start-up included. That does not grow
with the text, so a text of twice the size is measured too: the difference is
what each further MB costs. The port does what the loop
of google-research/bert's create_pretraining_data.py does, one token at a time,
with a tokenizer of the original's law in plain Python.
"""

import os
import pathlib
import sys

# Before TensorFlow starts its threads, here and in the processes measured.
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# This file is run as a script.
sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

import random  # noqa: E402
import resource  # noqa: E402
import subprocess  # noqa: E402
import tempfile  # noqa: E402

from absl import app, flags  # noqa: E402

flags.DEFINE_float("megabytes", 5.0, "Size of the text, 10**6 bytes.")
flags.DEFINE_integer("dupe_factor", 1, "How often it is made into instances.")
flags.DEFINE_enum(
  "measure",
  None,
  ["start-up", "port", "static", "static, whole word", "dynamic"],
  "Does only this, in this process; for the benchmark's own use.",
)
flags.DEFINE_string("text", None, "Sentences, for --measure.")
flags.DEFINE_string("output_file", None, "Records to write, for --measure.")

FLAGS = flags.FLAGS
MAX_SEQ_LENGTH = 128
MAX_PREDICTIONS = 20
SEED = 12345


def main(unused_argv):
  """Prints one line per way of making records."""
  if FLAGS.measure:
    do(FLAGS.measure, FLAGS.text, FLAGS.output_file)
    return
  sizes = FLAGS.megabytes, 2 * FLAGS.megabytes
  with tempfile.TemporaryDirectory() as folder:
    texts = [write_text(folder, megabytes) for megabytes in sizes]
    print(f"dupe_factor {FLAGS.dupe_factor}; CPU s and ratios to the port")
    print(
      f"{'':20}{sizes[0]:8g} MB       {sizes[1]:8g} MB         each MB more"
    )
    print(f"{'start-up':20}{cpu_seconds('start-up', texts[0]):8.2f}")
    port = None
    for name in ("port", "static", "static, whole word", "dynamic"):
      first, second = (cpu_seconds(name, text) for text in texts)
      measured = first, second, (second - first) / FLAGS.megabytes
      port = port or measured
      cells = (
        f"{seconds:8.2f}{base / seconds:8.1f} x"
        for seconds, base in zip(measured, port, strict=True)
      )
      print(f"{name:20}{'  '.join(cells)}", flush=True)


def write_text(folder, megabytes):
  """Writes sentences of the books, over and over up to a size."""
  from tfrecords.text import sources

  books = os.path.join(os.environ["KERAS_BERT_DATA"], "text", "gutenberg")
  path = os.path.join(folder, f"{megabytes:g}.txt")
  with open(path, "w", encoding="utf-8") as file:
    while True:
      for document in sources.iter_documents([books]):
        file.write("\n".join(document) + "\n\n")
        if file.tell() >= megabytes * 1e6:
          return path


def cpu_seconds(name, text):
  """Returns the CPU time of a process that does one measurement."""
  before = resource.getrusage(resource.RUSAGE_CHILDREN)
  subprocess.run(
    [
      sys.executable,
      __file__,
      f"--measure={name}",
      f"--text={text}",
      f"--output_file={text}.{name.replace(' ', '_')}.tfrecord",
      f"--dupe_factor={FLAGS.dupe_factor}",
    ],
    check=True,
    stderr=subprocess.DEVNULL,
  )
  after = resource.getrusage(resource.RUSAGE_CHILDREN)
  return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def do(name, text, output_file):
  """Does what is measured."""
  import tensorflow as tf

  from tfrecords.writing import writer, writing_config

  tf.config.threading.set_intra_op_parallelism_threads(1)
  tf.config.threading.set_inter_op_parallelism_threads(1)
  vocab_file = os.path.join(
    os.environ["KERAS_BERT_DATA"], "vocab", "google_uncased", "vocab.txt"
  )
  if name == "port":
    port_of_the_original(text, output_file, vocab_file, FLAGS.dupe_factor)
  elif name != "start-up":
    config = writing_config.PretrainingDataConfig(
      vocab_file,
      max_seq_length=MAX_SEQ_LENGTH,
      dupe_factor=FLAGS.dupe_factor,
      masking=name.split(",")[0],
      do_whole_word_mask="whole" in name,
    )
    writer.write_shards(config, [text], [output_file])


def port_of_the_original(text, output_file, vocab_file, dupe_factor):
  """Makes masked records the way the original does: all in lists."""
  import tensorflow as tf

  from tests.tokenizers import reference

  with open(vocab_file, encoding="utf-8") as file:
    tokens = file.read().split("\n")[:-1]
  tokenizer = reference.ReferenceTokenizer(tokens, do_lower_case=True)
  documents = [[]]
  with open(text, encoding="utf-8") as file:
    for line in file:
      if line.strip():
        documents[-1].append(tokenizer.tokenize(line.strip()))
      else:
        documents.append([])
  documents = [document for document in documents if document]
  rng = random.Random(SEED)
  rng.shuffle(documents)
  instances = []
  for _ in range(dupe_factor):
    for index in range(len(documents)):
      instances += _pairs_of_document(documents, index, tokens, rng)
  rng.shuffle(instances)
  with tf.io.TFRecordWriter(output_file) as writer:
    for instance in instances:
      writer.write(_example(tf, instance).SerializeToString())


def _pairs_of_document(documents, index, tokens, rng):
  """Returns the instances of one document."""
  document = documents[index]
  most = MAX_SEQ_LENGTH - 3
  target = most if rng.random() >= 0.1 else rng.randint(2, most)
  instances, gathered, i = [], [], 0
  while i < len(document):
    gathered.append(document[i])
    length = sum(map(len, gathered))
    if i == len(document) - 1 or length >= target:
      cut = rng.randint(1, len(gathered) - 1) if len(gathered) > 1 else 1
      a = [token for sentence in gathered[:cut] for token in sentence]
      is_random = len(gathered) == 1 or rng.random() < 0.5
      if is_random:
        b = _random_next(documents, index, target - len(a), rng)
        i -= len(gathered) - cut
      else:
        b = [token for sentence in gathered[cut:] for token in sentence]
      _truncate(a, b, most, rng)
      ids = [tokens.index("[CLS]"), *a, tokens.index("[SEP]"), *b]
      ids.append(tokens.index("[SEP]"))
      segments = [0] * (len(a) + 2) + [1] * (len(b) + 1)
      instances.append((*_mask(ids, tokens, rng), segments, is_random))
      gathered = []
    i += 1
  return instances


def _random_next(documents, index, target, rng):
  for _ in range(10):
    other = rng.randint(0, len(documents) - 1)
    if other != index:
      break
  found = []
  for sentence in documents[other][rng.randint(0, len(documents[other]) - 1) :]:
    found.extend(sentence)
    if len(found) >= target:
      break
  return found


def _truncate(a, b, most, rng):
  while len(a) + len(b) > most:
    longer = a if len(a) > len(b) else b
    if rng.random() < 0.5:
      del longer[0]
    else:
      longer.pop()


def _mask(ids, tokens, rng):
  """Returns (masked ids, positions, original ids)."""
  special = (tokens.index("[CLS]"), tokens.index("[SEP]"))
  candidates = [i for i, token in enumerate(ids) if token not in special]
  rng.shuffle(candidates)
  masked = list(ids)
  count = min(MAX_PREDICTIONS, max(1, round(len(ids) * 0.15)))
  chosen = sorted(candidates[:count])
  for position in chosen:
    if rng.random() < 0.8:
      masked[position] = tokens.index("[MASK]")
    elif rng.random() >= 0.5:
      masked[position] = rng.randint(0, len(tokens) - 1)
  return masked, chosen, [ids[position] for position in chosen]


def _example(tf, instance):
  ids, positions, labels, segments, is_random = instance
  padding = [0] * (MAX_SEQ_LENGTH - len(ids))
  missing = [0] * (MAX_PREDICTIONS - len(positions))
  columns = {
    "input_ids": ids + padding,
    "input_mask": [1] * len(ids) + padding,
    "segment_ids": segments + padding,
    "masked_lm_positions": positions + missing,
    "masked_lm_ids": labels + missing,
    "next_sentence_labels": [int(is_random)],
  }
  feature = {
    name: tf.train.Feature(int64_list=tf.train.Int64List(value=list(values)))
    for name, values in columns.items()
  }
  weights = [1.0] * len(positions) + [0.0] * len(missing)
  feature["masked_lm_weights"] = tf.train.Feature(
    float_list=tf.train.FloatList(value=weights)
  )
  return tf.train.Example(features=tf.train.Features(feature=feature))


if __name__ == "__main__":
  app.run(main)
