"""Prints what ten steps give on some number of replicas; run as a module.

Arguments: number of replicas, family, optimizer, and other fields, "name" for
True or "name=value". The steps are made twice, in one and in two micro-batches.
Strategies of one process disturb each other, so each gets its own.
"""

import dataclasses
import functools
import json
import sys

import keras
import numpy as np
import tensorflow as tf

from keras_bert_impl import configs
from keras_bert_impl.optimizers import adamw, lamb, stable_adamw
from keras_bert_impl.tasks.pretraining import (
  language_models,
  masked_lm,
  replaced_token,
)
from keras_bert_impl.training import (
  distribution,
  freezing,
  training_config,
  training_loop,
)
from tests import architectures

OPTIMIZERS = {
  "adamw": adamw.AdamW,
  "lamb": lamb.LAMB,
  "stable_adamw": stable_adamw.StableAdamW,
}
TASKS = {
  "bert": masked_lm.MaskedLanguageModelTask,
  "albert": lambda config: masked_lm.MaskedLanguageModelTask(
    dataclasses.replace(config, num_hidden_groups=1, embedding_size=8),
    sentence_loss="sentence_order",
  ),
  "packed": functools.partial(
    masked_lm.MaskedLanguageModelTask, sentence_loss=None, is_packed=True
  ),
  "electra": functools.partial(
    replaced_token.ReplacedTokenTask, generator_size=0.5
  ),
}
TASKS |= {
  name: lambda config, task=task: task(
    # So that scores of positions count for something.
    dataclasses.replace(config, initializer_range=0.2, **architectures.DEBERTA)
  )
  for name, task in (
    ("deberta", masked_lm.MaskDecoderTask),
    ("deberta_v3", replaced_token.DisentangledSharingTask),
  )
}
TASKS["modernbert"] = lambda config: TASKS["packed"](
  dataclasses.replace(config, **architectures.MODERNBERT)
)
TASKS |= {
  "pair": lambda config: language_models.BidirectionalPairTask(
    dataclasses.replace(config, **architectures.PAIR),
    LENGTH,
    share_pair_embeddings=True,
  ),
  "elmo": lambda config: language_models.ElmoTask(
    dataclasses.replace(config, **architectures.ELMO), LENGTH
  ),
}
VOCAB_SIZE, LENGTH, PREDICTIONS, BATCH = 50, 12, 4, 8


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


def build(
  replicas=1,
  accumulation=1,
  dropout=0.0,
  strategy=None,
  optimizer="adamw",
  family="bert",
  learning_rate=0.01,
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
  task = TASKS[family](encoder_config(dropout))
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
      name: value or True
      for name, _, value in (field.partition("=") for field in fields)
    },
  )
  data = distribution.distribute(training.strategy, dataset())
  metrics = training.train(iter(data), 10)
  weights = {v.path: v.numpy().tolist() for v in training.model.weights}
  evaluation = training.evaluate(
    distribution.distribute(training.strategy, dataset(3))
  )
  return metrics, weights, evaluation


def main():
  replicas = int(sys.argv[1])
  print(json.dumps([run(replicas, parts, *sys.argv[2:]) for parts in (1, 2)]))


if __name__ == "__main__":
  main()
