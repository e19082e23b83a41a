"""Dense layers and GELU compute the same in their faster forms."""

import functools
import gc
import weakref

import keras
import numpy as np
import pytest
import scipy.special
import tensorflow as tf

from keras_bert_impl.layers.basics import kernels
from keras_bert_impl.layers.basics import layer as base

GELUS = [keras.activations.gelu, kernels.gelu_new]
# From where the slope is almost 0 to where it is almost 1.
X = np.linspace(-8, 8, 101, dtype="float32")


@pytest.fixture(autouse=True, params=[0, 2**15], ids=["compiled", "few"])
def fewest_numbers(request, monkeypatch):
  """How many numbers are worth a program of XLA; these tests have few."""
  monkeypatch.setattr(kernels, "_FEWEST_NUMBERS", request.param)
  # What was traced for these shapes has what was worth one then.
  kernels._traced.cache_clear()
  kernels._program.cache_clear()
  return request.param


def value_and_gradient(function, x, upstream=None):
  with tf.GradientTape() as tape:
    tape.watch(x)
    y = function(x)
  return y, tape.gradient(y, x, tf.cos(x) if upstream is None else upstream)


def compiled_functions(function, shape):
  graph = function.get_concrete_function(tf.TensorSpec(shape)).graph
  functions = graph.as_graph_def().library.function
  return [f for f in functions if f.attr["_XlaMustCompile"].b]


@pytest.mark.parametrize("num_rows", [8, None])
def test_what_is_compiled_does_not_depend_on_what_was_before(
  num_rows, fewest_numbers
):
  def slopes(x):
    weights = tf.ones([4]), tf.zeros([4])
    return value_and_gradient(
      lambda x: kernels.layer_norm(x, *weights, 1e-6, training=True), x
    )

  def count():
    return len(compiled_functions(tf.function(slopes), [num_rows, 4]))

  expected = count()
  assert bool(expected) == (num_rows is None or not fewest_numbers)
  kernels._traced.cache_clear()
  compiled_functions(tf.function(slopes), [None if num_rows else 8, 4])
  assert count() == expected


def in_training(activation):
  return lambda x: kernels.finish(x, None, activation, training=True)


@pytest.mark.parametrize("is_traced", [False, True])
@pytest.mark.parametrize("activation", GELUS)
def test_gelu_and_its_gradient_are_those_of_keras(activation, is_traced):
  function = in_training(activation)
  found = value_and_gradient(
    tf.function(function) if is_traced else function, tf.constant(X)
  )
  expected = value_and_gradient(activation, tf.constant(X))
  for a, b in zip(found, expected, strict=True):
    np.testing.assert_allclose(a, b, atol=2e-6)


@pytest.mark.parametrize("activation", GELUS)
def test_gelu_in_bfloat16_is_rounded_once(activation):
  x = tf.cast(X, tf.bfloat16)
  found = value_and_gradient(in_training(activation), x)
  for a, b in zip(
    found, value_and_gradient(activation, tf.cast(x, tf.float32)), strict=True
  ):
    assert a.dtype == tf.bfloat16
    np.testing.assert_allclose(tf.cast(a, tf.float32), b, rtol=2**-7, atol=1e-3)


def test_gelu_has_a_second_derivative():
  x = tf.constant(X)
  with tf.GradientTape() as tape:
    tape.watch(x)
    _, slope = value_and_gradient(in_training(keras.activations.gelu), x)
  assert np.isfinite(tape.gradient(slope, x)).all()


@pytest.mark.parametrize(
  ("shape", "is_dynamic", "training"),
  [
    ((6, 4), False, False),
    ((2, 3, 4), True, False),
    ((6, 4), True, True),
    ((2, 3, 5, 4), False, True),
  ],
)
def test_a_dense_layer_is_that_of_keras(shape, is_dynamic, training):
  ours = base.Dense(7, "gelu", bias_initializer="normal")
  keras_layer = keras.layers.Dense(7, "gelu")
  x = np.random.default_rng(0).normal(size=shape).astype("float32")
  for layer in (ours, keras_layer):
    layer.build(shape)
  keras_layer.set_weights(ours.get_weights())
  signature = [tf.TensorSpec([None] * (len(shape) - 1) + [shape[-1]])]
  call = tf.function(
    lambda x: ours(x, training=training),
    input_signature=signature if is_dynamic else None,
  )
  np.testing.assert_allclose(call(x), keras_layer(x), atol=1e-6)


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", None])
def test_gradients_of_a_dense_layer_are_those_of_keras(activation):
  function = kernels.activation(activation)
  ours = base.Dense(7, function, bias_initializer="normal")
  keras_layer = keras.layers.Dense(7, function)
  rng = np.random.default_rng(0)
  x, upstream = rng.normal(size=(2, 4, 5, 7)).astype("float32")[..., :7]
  gradients = []
  for layer in (ours, keras_layer):
    layer.build(x.shape)
  keras_layer.set_weights(ours.get_weights())
  for call in (lambda x: ours(x, training=True), keras_layer):
    layer = keras_layer if call is keras_layer else ours
    weights = [layer.kernel.value, layer.bias.value]
    with tf.GradientTape() as tape:
      inputs = tf.constant(x)
      tape.watch(inputs)
      y = call(inputs)
    gradients.append(tape.gradient(y, [inputs, *weights], upstream))
  for a, b in zip(*gradients, strict=True):
    np.testing.assert_allclose(a, b, atol=1e-5)


def test_scores_of_rows_are_a_product_with_the_transposed_table():
  rng = np.random.default_rng(0)
  x, table = rng.normal(size=(6, 5)), rng.normal(size=(9, 5))
  found = kernels.score_rows(tf.constant(x), tf.constant(table))
  np.testing.assert_allclose(found, x @ table.T)


