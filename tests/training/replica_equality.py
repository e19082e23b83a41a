"""Prints what some steps give on some number of replicas; run as a module.

Arguments: numbers of replicas and of micro-batches, family, optimizer, and
other fields, "name" for True or "name=value".
"""

import dataclasses
import json
import sys

import keras
import numpy as np
import tensorflow as tf

from keras_bert_impl import configs
from keras_bert_impl.optimizers import adamw, lamb, stable_adamw
from keras_bert_impl.tasks import objectives
from keras_bert_impl.tasks.basics import pretraining
from keras_bert_impl.training import (
  distribution,
  freezing,
  training_config,
  training_loop,
)
from tests import architectures
from tests.training import tiny

OPTIMIZERS = {
  "adamw": adamw.AdamW,
  "lamb": lamb.LAMB,
  "stable_adamw": stable_adamw.StableAdamW,
}
PAIRS = {"sentence_loss": "next_sentence"}
PACKED = {"is_packed": True}
# So that scores of positions count for something.
DEBERTA = architectures.DEBERTA | {"initializer_range": 0.2}
# The objective, its data and options, and what its configuration needs.
TASKS = {
  "bert": ("bert", PAIRS, {}, {}),
  "albert": (
    "albert",
    {"sentence_loss": "sentence_order"},
    {},
    {"num_hidden_groups": 1, "embedding_size": 8},
  ),
  "packed": ("roberta", PACKED, {}, {}),
  "electra": ("electra", {}, {"generator_size": 0.5}, {}),
  "deberta": ("deberta", {}, {}, DEBERTA),
  "deberta_v3": ("deberta_v3", {}, {}, DEBERTA),
  "modernbert": ("modernbert", PACKED, {}, architectures.MODERNBERT),
  "pair": (
    "bidirectional_pair",
    {},
    {"share_pair_embeddings": True},
    architectures.PAIR,
  ),
  "elmo": ("elmo", {}, {}, architectures.ELMO),
}
VOCAB_SIZE, LENGTH, PREDICTIONS, BATCH = 50, 12, 4, 8
STEPS = 3


def batches(number):
  """Masked batches whose mask counts differ from row to row."""
  rng = np.random.default_rng(0)
  for _ in range(number):
    weights = np.arange(PREDICTIONS) < rng.integers(
      1, PREDICTIONS + 1, (BATCH, 1)
    )
    lengths = rng.integers(6, LENGTH + 1, (BATCH, 1))
    places = rng.permuted(np.tile(np.arange(1, 6), (BATCH, 1)), axis=1)
    yield {
      "input_ids": rng.integers(1, VOCAB_SIZE, (BATCH, LENGTH)),
      "input_mask": np.arange(LENGTH) < lengths,
      "segment_ids": np.arange(LENGTH) >= lengths // 2,
      "masked_lm_positions": places[:, :PREDICTIONS],
      "masked_lm_ids": rng.integers(1, VOCAB_SIZE, (BATCH, PREDICTIONS)),
      "masked_lm_weights": weights.astype("float32"),
      "sequence_ids": (np.arange(LENGTH) < lengths)
      * (1 + (np.arange(LENGTH) >= lengths // 2)),
      "next_sentence_labels": rng.integers(0, 2, (BATCH, 1)),
    }


def dataset(number=10):
  columns = list(batches(number))
  stacked = {
    name: np.stack([batch[name] for batch in columns]) for name in columns[0]
  }
  return tf.data.Dataset.from_tensor_slices(
    {
      name: x if x.dtype == np.float32 else x.astype("int32")
      for name, x in stacked.items()
    }
  )


def encoder_config(dropout, num_hidden_layers=2, **overrides):
  """Returns that of a tiny model for these batches."""
  return configs.EncoderConfig(
    vocab_size=VOCAB_SIZE,
    hidden_size=16,
    num_hidden_layers=num_hidden_layers,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=LENGTH,
    hidden_dropout_prob=dropout,
    attention_probs_dropout_prob=dropout,
    **overrides,
  )


def make_task(family, config):
  if family == "tiny":
    return tiny.TinyTask()
  name, data, options, changes = TASKS[family]
  objective = objectives.OBJECTIVES[name]
  return objective.task(
    dataclasses.replace(config, **changes),
    pretraining.PretrainingData(LENGTH, **data),
    objective.options(**options) if options else None,
  )


def build(
  replicas=1,
  accumulation=1,
  dropout=0.0,
  strategy=None,
  optimizer="adamw",
  family="bert",
  learning_rate=0.01,
  num_hidden_layers=2,
  **overrides,
):
  strategy = strategy or distribution.create_strategy(
    "mirrored" if replicas > 1 else "one_device", num_logical_cpus=replicas
  )
  config = training_config.TrainingConfig(
    train_batch_size=BATCH,
    gradient_accumulation_steps=accumulation,
    **overrides,
  )
  keras.utils.set_random_seed(1)
  task = make_task(family, encoder_config(dropout, num_hidden_layers))
  with strategy.scope():
    model = task.build_model()
    freezing.freeze(model, config.train_layers)
    optimizer = OPTIMIZERS[optimizer](learning_rate)
  return training_loop.TrainingLoop(task, model, optimizer, strategy, config)


def run(replicas, accumulation, family, optimizer, *fields):
  """Returns metrics, weights and an evaluation, all of plain numbers."""
  training = build(
    replicas,
    accumulation,
    dropout=0.1,
    optimizer=optimizer,
    family=family,
    learning_rate=0.001,  # Adam magnifies the rounding of small gradients.
    **{
      name: int(value) if value.isdigit() else value or True
      for name, _, value in (field.partition("=") for field in fields)
    },
  )
  batches_of = tiny.dataset if family == "tiny" else dataset
  data = distribution.distribute(training.strategy, batches_of(STEPS))
  metrics = training.train(iter(data), STEPS)
  weights = {v.path: v.numpy().tolist() for v in training.model.weights}
  evaluation = training.evaluate(
    distribution.distribute(training.strategy, batches_of(2))
  )
  return metrics, weights, evaluation


def main():
  replicas, accumulation = map(int, sys.argv[1:3])
  print(json.dumps(run(replicas, accumulation, *sys.argv[3:])))


if __name__ == "__main__":
  main()
