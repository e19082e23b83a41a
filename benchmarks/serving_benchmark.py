"""Raw text to answer through a SavedModel, and the encoder alone.

  python benchmarks/serving_benchmark.py --text_columns=1 \
    --input_file=ratings_test.txt --vocab_file=koelectra/vocab.txt \
    --nodo_lower_case
  python benchmarks/serving_benchmark.py --text_columns=1,2 \
    --input_file=QNLI/dev.tsv --vocab_file=uncased/vocab.txt --do_lower_case

Exports a classifier with random weights and loads it into a session, as TF
Serving does. Requests with one text (or pair) and with `batch_size` of them are
answered from raw text by

  by length: the export, which takes texts of like length together and pads them
    to the longest of these;
  fixed: the same model, all texts at once, padded to max_seq_length;
  tokenizer: only the part of the graph that makes ids of the text.

Prints the median and the 99th percentile of the time of a request, texts per
second, the ratio of the medians of fixed and by length, and the share of the
tokenizer. Then come the times of the encoder for the same ids, through the
signature `token_ids` with weights stored in float32 and in bfloat16, and as a
bare Keras model in a `tf.function`; and the classifier's answers in float32 and
in bfloat16, which TF_ONEDNN_ASSUME_FROZEN_WEIGHTS=1 in the environment makes
faster. What is compared takes turns, request by
request, so that other work on the machine slows all of it down. Only times of
one run can be compared.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tempfile  # noqa: E402
import time  # noqa: E402

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from absl import app, flags  # noqa: E402

from keras_bert_impl import configs, features, models, tokenizers  # noqa: E402
from keras_bert_impl.kinds.embeddings.servables import text_vectors
from keras_bert_impl.kinds.texts import text_servables
from keras_bert_impl.serving import export, servables

flags.DEFINE_string(
  "input_file", None, "Tab-separated; a line of names first.", required=True
)
flags.DEFINE_string("vocab_file", None, "The vocabulary.", required=True)
flags.DEFINE_bool("do_lower_case", None, "vocab.txt; default: as stored.")
flags.DEFINE_list("text_columns", ["0"], "Where the text or pair is, from 0.")
flags.DEFINE_integer("max_seq_length", 128, "Length of fixed padding.")
flags.DEFINE_integer("batch_size", 32, "Texts of the larger requests.")
flags.DEFINE_integer("num_requests", 100, "Requests of each size.")
flags.DEFINE_list("tables", ["answers", "forward", "dtypes"], "Which to print.")
flags.DEFINE_integer("num_hidden_layers", 6, "Size of the encoder.")
flags.DEFINE_integer("hidden_size", 384, "Size of the encoder.")
flags.DEFINE_integer("num_attention_heads", 12, "Size of the encoder.")

FLAGS = flags.FLAGS
_LABELS = ("0", "1")


class _FixedLength(text_servables.ClassificationServable):
  """The classifier with all texts at once, padded to max_seq_length."""

  def _logits(self, text, text_pair):
    inputs = self.encode(text, text_pair)
    missing = self.max_seq_length - tf.shape(inputs[features.INPUT_IDS])[1]
    padded = {
      name: tf.pad(ids, [[0, 0], [0, missing]]) for name, ids in inputs.items()
    }
    return self.load_model()(padded)["logits"]


def main(unused_argv):
  """Prints the tables."""
  keras.utils.set_random_seed(1)
  tokenizer = tokenizers.load(
    FLAGS.vocab_file, do_lower_case=FLAGS.do_lower_case
  )
  config = configs.EncoderConfig(
    vocab_size=tokenizer.vocabulary.size,
    hidden_size=FLAGS.hidden_size,
    num_hidden_layers=FLAGS.num_hidden_layers,
    num_attention_heads=FLAGS.num_attention_heads,
    intermediate_size=4 * FLAGS.hidden_size,
    max_position_embeddings=512,
  )
  with tempfile.TemporaryDirectory() as folder:
    for name in FLAGS.tables:
      _TABLES[name](config, tokenizer, folder)


def _compare_answers(config, tokenizer, folder):
  columns = _read_columns()
  model = models.SequenceClassifier(config, len(_LABELS))
  arguments = (model, tokenizer, FLAGS.max_seq_length, _LABELS)
  is_pair = len(columns) > 1
  by_length = text_servables.ClassificationServable(*arguments, is_pair)
  fixed = _FixedLength(*arguments, is_pair)
  names = list(by_length.inputs)
  tokenizer_dir = os.path.join(folder, "tokenizer")
  tf.saved_model.save(
    by_length,
    tokenizer_dir,
    {servables.SERVING_DEFAULT: by_length.on_text(by_length.encode).function},
  )
  ways = {
    "by length": _load(export.export(by_length, folder + "/by_length"), names),
    "fixed": _load(export.export(fixed, folder + "/fixed"), names),
    "tokenizer": _load(tokenizer_dir, names),
  }
  medians = _print_answers(ways, columns)
  by_length_seconds = medians["by length"]
  print(
    f"fixed / by length {medians['fixed'] / by_length_seconds:.2f}, "
    f"tokenizer / by length {medians['tokenizer'] / by_length_seconds:.1%}"
  )


def _print_answers(ways, columns):
  """Prints times of requests; returns the medians of the larger ones."""
  print(f"{'texts':>5} {'':9} {'p50 ms':>8} {'p99 ms':>8} {'texts/s':>8}")
  for size in (1, FLAGS.batch_size):
    starts = range(0, size * FLAGS.num_requests, size)
    requests = [
      [np.take(c, range(s, s + size), mode="wrap") for c in columns]
      for s in starts
    ]
    seconds = _time_in_turns(ways, requests)
    for name, times in seconds.items():
      p50, p99 = np.percentile(times, [50, 99]) * 1e3
      rate = size / np.mean(times)
      print(f"{size:5} {name:9} {p50:8.1f} {p99:8.1f} {rate:8.1f}", flush=True)
  return {name: np.median(times) for name, times in seconds.items()}


def _compare_dtypes(config, tokenizer, folder):
  columns = _read_columns()
  model = models.SequenceClassifier(config, len(_LABELS))
  servable = text_servables.ClassificationServable(
    model, tokenizer, FLAGS.max_seq_length, _LABELS, len(columns) > 1
  )
  ways = {}
  for dtype in ("float32", "bfloat16"):
    version_dir = export.export(
      servable, f"{folder}/computed_in_{dtype}", compute_dtype=dtype
    )
    ways[dtype] = _load(version_dir, list(servable.inputs))
  medians = _print_answers(ways, columns)
  print(f"float32 / bfloat16 {medians['float32'] / medians['bfloat16']:.2f}")


def _compare_forward(config, tokenizer, folder):
  model = models.TransformerEncoder(config)
  servable = text_vectors.EncoderServable(
    model, tokenizer, FLAGS.max_seq_length
  )
  names = ("input_ids", "input_mask", "segment_ids")
  dtypes = ("float32", "bfloat16")
  version_dirs = {
    dtype: export.export(servable, f"{folder}/{dtype}", weights_dtype=dtype)
    for dtype in dtypes
  }
  forward = tf.function(
    lambda *inputs: model(dict(zip(names, inputs)), training=False),
    input_signature=[tf.TensorSpec([None, None], tf.int32)] * len(names),
  )
  ways = {
    dtype: _load(version_dir, names, servables.TOKEN_IDS)
    for dtype, version_dir in version_dirs.items()
  }
  ways["bare"] = lambda *inputs: {
    name: value.numpy() for name, value in forward(*inputs).items()
  }
  generator = np.random.default_rng(1)
  print(
    f"{'ids':>8} {'  '.join(f'{name} ms' for name in ways)}  float32 / bare"
  )
  for shape in ((1, 16), (1, 128), (FLAGS.batch_size, 32), (8, 128)):
    ids = generator.integers(1, config.vocab_size, shape, np.int32)
    request = [ids, np.ones_like(ids), np.zeros_like(ids)]
    seconds = _time_in_turns(ways, [request] * FLAGS.num_requests)
    medians = {name: np.median(times) * 1e3 for name, times in seconds.items()}
    columns = "  ".join(f"{medians[n]:{len(n) + 3}.1f}" for n in ways)
    ratio = medians["float32"] / medians["bare"]
    print(f"{'x'.join(map(str, shape)):>8} {columns}  {ratio:.3f}")


_TABLES = {
  "answers": _compare_answers,
  "forward": _compare_forward,
  "dtypes": _compare_dtypes,
}


def _read_columns():
  """Returns a string array [texts] for each of the columns."""
  with open(FLAGS.input_file, encoding="utf-8") as file:
    rows = [line.rstrip("\n").split("\t") for line in file][1:]
  return [
    np.array([row[int(column)] for row in rows], object)
    for column in FLAGS.text_columns
  ]


def _load(version_dir, names, signature=servables.SERVING_DEFAULT):
  """Returns a function of the inputs `names`, a SavedModel in a session."""
  session = tf.compat.v1.Session(graph=tf.Graph())
  with session.graph.as_default():
    loaded = tf.compat.v1.saved_model.load(session, ["serve"], version_dir)
  definition = loaded.signature_def[signature]
  return session.make_callable(
    {name: info.name for name, info in definition.outputs.items()},
    [definition.inputs[name].name for name in names],
  )


def _time_in_turns(ways, requests):
  """Returns {name: seconds of each request}; the first three are not timed."""
  seconds = {name: [] for name in ways}
  for number, request in enumerate(requests[:3] + requests):
    # Who goes first changes, because the caches are warm for the next one.
    for turn in range(len(ways)):
      name = list(ways)[(number + turn) % len(ways)]
      start = time.perf_counter()
      ways[name](*request)
      if number >= 3:
        seconds[name].append(time.perf_counter() - start)
  return seconds


if __name__ == "__main__":
  app.run(main)