def test_without_bias_or_activation_it_is_a_product():
  layer = base.Dense(3, use_bias=False)
  x = np.ones((2, 5, 4), "float32")
  np.testing.assert_allclose(layer(x), x @ layer.kernel.numpy(), rtol=1e-6)


@pytest.mark.parametrize("training", [False, True])
def test_only_training_has_functions_that_xla_compiles(training):
  layer = base.Dense(4, "gelu")
  layer.build((None, 4))
  call = tf.function(lambda x: layer(x, training=training))
  assert bool(compiled_functions(call, [None, 4])) == training


def test_few_numbers_are_not_worth_a_program_of_xla(fewest_numbers):
  layer = base.Dense(4, "gelu")
  layer.build((None, 4))
  call = tf.function(lambda x: layer(x, training=True))
  assert bool(compiled_functions(call, [8, 4])) == (fewest_numbers == 0)


@pytest.fixture(params=[5, 2000])
def classified(request):
  rng = np.random.default_rng(0)
  logits = rng.normal(size=(3, 4, request.param)).astype("float32")
  labels = rng.integers(0, request.param, (3, 4)).astype("int32")
  rows = np.arange(3)[:, None], np.arange(4)[None]
  logits[0] = 7.0  # Every class is the largest: the first one is predicted.
  labels[0, 0] = 0
  logits[rows[0], rows[1], labels] += rng.choice([0.0, 9.0], (3, 4))
  return tf.constant(logits), tf.constant(labels)


def test_cross_entropy_and_its_gradient_are_those_of_keras(classified):
  logits, labels = classified
  upstream = tf.reshape(tf.range(12.0), (3, 4))
  found, expected = (
    value_and_gradient(function, logits, upstream)
    for function in (
      lambda x: kernels.cross_entropy(x, labels),
      lambda x: keras.ops.sparse_categorical_crossentropy(
        labels, x, from_logits=True
      ),
    )
  )
  for a, b in zip(found, expected, strict=True):
    np.testing.assert_allclose(a, b, atol=1e-5)


def test_smoothed_labels_are_those_of_keras(classified):
  logits, labels = classified
  size = logits.shape[-1]
  truth = 0.9 * keras.ops.one_hot(labels, size) + 0.1 / size
  upstream = tf.reshape(tf.range(12.0), (3, 4))
  found, expected = (
    value_and_gradient(function, logits, upstream)
    for function in (
      lambda x: kernels.cross_entropy(x, labels, 0.1),
      lambda x: keras.ops.categorical_crossentropy(truth, x, from_logits=True),
    )
  )
  for a, b in zip(found, expected, strict=True):
    np.testing.assert_allclose(a, b, atol=1e-5)


def test_a_label_beyond_the_vocabulary_has_no_loss(fewest_numbers):
  logits, labels = tf.zeros((3, 2000)), tf.constant([0, -1, 2000])
  if fewest_numbers:
    with pytest.raises(tf.errors.InvalidArgumentError):
      kernels.cross_entropy(logits, labels)
    return
  losses = kernels.cross_entropy(logits, labels)
  np.testing.assert_array_equal(np.isnan(losses), [False, True, True])


@pytest.mark.integration
def test_a_second_derivative_is_that_of_the_formula(classified):
  logits, labels = classified
  with tf.GradientTape() as tape:
    tape.watch(logits)
    _, slope = value_and_gradient(
      lambda x: kernels.cross_entropy(x, labels), logits, tf.ones((3, 4))
    )
    slope **= 2  # The slopes themselves sum to 0.
  found = tape.gradient(slope, logits)

  # In float64: Keras itself is off by more than 1e-5 on some machines.
  probability = scipy.special.softmax(logits.numpy().astype("float64"), axis=-1)
  weighted = probability * (probability - np.eye(logits.shape[-1])[labels])
  mean = np.sum(weighted, axis=-1, keepdims=True)
  expected = 2 * (weighted - probability * mean)
  np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_first_of_the_largest_logits_is_predicted(classified):
  logits, labels = classified
  expected = np.argmax(logits, axis=-1) == labels.numpy()
  assert expected.any() and not expected.all()
  for found in (kernels.is_predicted, tf.function(kernels.is_predicted)):
    np.testing.assert_array_equal(found(logits, labels), expected)


def arrange_halves(x):
  return x[:, ::2], x[:, 1::2]


@pytest.mark.integration
@pytest.mark.parametrize(
  "function",
  [
    in_training(keras.activations.gelu),
    lambda x: kernels.layer_norm(x, tf.ones(8), tf.zeros(8), 1e-6, True),
    lambda x: kernels.drop(0.1, lambda s, *_: tf.zeros(s, tf.uint16), 0, x),
    lambda x: kernels.arrange(arrange_halves, (x,), (), True)[0],
    lambda x: kernels.cross_entropy(tf.tile(x, [1, 256]), tf.zeros(4, "int32")),
  ],
  ids=["finish", "layer_norm", "drop", "arrange", "cross_entropy"],
)
def test_a_graph_in_training_is_not_kept(function):
  graphs = []
  for _ in range(2):  # What the first one makes serves all of its shapes.

    @functools.partial(tf.function, autograph=False)
    def gradient(x):
      with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
      return tape.gradient(y, x)

    graph = gradient.get_concrete_function(tf.TensorSpec([4, 8])).graph
    graphs.append(weakref.ref(graph))
    del gradient, graph
  gc.collect()
  assert [graph() for graph in graphs] == [None, None]
