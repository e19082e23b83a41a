"""A task whose model is traced in a moment, for tests of what runs it."""

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from keras_bert_impl import configs, layers
from keras_bert_impl.optimizers import adamw
from keras_bert_impl.tasks.basics import cross_entropy
from keras_bert_impl.training import (
  distribution,
  freezing,
  training_config,
  training_loop,
)

VOCAB_SIZE, LENGTH, BATCH = 30, 6, 8
FIELDS = {"train_batch_size": BATCH, "learning_rate": 0.01}


class TinyTask(cross_entropy.RowClassifyingTask):
  """Says which of two classes a bag of tokens is in.

  The variables of its "encoder" have names like those of two blocks.
  """

  def build_model(self):
    ids = keras.Input((LENGTH,), dtype="int32", name="input_ids")
    with keras.name_scope("bert"):
      hidden = keras.layers.Embedding(VOCAB_SIZE, 4, name="embeddings")(ids)
      hidden = layers.Dropout(0.1, name="dropout")(ops.mean(hidden, axis=1))
      with keras.name_scope("encoder"):
        for index in range(2):
          dense = keras.layers.Dense(4, name=f"layer_{index}")
          hidden += dense(hidden)
    logits = keras.layers.Dense(2, name="classifier")(hidden)
    model = keras.Model({"input_ids": ids}, {"logits": logits})
    model.config = configs.EncoderConfig(
      vocab_size=VOCAB_SIZE, num_hidden_layers=2
    )
    return model

  def weights(self, batch):
    weights = super().weights(batch)["label"]
    return {"label": weights * batch["importance"]}


def dataset(number=10):
  """Returns batches of random rows; the first token tells the class."""
  rng = np.random.default_rng(0)
  ids = rng.integers(1, VOCAB_SIZE, (number, BATCH, LENGTH), "int32")
  importance = rng.random((number, BATCH)) < 0.7
  return tf.data.Dataset.from_tensor_slices(
    {
      "input_ids": ids,
      "input_mask": np.ones_like(ids),
      "label_ids": ids[..., 0] % 2,
      "importance": importance.astype("float32"),
    }
  )


def build(**fields):
  """Returns a `TrainingLoop` with fresh weights of one seed."""
  config = training_config.TrainingConfig(**FIELDS | fields)
  keras.utils.set_random_seed(1)
  task = TinyTask()
  model = task.build_model()
  freezing.freeze(model, config.train_layers)
  return training_loop.TrainingLoop(
    task,
    model,
    adamw.AdamW(0.01),
    distribution.create_strategy(),
    config,
  )


def iterate(loop, data):
  """Returns an iterator of batches as a loop takes them."""
  return iter(distribution.distribute(loop.strategy, data))
