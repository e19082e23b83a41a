import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs, layers, models

CONFIG = configs.EncoderConfig.preset(
  "electra_small",
  vocab_size=50,
  embedding_size=8,
  hidden_size=32,
  num_hidden_layers=2,
  num_attention_heads=4,
  intermediate_size=64,
  max_position_embeddings=20,
  initializer_range=0.2,
)
GENERATOR = models.electra_generator_config(CONFIG, 1 / 4)


def make_inputs():
  rng = np.random.default_rng(0)
  return {
    "input_ids": rng.integers(0, 50, (3, 7)).astype("int32"),
    "input_mask": np.ones((3, 7), "int32"),
    "segment_ids": np.zeros((3, 7), "int32"),
    "masked_lm_positions": np.array([[1, 2], [3, 5], [2, 0]], "int32"),
    "masked_lm_ids": rng.integers(0, 50, (3, 2)).astype("int32"),
    "masked_lm_weights": np.array([[1, 1], [1, 1], [1, 0]], "float32"),
  }


def make_model():
  return models.ElectraPretrainingModel(CONFIG, GENERATOR)


def test_it_returns_both_heads_and_the_labels_it_made():
  outputs = make_model()(make_inputs())
  assert {name: (x.shape, x.dtype) for name, x in outputs.items()} == {
    "token_logits": ((3, 2, 50), "float32"),
    "replaced_token_logits": ((3, 7), "float32"),
    "is_replaced": ((3, 7), "int32"),
  }


def test_the_discriminator_sees_what_the_generator_drew():
  model = make_model()
  detector = models.ReplacedTokenDetector(CONFIG)
  weights = {weight.path: weight for weight in model.weights}
  for weight in detector.weights:
    weight.assign(weights[weight.path])
  # A generator that is sure of token 7.
  weights["cls/predictions/output_bias"].assign(np.eye(50)[7] * 1e6)
  inputs = make_inputs()
  replaced = inputs["input_ids"].copy()
  for row, column in ((0, 1), (0, 2), (1, 3), (1, 5), (2, 2)):
    replaced[row, column] = 7
  encoder_inputs = {
    **{name: inputs[name] for name in ("input_mask", "segment_ids")},
    "input_ids": replaced,
  }
  np.testing.assert_allclose(
    model(inputs)["replaced_token_logits"],
    detector(encoder_inputs)["logits"],
    atol=1e-6,
  )


def test_the_detectors_gradient_does_not_reach_the_generators_blocks():
  model = make_model()
  with layers.random_seed([1, 2]), tf.GradientTape() as tape:
    loss = tf.reduce_sum(model(make_inputs())["replaced_token_logits"] ** 2)
  gradients = tape.gradient(loss, [w.value for w in model.trainable_variables])
  for variable, gradient in zip(
    model.trainable_variables, gradients, strict=True
  ):
    is_generators = variable.path.startswith(("generator/", "cls/"))
    assert (gradient is None) == is_generators, variable.path


def test_other_embeddings_for_the_generator_are_refused():
  other = dataclasses.replace(GENERATOR, embedding_size=16)
  with pytest.raises(ValueError, match=r"embedding_size of the generator .16"):
    models.ElectraPretrainingModel(CONFIG, other)
  other = dataclasses.replace(GENERATOR, vocab_size=60)
  with pytest.raises(ValueError, match=r"vocab_size of the generator .60"):
    models.ElectraPretrainingModel(CONFIG, other)


@pytest.mark.parametrize("share", [0, -1, 1.5])
def test_a_generator_has_a_share_of_the_width(share):
  with pytest.raises(ValueError, match=f"generator_size .{share}. must be"):
    models.electra_generator_config(CONFIG, share)
