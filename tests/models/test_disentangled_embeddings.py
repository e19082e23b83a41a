"""What generator and discriminator share of their embeddings."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import layers, models
from keras_bert_impl.checkpoints.naming import mappings, names
from keras_bert_impl.tasks.pretraining import replaced_token
from tests import architectures

CONFIG = architectures.TINY_DEBERTA
RNG = np.random.default_rng(0)
IDS = RNG.integers(5, 30, (3, 7)).astype("int32")
INPUTS = {
  "input_ids": IDS,
  "input_mask": np.ones_like(IDS),
  "segment_ids": 0 * IDS,
  "masked_lm_positions": np.array([[1, 2], [3, 5], [2, 0]], "int32"),
  "masked_lm_ids": IDS[:, :2],
  "masked_lm_weights": np.array([[1, 1], [1, 1], [1, 0]], "float32"),
}


def make(sharing):
  options = replaced_token.ReplacedTokenOptions(embedding_sharing=sharing)
  task = replaced_token.DisentangledSharingTask(CONFIG, options=options)
  return task, task.build_model()


def gradients(model, output):
  """Returns {path: gradient} of a model's output, without what has none."""
  with layers.random_seed([1, 2]), tf.GradientTape() as tape:
    loss = tf.reduce_sum(model(INPUTS)[output] ** 2)
  variables = model.trainable_variables
  found = tape.gradient(loss, [variable.value for variable in variables])
  return {
    variable.path: np.array(tf.convert_to_tensor(gradient))
    for variable, gradient in zip(variables, found, strict=True)
    if gradient is not None
  }


@pytest.mark.parametrize(
  ("sharing", "tables", "trained_by_detector"),
  [
    ("shared", {names.WORD_EMBEDDINGS}, {names.WORD_EMBEDDINGS}),
    (
      "gdes",
      {names.GENERATOR_WORD_EMBEDDINGS, names.DELTA},
      {names.DELTA},
    ),
    (
      "none",
      {names.GENERATOR_WORD_EMBEDDINGS, names.WORD_EMBEDDINGS},
      {names.WORD_EMBEDDINGS},
    ),
  ],
)
def test_which_table_the_detector_trains(sharing, tables, trained_by_detector):
  _, model = make(sharing)
  found = [w.path for w in model.weights if "word_embeddings" in w.path]
  assert sorted(found) == sorted(tables)  # Each once.
  by_detector = gradients(model, "replaced_token_logits")
  trained = {path for path in by_detector if path in tables}
  assert trained == trained_by_detector
  for path in trained:
    assert np.abs(by_detector[path]).max() > 0
  by_generator = gradients(model, "token_logits")
  assert {path for path in by_generator if path in tables} == {
    names.WORD_EMBEDDINGS
    if sharing == "shared"
    else names.GENERATOR_WORD_EMBEDDINGS
  }


def test_the_discriminator_sees_the_sum_and_starts_at_the_generators_table():
  _, model = make("gdes")
  weights = {weight.path: weight for weight in model.weights}
  assert not np.any(weights[names.DELTA])
  weights[names.DELTA].assign(RNG.normal(size=(30, 8)))
  exported = names.completed(mappings.Arrays(weights))
  np.testing.assert_array_equal(
    exported[names.WORD_EMBEDDINGS],
    weights[names.GENERATOR_WORD_EMBEDDINGS] + weights[names.DELTA],
  )
  plain = models.ReplacedTokenDetector(CONFIG)
  for weight in plain.weights:
    weight.assign(exported[weight.path])
  inputs = {"input_ids": IDS}
  np.testing.assert_allclose(
    model.encoder(inputs)["sequence_output"],
    plain.encoder(inputs)["sequence_output"],
    atol=1e-5,
  )


@pytest.mark.integration
def test_a_model_that_keras_saved_opens_with_the_sum(tmp_path):
  _, model = make("gdes")
  weights = {weight.path: weight for weight in model.weights}
  weights[names.DELTA].assign(RNG.normal(size=(30, 8)))
  model.save(tmp_path / "model.keras")
  encoder = models.from_checkpoint(tmp_path / "model.keras")
  np.testing.assert_array_equal(
    encoder.embeddings.word_embeddings,
    weights[names.GENERATOR_WORD_EMBEDDINGS] + weights[names.DELTA],
  )


def test_a_checkpoint_without_generator_gives_it_its_word_table():
  task, _ = make("gdes")
  encoder = models.TransformerEncoder(CONFIG, use_pooler=False)
  tensors = mappings.Arrays({w.path: w for w in encoder.weights})
  given = task.given_weights(tensors)
  np.testing.assert_array_equal(
    given[names.GENERATOR_WORD_EMBEDDINGS], given[names.WORD_EMBEDDINGS]
  )
  assert set(given) - set(tensors) == {names.GENERATOR_WORD_EMBEDDINGS}


def test_an_unknown_sharing_is_refused():
  with pytest.raises(ValueError, match="embedding_sharing .'some'. must be on"):
    make("some")
