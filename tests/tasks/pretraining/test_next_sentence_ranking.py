"""Sentences that find the next one among those of their batch."""

import types

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs
from keras_bert_impl.tasks import objectives
from keras_bert_impl.tasks.basics import pretraining, vector_losses
from tests import architectures

CONFIG = configs.EncoderConfig(**architectures.SMALL)
LENGTH, LOSS = 8, "next_sentence_ranking"


def prepared(first, second):
  task = objectives.OBJECTIVES["next_sentence_ranking"].task(
    CONFIG, pretraining.PretrainingData(LENGTH)
  )
  texts = (tf.ragged.constant(x, tf.int64) for x in (first, second))
  names = ("input_ids", "target_ids")
  return task, task.prepare(dict(zip(names, texts, strict=True)), None)


def outputs_of(task, batch):
  model = task.build_model()
  names = [tensor.name for tensor in model.inputs]
  return [
    model({name: batch[name + end] for name in names}) for end in ("", "/1")
  ]


def test_a_batch_has_both_texts_and_says_which_are_equal():
  _, batch = prepared([[2, 5, 3], [2, 6, 7, 3]], [[2, 6, 7, 3], [2, 9, 3]])
  assert batch["input_ids"].shape == batch["input_ids/1"].shape == (2, LENGTH)
  assert batch["input_mask/1"].numpy().sum(axis=1).tolist() == [4, 3]
  first, second = batch["text_ids"].numpy(), batch["text_ids/1"].numpy()
  assert first[1] == second[0]
  assert len({*first, *second}) == 3


def test_the_loss_is_in_batch_of_the_vectors():
  task, batch = prepared(
    [[2, 5, 3], [2, 6, 7, 3], [2, 9, 3]], [[2, 6, 7, 3], [2, 9, 3], [2, 4, 3]]
  )
  outputs = outputs_of(task, batch)
  vectors = vector_losses.Batch(
    [text["embeddings"] for text in outputs],
    [batch["text_ids"], batch["text_ids/1"]],
    None,
    np.ones(3, "float32"),
  )
  options = types.SimpleNamespace(
    similarity="cosine", temperature=0.05, both_ways=False
  )
  expected = float(vector_losses.in_batch(vectors, options))
  found = float(task.losses(batch, outputs)[LOSS])
  assert found == pytest.approx(expected, rel=1e-5)
  assert float(task.denominators(batch)[LOSS]) == 3
  right, number = task.metrics(batch, outputs)[f"{LOSS}_accuracy"]
  assert 0 <= float(right) <= float(number) == 3


def test_batches_of_similar_length_are_refused():
  data = pretraining.PretrainingData(LENGTH, by_length=True)
  with pytest.raises(ValueError, match="bucket_by_length must be left out"):
    objectives.OBJECTIVES["next_sentence_ranking"].task(CONFIG, data)


def test_padding_rows_are_neither_asked_nor_found():
  rows = [[2, 5, 3], [2, 6, 3], [2, 7, 3]]
  task, batch = prepared([*rows[:2], []], [*rows[1:], []])
  outputs = outputs_of(task, batch)
  whole = float(task.losses(batch, outputs)[LOSS])
  few = {name: x[:2] for name, x in batch.items()}
  cut = [{name: x[:2] for name, x in text.items()} for text in outputs]
  assert float(task.losses(few, cut)[LOSS]) == pytest.approx(whole, rel=1e-5)
  assert float(task.denominators(batch)[LOSS]) == 2
