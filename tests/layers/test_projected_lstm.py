"""The layers of ELMo against equations written out."""

import numpy as np
import pytest

from keras_bert_impl import layers

RNG = np.random.default_rng(0)
HIDDEN = RNG.normal(size=(2, 5, 3)).astype("float32")
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], "int32")


def sigmoid(x):
  return 1 / (1 + np.exp(-x))


def read(rows, gates, bias, kernel, projection):
  """Returns the outputs of an LSTM for the tokens [T, E] of a text."""
  output, cell, outputs = np.zeros(projection.shape[1]), 0.0, []
  for token in rows:
    total = token @ gates + bias + output @ kernel
    enter, forget, leave, new = np.split(total, 4)
    cell = sigmoid(forget + 1) * cell + sigmoid(enter) * np.tanh(new)
    cell = np.clip(cell, -3, 3)
    output = np.clip(sigmoid(leave) * np.tanh(cell) @ projection, -3, 3)
    outputs.append(output)
  return np.array(outputs)


@pytest.mark.parametrize("is_reversed", [False, True])
def test_it_reads_each_text_as_the_equations_say(is_reversed):
  layer = layers.ProjectedLSTM(4, 2, is_reversed)
  layer(HIDDEN, MASK)
  # Large, so that both limits are reached.
  layer.set_weights([RNG.normal(0, 4, w.shape) for w in layer.weights])
  weights = layer.get_weights()
  found = np.array(layer(HIDDEN, MASK))
  assert np.abs(found).max() == 3
  for row, length in enumerate((5, 3)):
    text = HIDDEN[row, :length]
    step = -1 if is_reversed else 1
    expected = read(text[::step], *weights)[::step]
    np.testing.assert_allclose(found[row, :length], expected, atol=1e-4)
    assert not found[row, length:].any()


def test_inputs_are_added_in_each_direction():
  plain = layers.BidirectionalBlock(4, is_residual=False, dropout_rate=0.0)
  residual = layers.BidirectionalBlock(4, dropout_rate=0.0)
  forward, backward = HIDDEN, HIDDEN[:, ::-1]
  residual(forward, backward, MASK)
  alone = plain(forward, backward, MASK)
  residual.set_weights(plain.get_weights())
  added = residual(forward, backward, MASK)
  for before, without, found in zip(
    (forward, backward), alone, added, strict=True
  ):
    np.testing.assert_allclose(found, before + without, atol=1e-6)


def test_each_direction_drops_its_own():
  block = layers.BidirectionalBlock(4, False, dropout_rate=0.5)
  ones = np.ones((2, 5, 3), "float32")
  block(ones, ones, np.ones((2, 5)))
  with layers.random_seed([1, 2]):
    forward, backward = block(ones, ones, np.ones((2, 5)), training=True)
  assert ((np.array(forward) == 0) != (np.array(backward) == 0)).any()
