"""Prints what ten steps give on some number of replicas; run as a process.

Arguments: number of replicas, gradient_accumulation_steps, dropout rate,
optimizer, and the names of other fields to set to True. Strategies of one
process disturb each other, so each gets its own.
"""

import json
import sys

import keras
import numpy as np
import tensorflow as tf

from keras_bert_impl import configs
from keras_bert_impl.optimizers import adamw, lamb
from keras_bert_impl.tasks import masked_lm
from keras_bert_impl.training import config as config_lib
from keras_bert_impl.training import distribution, loop

OPTIMIZERS = {"adamw": adamw.AdamW, "lamb": lamb.LAMB}
VOCAB_SIZE, LENGTH, PREDICTIONS, BATCH = 50, 12, 4, 8


def batches(number):
  """Masked batches whose mask counts differ from row to row."""
  rng = np.random.default_rng(0)
  for _ in range(number):
    weights = np.arange(PREDICTIONS) < rng.integers(
      1, PREDICTIONS + 1, (BATCH, 1)
    )
    lengths = rng.integers(6, LENGTH + 1, (BATCH, 1))
    yield {
      "input_ids": rng.integers(1, VOCAB_SIZE, (BATCH, LENGTH)),
      "input_mask": np.arange(LENGTH) < lengths,
      "segment_ids": np.arange(LENGTH) >= lengths // 2,
      "masked_lm_positions": rng.integers(1, 6, (BATCH, PREDICTIONS)),
      "masked_lm_ids": rng.integers(1, VOCAB_SIZE, (BATCH, PREDICTIONS)),
      "masked_lm_weights": weights.astype("float32"),
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


def build(
  replicas=1,
  accumulation=1,
  dropout=0.0,
  strategy=None,
  optimizer="adamw",
  **overrides,
):
  strategy = strategy or distribution.create_strategy(
    "mirrored" if replicas > 1 else "one_device", num_logical_cpus=replicas
  )
  config = config_lib.TrainingConfig(
    train_batch_size=BATCH,
    gradient_accumulation_steps=accumulation,
    **overrides,
  )
  keras.utils.set_random_seed(1)
  task = masked_lm.MaskedLanguageModelTask(encoder_config(dropout))
  with strategy.scope():
    model = task.build_model()
    optimizer = OPTIMIZERS[optimizer](0.01)
  return loop.TrainingLoop(task, model, optimizer, strategy, config)


def main():
  replicas, accumulation = int(sys.argv[1]), int(sys.argv[2])
  training = build(
    replicas,
    accumulation,
    dropout=float(sys.argv[3]),
    optimizer=sys.argv[4],
    **dict.fromkeys(sys.argv[5:], True),
  )
  data = distribution.distribute(training.strategy, dataset())
  metrics = training.train(iter(data), 10)
  weights = {v.path: v.numpy().tolist() for v in training.model.weights}
  evaluation = training.evaluate(
    distribution.distribute(training.strategy, dataset(3))
  )
  print(json.dumps([metrics, weights, evaluation]))


if __name__ == "__main__":
  main()
