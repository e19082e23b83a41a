"""MB of text tokenized per CPU second, in the graph and by the yardstick.

  python -m benchmarks.tokenizer_benchmark \
    --input_file='books/*.txt' --vocab_file=vocab.txt

Prints both rates and their ratio, on one core. The yardstick of vocab.txt is a
straightforward port of the original's tokenizer, which handles one character at
a time; of vocab.json the `tokenizers` library, and of *.model the
`sentencepiece` library, neither of which prepares the text. The graph gets
batches of lines. CPU time is what counts, so that other work on the machine
does not. Ids are compared first.
"""

import os

# Before TensorFlow starts its threads.
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import glob  # noqa: E402
import time  # noqa: E402

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from absl import app, flags  # noqa: E402

from keras_bert_impl import tokenizers  # noqa: E402
from keras_bert_impl.tokenizers.formats import vocabulary_files  # noqa: E402
from tests.tokenizers import reference  # noqa: E402

FLAGS = flags.FLAGS
flags.DEFINE_string("input_file", None, "Text files: patterns, by commas.")
flags.DEFINE_string("vocab_file", None, "The vocabulary.")
flags.DEFINE_bool("do_lower_case", None, "vocab.txt; default: as stored.")
flags.DEFINE_integer("batch_size", 1024, "Lines per batch.")
flags.DEFINE_integer("max_megabytes", 4, "How much of the text is used.")
flags.DEFINE_integer("repeats", 5, "Measurements; the median is printed.")
flags.mark_flags_as_required(["input_file", "vocab_file"])


def main(unused_argv):
  lines = _read_lines()
  megabytes = sum(map(len, lines)) / 1e6
  tokenizer, yardstick = _tokenizers()
  batches = [
    tf.constant(lines[start : start + FLAGS.batch_size])
    for start in range(0, len(lines), FLAGS.batch_size)
  ]
  spec = tf.TensorSpec([None], tf.string)
  tokenize = tf.function(tokenizer.tokenize, input_signature=[spec])

  def in_graph():
    return [ids for batch in batches for ids in tokenize(batch).to_list()]

  texts = [line.decode("utf-8", "ignore") for line in lines]
  expected = list(map(yardstick, texts))
  print(f"{megabytes:.1f} MB in {len(lines):,} lines, {FLAGS.vocab_file}")
  print(f"ids equal: {in_graph() == expected}")
  graph = megabytes / _seconds(lambda: [tokenize(batch) for batch in batches])
  other = megabytes / _seconds(lambda: list(map(yardstick, texts)))
  print(f"graph:     {graph:6.2f} MB/s")
  print(f"yardstick: {other:6.2f} MB/s")
  print(f"ratio:     {graph / other:6.1f}")


def _tokenizers():
  """Returns the tokenizer, and a function of str to a list of ids."""
  path = FLAGS.vocab_file
  kind = tokenizers.Vocabulary.load(path).kind
  if kind == vocabulary_files.WORDPIECE:
    tokenizer = tokenizers.load(path, do_lower_case=FLAGS.do_lower_case)
    original = reference.ReferenceTokenizer(
      tokenizer.vocabulary.tokens, **vars(tokenizer.options)
    )
    return tokenizer, original.tokenize
  if kind == vocabulary_files.BYTE_BPE:
    import tokenizers as library

    original = library.Tokenizer(
      library.models.BPE.from_file(path, vocabulary_files.merges_path(path))
    )
    original.pre_tokenizer = library.pre_tokenizers.ByteLevel(
      add_prefix_space=False
    )
    return (
      tokenizers.BytePairTokenizer(path),
      lambda text: original.encode(text).ids,
    )
  import sentencepiece

  original = sentencepiece.SentencePieceProcessor(model_file=path)
  return tokenizers.SentencePieceTokenizer(path), original.encode


def _read_lines():
  lines, left = [], FLAGS.max_megabytes * 1_000_000
  for pattern in FLAGS.input_file.split(","):
    for path in sorted(glob.glob(pattern)):
      with open(path, "rb") as file:
        content = file.read(left)
      left -= len(content)
      lines += [line for line in content.split(b"\n") if line.strip()]
  return lines


def _seconds(work):
  """Returns the median of the CPU seconds of `work()`, after a warm-up."""
  work()
  measured = []
  for _ in range(FLAGS.repeats):
    start = time.process_time()
    work()
    measured.append(time.process_time() - start)
  return np.median(measured)


if __name__ == "__main__":
  app.run(main)
