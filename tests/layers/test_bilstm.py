import numpy as np

from keras_bert_impl import layers


def run(layer, hidden, lengths):
  mask = np.arange(hidden.shape[1]) < np.array(lengths)[:, None]
  return np.array(layer(hidden, mask.astype("int32")))


def test_both_directions_equal_the_equations_of_an_lstm():
  layer = layers.BiLSTM(1)
  hidden = np.array([[[0.5], [-1.0]]], "float32")
  run(layer, hidden, [2])
  for weight in layer.weights:
    weight.assign(np.full(weight.shape, 0.3, "float32"))

  def sigmoid(x):
    return 1 / (1 + np.exp(-x))

  def states(inputs):
    h = c = 0.0
    for x in inputs:
      gate = 0.3 * x + 0.3 * h + 0.3
      c = sigmoid(gate) * c + sigmoid(gate) * np.tanh(gate)
      h = sigmoid(gate) * np.tanh(c)
      yield h

  forward, backward = list(states([0.5, -1.0])), list(states([-1.0, 0.5]))
  expected = [[forward[0], backward[1]], [forward[1], backward[0]]]
  np.testing.assert_allclose(run(layer, hidden, [2])[0], expected, rtol=1e-5)


def test_padding_changes_nothing_and_gives_zeros():
  layer = layers.BiLSTM(4)
  hidden = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")
  output = run(layer, hidden, [3, 0])
  np.testing.assert_allclose(
    output[:1, :3], run(layer, hidden[:1, :3], [3]), atol=1e-6
  )
  assert not output[0, 3:].any() and not output[1].any()
