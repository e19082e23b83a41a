"""Prints what steps of a loss of whole batches give; run as a module.

Arguments: number of replicas, rows of a chunk, 0 for all; share of dropout.
"""

import dataclasses
import json
import sys

import keras
import numpy as np
import tensorflow as tf

from keras_bert_impl.kinds.embeddings.tasks import embedding_task, late_task
from keras_bert_impl.optimizers import adamw
from keras_bert_impl.training import (
  distribution,
  training_config,
  training_loop,
)
from tests.training import replica_equality

TEXTS, BATCH, STEPS = 3, 16, 3  # Three groups of rows.
LENGTHS = (6, 24, 12)


def dataset(is_fixed=False):
  """Returns batches of an anchor, a positive and a negative of own lengths."""
  rng = np.random.default_rng(0)
  batches = {}
  for k, length in enumerate(LENGTHS):
    ends = f"/{k}" if k else ""
    shape = (STEPS, BATCH, length)
    sizes = rng.integers(2, length + 1, (STEPS, BATCH, 1))
    is_token = np.arange(length) < sizes
    batches |= {
      f"input_ids{ends}": rng.integers(1, replica_equality.VOCAB_SIZE, shape),
      f"input_mask{ends}": is_token,
      f"pooling_mask{ends}": is_token & (np.arange(length) != 1),
      f"segment_ids{ends}": np.zeros(shape),
      f"text_ids{ends}": rng.integers(0, 20, shape[:2]),
    }
  batches = {name: x.astype("int32") for name, x in batches.items()}
  batches["label_ids"] = np.zeros((STEPS, BATCH), np.float32)
  data = tf.data.Dataset.from_tensor_slices(batches)
  # As training data, endless: their number of rows stays static then.
  return (data if is_fixed else data.map(_of_any_length)).repeat()


def _of_any_length(batch):
  return {
    name: x
    if len(x.shape) == 1
    else tf.compat.v1.placeholder_with_default(x, [BATCH, None])
    for name, x in batch.items()
  }


def build(replicas=1, chunk_size=None, is_late=False, dropout=0.1, **fields):
  """Returns a `TrainingLoop` with fresh weights of one seed, with dropout."""
  strategy = distribution.create_strategy(
    "mirrored" if replicas > 1 else "one_device", num_logical_cpus=replicas
  )
  config = training_config.TrainingConfig(train_batch_size=BATCH, **fields)
  keras.utils.set_random_seed(1)
  task_class = embedding_task.EmbeddingTask
  if is_late:
    task_class = late_task.LateInteractionTask
  task = task_class(
    dataclasses.replace(
      replica_equality.encoder_config(dropout=dropout, num_hidden_layers=1),
      max_position_embeddings=max(LENGTHS),
    ),
    TEXTS,
    both_ways=True,
    widths=() if is_late else (8, 16),
    chunk_size=chunk_size,
  )
  with strategy.scope():
    model = task.build_model()
    optimizer = adamw.AdamW(0.001)
  return training_loop.TrainingLoop(task, model, optimizer, strategy, config)


def run(replicas, chunk_size, is_fixed=False, **fields):
  """Returns metrics and weights, of plain numbers."""
  training = build(replicas, chunk_size or None, **fields)
  data = distribution.distribute(training.strategy, dataset(is_fixed))
  metrics = training.train(iter(data), STEPS)
  return metrics, {v.path: v.numpy().tolist() for v in training.model.weights}


if __name__ == "__main__":
  numbers, share = map(int, sys.argv[1:3]), float(sys.argv[3])
  print(json.dumps(run(*numbers, dropout=share)))
