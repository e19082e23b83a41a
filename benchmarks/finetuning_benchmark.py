"""Training with batches of about the same length against fixed padding.

  python benchmarks/finetuning_benchmark.py \
    --input_file=ratings_train.txt --vocab_file=koelectra/vocab.txt \
    --nodo_lower_case

Trains a small encoder with random weights on a file of NSMC (Korean film
reviews; tab-separated id, document, label), once with every batch padded to
max_seq_length and once with batches by length; the last fifth of the examples
is held out. Prints examples per second of both, their ratio, the shares of
padding and the accuracies. Steps that compile are not counted.
"""

import os
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

import collections  # noqa: E402

from absl import app, flags  # noqa: E402

from keras_bert_impl import configs  # noqa: E402
from keras_bert_impl.kinds.texts import (
  classification_data,
  sequence_classification,
  text_rows,
  text_scores,
)
from keras_bert_impl.runs.fine_tuning import (
  fine_tuning_config,
  fine_tuning_run,
  run_actions,
)
from keras_bert_impl.runs.labelled_data import fine_tuning_data
from keras_bert_impl.tasks.basics import fine_tuning
from keras_bert_impl.tokenizers.formats import vocabularies
from keras_bert_impl.training import run_results
from tfrecords.labelled import data_sets

flags.DEFINE_string("input_file", None, "File of NSMC.", required=True)
flags.DEFINE_string("vocab_file", None, "vocab.txt for it.", required=True)
flags.DEFINE_bool("do_lower_case", None, "vocab.txt; default: as stored.")
flags.DEFINE_integer("num_examples", 20_000, "Examples that are read.")
flags.DEFINE_integer("max_seq_length", 128, "Length of fixed padding.")
flags.DEFINE_integer("batch_size", 32, "Examples per step.")
flags.DEFINE_float("num_epochs", 1.0, "Passes over the data.")
flags.DEFINE_integer("num_hidden_layers", 4, "Size of the encoder.")
flags.DEFINE_integer("hidden_size", 256, "Size of the encoder.")
flags.DEFINE_float("learning_rate", 5e-4, "Peak learning rate.")
flags.DEFINE_list("seeds", ["1", "2"], "One training of each kind per seed.")

FLAGS = flags.FLAGS
_LABELS = ("0", "1")


def main(unused_argv):
  """Trains both ways in turn, once per seed, and prints the table."""
  results = {"fixed": [], "by length": []}
  with tempfile.TemporaryDirectory() as folder:
    data, parts = _data(folder)
    for seed in map(int, FLAGS.seeds):
      for name, by_length in (("fixed", False), ("by length", True)):
        output_dir = os.path.join(folder, f"{name}-{seed}")
        run = _run(data, parts, output_dir, by_length, seed)
        results[name].append(run.results)
  rows = []
  speeds = {}
  for name, runs in results.items():
    speeds[name] = max(r["train"]["examples_per_second"] for r in runs)
    accuracies = [r["eval"]["dev"]["scores"]["accuracy"] for r in runs]
    rows.append(
      (
        name,
        f"{speeds[name]:.1f}",
        f"{speeds[name] / speeds['fixed']:.2f}",
        f"{runs[0]['train']['padding_share']:.1%}",
        " ".join(f"{accuracy:.4f}" for accuracy in accuracies),
      )
    )
  header = ("batches", "examples/s", "ratio", "padding", "accuracy")
  print(run_results.table(rows, header))


def _data(folder):
  """Returns the examples as `Data`, and the `FineTuning` of them."""
  data_set = data_sets.find(classification_data.DATA_SETS, "NSMC")
  counts = collections.Counter()
  examples = data_set.splits["train"].read([FLAGS.input_file], True, counts)
  examples = examples[: FLAGS.num_examples]
  first = len(examples) * 4 // 5
  config = configs.EncoderConfig(
    vocab_size=vocabularies.Vocabulary.load(FLAGS.vocab_file).size,
    hidden_size=FLAGS.hidden_size,
    num_hidden_layers=FLAGS.num_hidden_layers,
    num_attention_heads=FLAGS.hidden_size // 64,
    intermediate_size=4 * FLAGS.hidden_size,
    max_position_embeddings=FLAGS.max_seq_length,
    # Wide enough for small encoders to learn from random weights.
    initializer_range=FLAGS.hidden_size**-0.5,
  )
  parts = fine_tuning.FineTuning(
    text_rows.TextPreprocessor(FLAGS.max_seq_length, _LABELS),
    sequence_classification.SequenceClassificationTask(config, _LABELS),
    text_scores.ClassEvaluator(_LABELS),
  )
  data = fine_tuning_data.Data(
    parts.preprocessor,
    {"train": examples[:first], "dev": examples[first:]},
    *vocabularies.find(FLAGS.vocab_file, do_lower_case=FLAGS.do_lower_case),
    os.path.join(folder, "records"),
  )
  return data, parts


def _run(data, parts, output_dir, by_length, seed):
  """Returns a `Run` that is trained and scored."""
  training = fine_tuning_config.training_values(
    learning_rate=FLAGS.learning_rate,
    train_batch_size=FLAGS.batch_size,
    eval_batch_size=FLAGS.batch_size,
    save_checkpoints_steps=1000,
    keep_checkpoint_max=5,
    use_bias_correction=True,
  )
  settings = fine_tuning_config.FineTuningConfig(
    do_train=True,
    do_eval=True,
    max_seq_length=FLAGS.max_seq_length,
    num_train_epochs=FLAGS.num_epochs,
    bucket_by_length=by_length,
  )
  run = fine_tuning_run.Run(parts, data, settings, training)
  run = run.varied(output_dir, random_seed=seed)
  run_actions.train(run)
  run_actions.evaluate(run, ["dev"])
  return run


if __name__ == "__main__":
  app.run(main)
