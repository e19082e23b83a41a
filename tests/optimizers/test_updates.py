"""AdamW, LAMB and StableAdamW against the formulas of their papers."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.optimizers import (
  adamw,
  lamb,
  moments,
  schedules,
  stable_adamw,
)

RATE, DECAY, BETAS, EPSILON = 0.1, 0.3, (0.9, 0.98), 1e-6
RNG = np.random.default_rng(0)
KERNEL, BIAS = (RNG.normal(size=n).astype("float32") for n in ((3, 5), 5))
# The third is surprising: 30 times as large as those before.
GRADIENTS = [
  [
    (scale * RNG.normal(size=weights.shape)).astype("float32")
    for weights in (KERNEL, BIAS)
  ]
  for scale in (1.0, 1.0, 30.0, 1.0)
]
OPTIMIZERS = {
  "adamw": adamw.AdamW,
  "lamb": lamb.LAMB,
  "stable_adamw": stable_adamw.StableAdamW,
}


def make(name, **options):
  return OPTIMIZERS[name](
    **{
      "learning_rate": RATE,
      "weight_decay_rate": DECAY,
      "beta_1": BETAS[0],
      "beta_2": BETAS[1],
      "epsilon": EPSILON,
      **options,
    }
  )


def variables(kernel=KERNEL):
  with keras.name_scope("dense"):
    return [
      keras.Variable(kernel, name="kernel"),
      keras.Variable(BIAS, name="bias"),
    ]


def trained(optimizer, gradients=GRADIENTS, kernel=KERNEL):
  """Returns (kernel, bias) after a step of each pair of gradients."""
  weights = variables(kernel)
  for pair in gradients:
    optimizer.apply([tf.constant(g) for g in pair], weights)
  return [weight.numpy() for weight in weights]


def original_adamw(w, g, m, v, t, decay):
  del g, t
  return RATE * (m / (np.sqrt(v) + EPSILON) + decay * w)


def paper_lamb(w, g, m, v, t, decay):
  del g
  m, v = m / (1 - BETAS[0] ** t), v / (1 - BETAS[1] ** t)
  update = m / (np.sqrt(v) + EPSILON) + decay * w
  ratio = np.linalg.norm(w) / np.linalg.norm(update) if decay else 1.0
  return RATE * ratio * update


def paper_stable_adamw(w, g, m, v, t, decay):
  m, v = m / (1 - BETAS[0] ** t), v / (1 - BETAS[1] ** t)
  rms = np.sqrt(np.mean(g**2 / np.maximum(v, EPSILON**2)))
  assert (t == 3) == (rms > 1.5)
  update = m / (np.sqrt(v) + EPSILON) + decay * w
  return RATE / max(1.0, rms) * update


FORMULAS = {
  "adamw": original_adamw,
  "lamb": paper_lamb,
  "stable_adamw": paper_stable_adamw,
}


def expected(formula):
  """Returns (kernel, bias) after all gradients; biases do not decay."""
  found = []
  for index, (w, decay) in enumerate(((KERNEL, DECAY), (BIAS, 0.0))):
    w, m, v = w.astype("float64"), 0.0, 0.0
    for t, pair in enumerate(GRADIENTS, start=1):
      g = pair[index].astype("float64")
      m = BETAS[0] * m + (1 - BETAS[0]) * g
      v = BETAS[1] * v + (1 - BETAS[1]) * g**2
      w = w - formula(w, g, m, v, t, decay)
    found.append(w)
  return found


@pytest.mark.parametrize(
  "fewest",
  [
    2**18,
    # Compiled, as the update of a large variable is.
    pytest.param(1, marks=pytest.mark.xla),
  ],
)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_four_steps_equal_the_paper(name, fewest, monkeypatch):
  monkeypatch.setattr(moments, "_LARGE", fewest)
  for found, wanted in zip(trained(make(name)), expected(FORMULAS[name])):
    # 1 - beta_2 in float32 is 2e-6 off.
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


@pytest.mark.parametrize(
  ("name", "is_corrected"), [("adamw", True), ("lamb", False)]
)
def test_bias_correction_can_be_chosen(name, is_corrected):
  optimizer = make(
    name, use_bias_correction=is_corrected, weight_decay_rate=0.0
  )
  _, bias = trained(optimizer, GRADIENTS[:1])
  # Adam's first step: the signs; uncorrected it is 0.1 / sqrt(0.02) times that.
  length = RATE * (1 if is_corrected else 0.1 / np.sqrt(0.02))
  np.testing.assert_allclose(np.abs(bias - BIAS), length, rtol=1e-3)


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


def test_lamb_takes_steps_as_long_as_the_layer_whatever_the_gradients():
  usual = trained(make("lamb", weight_decay_rate=0.0))[0] - KERNEL
  scaled = [[1000 * g for g in pair] for pair in GRADIENTS]
  again = trained(make("lamb", weight_decay_rate=0.0), scaled)[0] - KERNEL
  np.testing.assert_allclose(again, usual, rtol=1e-3)
  large = trained(make("lamb", weight_decay_rate=0.0), kernel=10 * KERNEL)[0]
  np.testing.assert_allclose(large - 10 * KERNEL, 10 * usual, rtol=1e-3)


def test_weights_of_zero_are_trained_and_zero_gradients_leave_them():
  # A norm of 0 has no ratio: 1 is taken.
  kernel, _ = trained(make("lamb"), GRADIENTS[:1], np.zeros_like(KERNEL))
  signs = np.sign(GRADIENTS[0][0])
  np.testing.assert_allclose(kernel, -RATE * signs, rtol=1e-3)
  zeros = [[np.zeros_like(KERNEL), np.zeros_like(BIAS)]]
  kernel, _ = trained(make("lamb", weight_decay_rate=0.0), zeros)
  np.testing.assert_array_equal(kernel, KERNEL)
  kernel, _ = trained(make("stable_adamw"), zeros)
  np.testing.assert_allclose(kernel, (1 - RATE * DECAY) * KERNEL, rtol=1e-6)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_moments_have_one_name_on_disk_and_options_come_back(name):
  optimizer = make(name)
  optimizer.build(variables())
  assert list(optimizer.slot_variables()) == [
    f"dense/{weights}/{slot}"
    for slot in ("adam_m", "adam_v")
    for weights in ("kernel", "bias")
  ]
  config = optimizer.get_config()
  assert config["epsilon"] == EPSILON
  assert OPTIMIZERS[name].from_config(config).get_config() == config


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
