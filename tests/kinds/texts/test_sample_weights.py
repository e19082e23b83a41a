"""Weights of classes and samples, in the losses of texts."""

import keras
import numpy as np
import pytest

import keras_bert_impl as kb
from keras_bert_impl import features, options
from keras_bert_impl.kinds.texts import (
  multi_label,
  sequence_classification,
  sequence_regression,
  text_options,
  text_splits,
)
from keras_bert_impl.tasks.basics import example_types
from tests.tasks.basics import steps

CONFIG = kb.EncoderConfig(
  vocab_size=30,
  hidden_size=8,
  num_hidden_layers=1,
  num_attention_heads=2,
  intermediate_size=16,
)
WEIGHTS = np.array([0.5, 0.0, 3.0], "float32")


@pytest.mark.parametrize(
  ("task", "labels", "loss"),
  [
    (
      sequence_classification.SequenceClassificationTask(CONFIG, ("n", "p")),
      [1, 0, 1],
      keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    ),
    (
      multi_label.MultiLabelTask(CONFIG, ("a", "b")),
      [[1, 0], [0, 0], [1, 1]],
      keras.losses.BinaryCrossentropy(from_logits=True),
    ),
    (
      sequence_regression.SequenceRegressionTask(CONFIG),
      [1.0, 0.5, 2.0],
      keras.losses.MeanSquaredError(),
    ),
  ],
)
def test_the_loss_is_that_of_keras_with_weights_in_parts_too(
  task, labels, loss
):
  batch = steps.batch_of_texts(labels) | {features.SAMPLE_WEIGHTS: WEIGHTS}
  outputs = task.build_model()(batch)

  def parts(rows):
    part = {name: values[rows] for name, values in batch.items()}
    found = {name: values[rows] for name, values in outputs.items()}
    return task.losses(part, found)["label"], task.denominators(part)["label"]

  value, number = parts(slice(None))
  targets = np.array(labels).reshape(3, -1)
  expected = loss(targets, outputs["logits"], sample_weight=WEIGHTS)
  np.testing.assert_allclose(value / number, expected, rtol=1e-5)
  halves = np.sum([parts(slice(0, 2)), parts(slice(2, 3))], axis=0)
  np.testing.assert_allclose(halves, (value, number), rtol=1e-5)


def test_weights_of_classes_and_samples_are_multiplied():
  example = example_types.TextExample("0", "a", label="p")
  once = example_types.WeightedTextExample.of(example, 2.0)
  assert example_types.WeightedTextExample.of(once, 3.0).weight == 6
  assert class_weights("a=b=2, n=0", ("a=b", "n")) == {"a=b": 2, "n": 0}
  assert class_weights({0: 2, 1: 1}, ("0", "1")) == {"0": 2, "1": 1}


def class_weights(value, labels):
  given = {"class_weight": value}
  parsed = options.parsed(text_options.TextOptions, given)
  return text_splits.class_weights(parsed["class_weight"], labels)


@pytest.mark.parametrize(
  ("value", "message"),
  [
    ("x=1", "class_weight .'x'. must be one of n, p"),
    ("n=-1", r"class_weight of n \(-1.0\)"),
    ("n=much", "class_weight of n .'much'."),
    ("n=nan", "class_weight of n .nan."),
  ],
)
def test_a_wrong_weight_of_a_class_is_told(value, message):
  with pytest.raises(ValueError, match=message):
    class_weights(value, ("n", "p"))
