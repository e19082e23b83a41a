"""Losses and gradients of rows without padding are those of padded rows."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.layers.basics import dropout
from keras_bert_impl.tasks import objectives
from keras_bert_impl.tasks.basics import pretraining
from keras_bert_impl.tasks.masking import masking
from tests import architectures
from tests.tasks import test_packed_losses
from tfrecords.reading import by_length

LENGTHS = (7, 12, 3)


# What a configuration needs for the objectives that cannot be packed.
CHANGES = {
  "albert": {"num_hidden_groups": 1},
  "elmo": architectures.ELMO,
  "xlnet": {"position_embedding_type": "transformer_xl", "type_vocab_size": 4},
}


def make_task(name):
  if name in test_packed_losses.CHANGES:
    return test_packed_losses.make_task(name, is_packed=False)
  objective = objectives.OBJECTIVES[name]
  length = test_packed_losses.LENGTH
  make_masking = None
  if objective.masking_policy:
    make_masking = masking.Masking(
      test_packed_losses.VOCABULARY,
      length,
      test_packed_losses.PREDICTIONS,
      0.3,
      objective.masking_policy,
      objective.mask_token_prob,
      objective.random_token_prob,
    )
  return objective.make_task(
    dataclasses.replace(test_packed_losses.CONFIG, **CHANGES[name]),
    pretraining.PretrainingData(length, make_masking, objective.sentence_loss),
  )


def records():
  """Returns a batch of clean records that are shorter than the rows."""
  rng = np.random.default_rng(0)
  vocabulary = test_packed_losses.VOCABULARY
  rows = [rng.integers(5, vocabulary.size, n).tolist() for n in LENGTHS]
  for row in rows:
    row[0], row[-1] = vocabulary.cls_id, vocabulary.sep_id
  return {
    "input_ids": tf.ragged.constant(rows, tf.int64),
    "next_sentence_labels": tf.constant([[0], [1], [1]]),
  }


@pytest.mark.parametrize("name", objectives.OBJECTIVES)
def test_less_padding_changes_neither_losses_nor_gradients(name, monkeypatch):
  # ELECTRA's draws depend on the shape.
  monkeypatch.setattr(dropout, "draw", lambda layer, shape: tf.fill(shape, 0.5))
  task = make_task(name)
  model = task.build_model()
  padded = task.prepare(records(), tf.constant([1, 2]))
  cut = by_length.cut_padding(padded)
  assert padded["input_ids"].shape[1] == test_packed_losses.LENGTH
  assert cut["input_ids"].shape[1] == 16
  found, gradients = test_packed_losses.sums_and_gradients(task, model, cut)
  expected, expected_gradients = test_packed_losses.sums_and_gradients(
    task, model, padded
  )
  assert found["counts"] == expected["counts"]
  assert found["losses"] == pytest.approx(expected["losses"], rel=1e-5)
  scale = max(np.abs(gradient).max() for gradient in expected_gradients)
  for a, b in zip(gradients, expected_gradients, strict=True):
    np.testing.assert_allclose(a, b, atol=1e-5 * scale)
