"""The default data and model of run_pretraining.py without flags.

Makes a vocabulary, TFRecords and a configuration that trains in minutes on two
CPU cores. The text is the documentation inside the installed Python packages,
which any machine that runs this project has. Existing results are kept.
"""

import itertools
import os

from absl import logging

from keras_bert_impl import configs, files
from keras_bert_impl.tokenizers.formats import tokenizer_options, vocabularies
from keras_bert_impl.training import run_results
from tfrecords import manifest
from tfrecords.text import python_documentation, sources

OUTPUT_DIR = "pretraining_output"
VOCAB_SIZE = 8000
MAX_SEQ_LENGTH = 64
NUM_SHARDS = 4
HELD_OUT_SHARE = 0.05

# Long enough to show learning, short enough to wait for: see docs/results.md.
# Learning rate and bias correction suit 2,000 steps; the paper's values suit a
# run of 1,000,000.
FLAG_VALUES = {
  "do_train": True,
  "do_eval": True,
  "max_seq_length": MAX_SEQ_LENGTH,
  "max_predictions_per_seq": 10,
  "train_batch_size": 32,
  "eval_batch_size": 32,
  "learning_rate": 2e-3,
  "use_bias_correction": True,
  "num_train_steps": 2000,
  "num_warmup_steps": 200,
  "save_checkpoints_steps": 500,
  "example_text": [
    "Returns the [MASK] of the array.",
    "If the file does not exist, an error is [MASK].",
    "Computes the gradient of the [MASK] with respect to the input.",
    "The default [MASK] is None.",
  ],
}


def encoder_config(vocab_size):
  """Returns the `EncoderConfig` of the default's model.

  Differs from BERT-Tiny: no dropout, because two epochs do not overfit, and a
  larger initializer_range, because 0.02 suits 768 units and slows 128 down.
  """
  return configs.EncoderConfig.preset(
    "bert_tiny",
    vocab_size=vocab_size,
    max_position_embeddings=MAX_SEQ_LENGTH,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    initializer_range=0.05,
  )


def prepare(flag_values):
  """Prepares the data and sets the flags that the user has not set.

  Args:
    flag_values: absl `FlagValues` of run_pretraining.py.
  """
  output_dir = flag_values.output_dir or OUTPUT_DIR
  vocab_file = os.path.join(output_dir, "vocab.txt")
  train_text, held_out_text = corpus(os.path.join(output_dir, "corpus"))
  _vocabulary(train_text, vocab_file)
  records = os.path.join(output_dir, "tfrecords")
  os.makedirs(records, exist_ok=True)
  _records(train_text, vocab_file, os.path.join(records, "train"), NUM_SHARDS)
  _records(held_out_text, vocab_file, os.path.join(records, "held_out"), 1)
  config_file = os.path.join(output_dir, "bert_config.json")
  vocabulary = vocabularies.Vocabulary.load(vocab_file)
  encoder_config(vocabulary.size).to_json_file(config_file)
  values = FLAG_VALUES | {
    "output_dir": output_dir,
    "input_file": os.path.join(records, "train-*"),
    "eval_input_file": os.path.join(records, "held_out"),
    "bert_config_file": config_file,
    "vocab_file": vocab_file,
  }
  for name, value in values.items():
    if not flag_values[name].present:
      flag_values[name].value = value
  # A shorter --num_train_steps needs a shorter warm-up.
  if not flag_values["num_warmup_steps"].present:
    flag_values.num_warmup_steps = min(
      flag_values.num_warmup_steps, flag_values.num_train_steps // 10
    )


def corpus(folder):
  """Returns (training files, held-out files); writes them if necessary."""
  marker = os.path.join(folder, "files.json")
  found = run_results.read_json(marker, list)
  if found is None:
    logging.info("Gathering the documentation of the installed packages.")
    parts = python_documentation.write_corpus(folder, HELD_OUT_SHARE)
    # Names without the folder, so that the folder can be renamed or moved.
    found = [[os.path.basename(file) for file in part] for part in parts]
    files.write_json(marker, found)
  return [[os.path.join(folder, name) for name in part] for part in found]


def _vocabulary(files, vocab_file):
  """Learns the vocabulary unless its file exists."""
  if os.path.exists(vocab_file):
    return
  logging.info("Learning a vocabulary of %d tokens.", VOCAB_SIZE)
  # Imported here: an existing vocabulary needs no tensorflow-text.
  from keras_bert_impl.tokenizers.learning import wordpiece_learner

  sentences = itertools.chain.from_iterable(sources.iter_documents(files))
  learned = wordpiece_learner.learn(sentences, VOCAB_SIZE)
  # The run writes options with the family into the same folder.
  family = encoder_config(learned.size).model_type
  options = tokenizer_options.WordPieceOptions(family=family)
  tokenizer_options.save(vocab_file, options)
  learned.save(vocab_file)


def _records(files, vocab_file, output_file, num_shards):
  """Writes records without masks; finished shards are kept."""
  from tfrecords.writing import writer, writing_config

  paths = writer.shard_paths(output_file, num_shards)
  if not all(map(manifest.is_finished, paths)):
    logging.info("Writing TFRecords to %s.", output_file)
  config = writing_config.PretrainingDataConfig(
    vocab_file=vocab_file, max_seq_length=MAX_SEQ_LENGTH, dupe_factor=1
  )
  # One worker: for so few records, a second costs more than it saves.
  writer.write_shards(config, files, paths)
