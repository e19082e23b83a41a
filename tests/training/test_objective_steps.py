"""Every objective trains under XLA, with static shapes, and learns."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.optimizers import adamw
from keras_bert_impl.tasks import objectives
from keras_bert_impl.training import (
  distribution,
  training_config,
  training_loop,
)
from tests.tasks.pretraining import test_rows_of_objectives as rows_of

BATCH = 8
OTHERS = ("distil", "next_sentence_words", "next_sentence_ranking")
CASES = {
  # A student needs a teacher, see `tasks/pretraining/test_distillation`; the
  # others records of two texts.
  **{name: (name, {}) for name in objectives.OBJECTIVES if name not in OTHERS},
  "packed": ("roberta", {"is_packed": True}),
  "packed_modernbert": ("modernbert", {"is_packed": True}),
  "packed_pair": ("bidirectional_pair", {"is_packed": True}),
  "xlnet_in_both_directions": ("xlnet", {"bi_data": True}),
  "xlnet_with_memory": ("xlnet", {"mem_len": 8}),
  "smaller_generator": ("electra", {"generator_size": 0.5}),
  "shared_pair": ("bidirectional_pair", {"share_pair_embeddings": True}),
}


def make_batches(task):
  """Rows of one word each, so that any token tells all others."""
  rng = np.random.default_rng(0)
  vocabulary = rows_of.VOCABULARY
  rows = []
  for length in rng.integers(12, rows_of.LENGTH + 1, 4 * BATCH):
    words = np.full(length, 5 + rng.integers(20))
    words[0], words[length // 2] = vocabulary.cls_id, vocabulary.sep_id
    words[-1] = vocabulary.sep_id
    rows.append(words.tolist())
  dataset = tf.data.Dataset.from_tensor_slices(
    {
      "input_ids": tf.ragged.constant(rows, tf.int64),
      "sequence_ids": tf.ragged.constant(
        [[1 + (k > len(row) // 2) for k in range(len(row))] for row in rows]
      ),
      "next_sentence_labels": rng.integers(0, 2, (len(rows), 1)),
    }
  )
  dataset = dataset.repeat().batch(BATCH, drop_remainder=True).enumerate()
  return dataset.map(
    lambda index, batch: task.prepare(
      batch, tf.stack([1, tf.cast(index, tf.int32)])
    )
  )


@pytest.mark.xla
@pytest.mark.slow  # `test_loop` compiles a step, `test_check_tpu` the model.
@pytest.mark.parametrize("case", CASES)
def test_an_objective_is_learned_under_xla(case):
  learn(case, jit_compile=True)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["deberta", "deberta_v3"])
def test_an_objective_is_learned_in_bfloat16(case):
  policy = keras.config.dtype_policy()
  keras.config.set_dtype_policy("mixed_bfloat16")
  try:
    learn(case)
  finally:
    keras.config.set_dtype_policy(policy)


def learn(case, **fields):
  name, options = CASES[case]
  has_pairs = not options.get("is_packed", False)
  task = rows_of.make_task(name, has_pairs=has_pairs, **options)
  batches = make_batches(task)
  for feature in batches.element_spec.values():
    assert feature.shape.is_fully_defined()
    assert feature.dtype in (tf.int32, tf.float32)
  config = training_config.TrainingConfig(
    train_batch_size=BATCH, num_train_steps=60, **fields
  )
  strategy = tf.distribute.get_strategy()
  loop = training_loop.TrainingLoop(
    task,
    task.build_model(),
    adamw.AdamW(5e-3, use_bias_correction=True),
    strategy,
    config,
  )
  iterator = iter(distribution.distribute(strategy, batches))
  first = loop.train(iterator, 1)
  loop.train(iterator, 49)
  last = loop.train(iterator, 10)
  losses = [key for key in first if key.endswith("_loss")]
  expected = task.weights(next(iter(batches)))
  assert set(losses) == {f"{name}_loss" for name in expected}
  for loss in losses:
    if "sentence" not in loss:  # labels drawn at random: nothing to learn
      assert last[loss] < 0.8 * first[loss], loss
