"""Every objective trains under XLA, with static shapes, and learns."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs
from keras_bert_impl.optimizers import adamw
from keras_bert_impl.tasks.masking import masking
from keras_bert_impl.tasks.pretraining import (
  language_models,
  masked_lm,
  permutation,
  replaced_token,
  span_boundary,
)
from keras_bert_impl.tokenizers.formats import vocabularies
from keras_bert_impl.training import (
  distribution,
  training_config,
  training_loop,
)
from tests import architectures, slow

BATCH, LENGTH, PREDICTIONS = 8, 24, 5
VOCABULARY = vocabularies.Vocabulary(
  (*vocabularies.SPECIAL_TOKENS, *(f"w{k}" for k in range(20)))
)
CONFIG = configs.EncoderConfig(
  vocab_size=VOCABULARY.size,
  hidden_size=32,
  num_hidden_layers=2,
  num_attention_heads=2,
  intermediate_size=64,
  max_position_embeddings=LENGTH,
  hidden_dropout_prob=0.0,
  attention_probs_dropout_prob=0.0,
  initializer_range=0.1,
)


def make_masking(policy, *probabilities):
  return masking.Masking(
    VOCABULARY, LENGTH, PREDICTIONS, 0.15, policy, *probabilities
  )


TASKS = {
  "bert": lambda: masked_lm.MaskedLanguageModelTask(
    CONFIG, make_masking("whole_word")
  ),
  "albert": lambda: masked_lm.MaskedLanguageModelTask(
    dataclasses.replace(CONFIG, num_hidden_groups=1, embedding_size=16),
    make_masking("ngram"),
    "sentence_order",
  ),
  "roberta": lambda: masked_lm.MaskedLanguageModelTask(
    dataclasses.replace(CONFIG, position_offset=2, max_position_embeddings=26),
    make_masking("token"),
    None,
  ),
  "packed": lambda: masked_lm.MaskedLanguageModelTask(
    CONFIG, make_masking("token"), None, is_packed=True
  ),
  "spanbert": lambda: span_boundary.SpanBoundaryTask(
    CONFIG, make_masking("span")
  ),
  "electra": lambda: replaced_token.ReplacedTokenTask(
    CONFIG, make_masking("token", 1.0, 0.0), generator_size=0.5
  ),
  "left_to_right": lambda: language_models.LeftToRightTask(
    dataclasses.replace(CONFIG, use_causal_mask=True), LENGTH
  ),
  "right_to_left": lambda: language_models.RightToLeftTask(
    dataclasses.replace(CONFIG, **architectures.RIGHT_TO_LEFT), LENGTH
  ),
  "bidirectional_pair": lambda: language_models.BidirectionalPairTask(
    dataclasses.replace(CONFIG, **architectures.PAIR),
    LENGTH,
    is_packed=True,
    share_pair_embeddings=True,
  ),
  "elmo": lambda: language_models.ElmoTask(
    dataclasses.replace(CONFIG, **architectures.ELMO), LENGTH
  ),
}

DEBERTA = dataclasses.replace(CONFIG, **architectures.DEBERTA)
TASKS |= {
  "deberta": lambda: masked_lm.MaskDecoderTask(DEBERTA, make_masking("ngram")),
  "deberta_v3": lambda: replaced_token.DisentangledSharingTask(
    DEBERTA, make_masking("token", 1.0, 0.0)
  ),
}
TASKS["modernbert"] = lambda: masked_lm.MaskedLanguageModelTask(
  dataclasses.replace(CONFIG, **architectures.MODERNBERT),
  make_masking("token"),
  None,
  is_packed=True,
)

XLNET = dataclasses.replace(
  CONFIG, position_embedding_type="transformer_xl", type_vocab_size=4
)
TASKS |= {
  f"xlnet{name}": lambda options=options: permutation.PermutationTask(
    XLNET, make_masking("context", 0.0, 0.0), LENGTH, **options
  )
  for name, options in (
    ("", {}),
    ("_in_both_directions", {"bi_data": True}),
    ("_with_memory", {"mem_len": 8}),
  )
}


def make_batches(task):
  """Rows of one word each, so that any token tells all others."""
  rng = np.random.default_rng(0)
  rows = []
  for length in rng.integers(12, LENGTH + 1, 4 * BATCH):
    words = np.full(length, 5 + rng.integers(20))
    words[0], words[length // 2] = VOCABULARY.cls_id, VOCABULARY.sep_id
    words[-1] = VOCABULARY.sep_id
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
@pytest.mark.parametrize(
  "name",
  slow.all_but(("bert",), TASKS),
)
def test_an_objective_is_learned_under_xla(name):
  learn(name, jit_compile=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["deberta", "deberta_v3"])
def test_an_objective_is_learned_in_bfloat16(name):
  policy = keras.config.dtype_policy()
  keras.config.set_dtype_policy("mixed_bfloat16")
  try:
    learn(name)
  finally:
    keras.config.set_dtype_policy(policy)


def learn(name, **options):
  task = TASKS[name]()
  batches = make_batches(task)
  for feature in batches.element_spec.values():
    assert feature.shape.is_fully_defined()
    assert feature.dtype in (tf.int32, tf.float32)
  config = training_config.TrainingConfig(
    train_batch_size=BATCH, num_train_steps=60, **options
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
