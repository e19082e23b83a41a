"""AdamW against the original's formula."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.optimizers import adamw, schedules


def variables():
  with keras.name_scope("dense"):
    kernel = keras.Variable(np.array([[1.0, -2.0]], "float32"), name="kernel")
    bias = keras.Variable(np.array([0.5], "float32"), name="bias")
  return [kernel, bias]


def original_step(weights, m, v, gradient, rate, decay):
  """The update of google-research/bert's optimization.py, in NumPy."""
  m = 0.9 * m + 0.1 * gradient
  v = 0.999 * v + 0.001 * gradient**2
  update = m / (np.sqrt(v) + 1e-6) + decay * weights
  return weights - rate * update, m, v


def test_three_steps_equal_the_original_formula():
  kernel, bias = trained = variables()
  optimizer = adamw.AdamW(learning_rate=0.1, weight_decay_rate=0.01)
  optimizer.build(trained)
  expected = [(w.numpy(), 0.0, 0.0, d) for w, d in zip(trained, (0.01, 0.0))]
  gradients = [
    (np.array([[0.3, -0.1]]) * k, np.array([0.2]) / k) for k in (1, 2, 3)
  ]
  for pair in gradients:
    optimizer.apply([tf.constant(g, tf.float32) for g in pair], trained)
    expected = [
      (*original_step(w, m, v, g, 0.1, decay), decay)
      for (w, m, v, decay), g in zip(expected, pair)
    ]
  # 1 - beta_2 in float32 is 5e-5 off.
  np.testing.assert_allclose(kernel.numpy(), expected[0][0], rtol=1e-4)
  np.testing.assert_allclose(bias.numpy(), expected[1][0], rtol=1e-4)


def test_bias_correction_makes_the_first_step_one_learning_rate_long():
  trained = variables()
  before = [v.numpy() for v in trained]
  optimizer = adamw.AdamW(0.1, weight_decay_rate=0.0, use_bias_correction=True)
  optimizer.apply([tf.constant([[5.0, -3.0]]), tf.constant([0.01])], trained)
  for variable, start in zip(trained, before):
    np.testing.assert_allclose(np.abs(variable.numpy() - start), 0.1, rtol=5e-3)


def test_rows_gathered_twice_count_as_their_sum():
  def updated(gradient):
    table = keras.Variable(np.ones((3, 2), "float32"), name="table")
    optimizer = adamw.AdamW(0.1)
    optimizer.apply([gradient], [table])
    return [v.numpy() for v in (table, *optimizer.slot_variables().values())]

  slices = tf.IndexedSlices(
    values=tf.constant([[1.0, 2.0], [3.0, -1.0]]),
    indices=tf.constant([1, 1]),
    dense_shape=tf.constant([3, 2]),
  )
  for ours, dense in zip(
    updated(slices), updated(tf.constant([[0.0, 0], [4, 1], [0, 0]]))
  ):
    np.testing.assert_allclose(ours, dense)


@pytest.mark.parametrize(
  ("path", "excluded"),
  [
    ("bert/encoder/layer_0/attention/self/query/kernel", False),
    ("bert/embeddings/word_embeddings", False),
    ("bert/encoder/layer_0/output/LayerNorm/gamma", True),
    ("bert/encoder/layer_0/output/dense/bias", True),
    ("cls/predictions/output_bias", True),
  ],
)
def test_decay_skips_layer_norm_and_bias(path, excluded):
  assert adamw.AdamW().is_excluded(path) is excluded


def test_betas_and_epsilon_are_those_given():
  kernel, bias = trained = variables()
  before = kernel.numpy()
  optimizer = adamw.AdamW(
    0.1, weight_decay_rate=0.0, beta_1=0.8, beta_2=0.98, epsilon=0.5
  )
  gradient = np.array([[0.3, -0.1]], "float32")
  optimizer.apply([tf.constant(gradient), tf.zeros([1])], trained)
  update = 0.2 * gradient / (np.sqrt(0.02 * gradient**2) + 0.5)
  np.testing.assert_allclose(kernel.numpy(), before - 0.1 * update, rtol=1e-5)


@pytest.mark.xla  # which `fit` takes
def test_a_model_compiled_with_it_trains_saves_and_loads(tmp_path):
  keras.utils.set_random_seed(2)
  model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
  model.compile(adamw.AdamW(schedules.WarmupThenLinearDecay(0.1, 2, 50)), "mse")
  x = np.random.default_rng(0).normal(size=(64, 2)).astype("float32")
  history = model.fit(x, x[:, :1] - x[:, 1:], epochs=10, verbose=0).history
  assert history["loss"][-1] < 0.5 * history["loss"][0]
  model.save(tmp_path / "model.keras")
  loaded = keras.models.load_model(tmp_path / "model.keras")
  for ours, theirs in zip(
    model.optimizer.variables, loaded.optimizer.variables
  ):
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
