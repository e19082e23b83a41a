import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import layers, models
from tests import architectures

TINY = architectures.small(num_hidden_layers=1)


def make_inputs():
  places = np.random.default_rng(0).integers(0, 7, (3, 4)).astype("int32")
  return architectures.inputs() | {"masked_lm_positions": places}


def gradient_function(model, jit_compile):
  """Returns a function of the dropout seed."""
  inputs = {name: tf.constant(x) for name, x in make_inputs().items()}

  @tf.function(jit_compile=jit_compile)
  def compute(seed):
    with layers.random_seed(seed), tf.GradientTape() as tape:
      outputs = model(inputs, training=True)
      loss = tf.add_n([tf.reduce_sum(x**2) for x in outputs.values()])
    return [
      tf.convert_to_tensor(gradient)
      for gradient in tape.gradient(loss, model.trainable_variables)
    ]

  return lambda *seed: [x.numpy() for x in compute(tf.constant(seed))]


def test_it_returns_float32_logits_at_the_masked_positions():
  for dtype in ("float32", "mixed_bfloat16"):
    outputs = models.PretrainingModel(TINY, dtype=dtype)(make_inputs())
    assert {name: (x.shape, x.dtype) for name, x in outputs.items()} == {
      "token_logits": ((3, 4, 50), "float32"),
      "sentence_logits": ((3, 2), "float32"),
    }


def test_the_output_is_tied_to_the_word_embeddings():
  model = models.PretrainingModel(TINY)
  table = next(w for w in model.weights if w.path.endswith("word_embeddings"))
  before = np.array(model(make_inputs())["token_logits"])
  inputs = make_inputs()
  unused = next(i for i in range(50) if i not in inputs["input_ids"])
  changed = np.array(table)
  changed[unused] = 1.0
  table.assign(changed)
  after = np.array(model(inputs)["token_logits"])
  same = np.delete(before == after, unused, axis=-1)
  assert same.all() and (before[..., unused] != after[..., unused]).all()


def test_without_next_sentences_it_has_neither_head_nor_pooler():
  model = models.PretrainingModel(TINY, use_sentence_head=False)
  assert list(model(make_inputs())) == ["token_logits"]
  paths = [weight.path for weight in model.weights]
  assert not any("pooler" in p or "seq_relationship" in p for p in paths)
  assert list(model.encoder.output) == ["sequence_output"]


def test_training_it_trains_its_encoder():
  model = models.PretrainingModel(TINY)
  encoder_paths = {weight.path for weight in model.encoder.weights}
  assert encoder_paths < {weight.path for weight in model.weights}
  ids = [id(weight) for weight in model.weights]
  assert {id(weight) for weight in model.encoder.weights} < set(ids)
  assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
  ("dtype", "jit_compile"),
  [
    ("float32", False),
    pytest.param(
      "mixed_bfloat16", True, marks=[pytest.mark.xla, pytest.mark.integration]
    ),
  ],
)
def test_every_weight_has_a_gradient_that_depends_on_the_seed_alone(
  dtype, jit_compile
):
  keras.utils.set_random_seed(0)
  model = models.PretrainingModel(TINY, dtype=dtype)
  gradients = gradient_function(model, jit_compile)
  first = gradients(1, 2)
  for weight, gradient in zip(model.trainable_variables, first, strict=True):
    assert np.isfinite(gradient).all(), weight.path
    # Softmax does not see what is added to every key.
    if not weight.path.endswith("key/bias"):
      assert np.abs(gradient).max() > 0, weight.path
  for again, gradient in zip(gradients(1, 2), first, strict=True):
    np.testing.assert_array_equal(again, gradient)
  assert (gradients(1, 3)[0] != first[0]).any()


@pytest.mark.integration
@pytest.mark.xla
def test_xla_computes_the_same_gradients_as_tensorflow():
  config = dataclasses.replace(
    TINY, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
  )
  model = models.PretrainingModel(config)
  plain_gradients = gradient_function(model, jit_compile=False)(1, 2)
  compiled_gradients = gradient_function(model, jit_compile=True)(1, 2)
  for plain, compiled in zip(plain_gradients, compiled_gradients, strict=True):
    np.testing.assert_allclose(compiled, plain, atol=1e-4)
