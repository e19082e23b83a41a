"""Attention, hidden states and neighbours, of all kinds of encoders."""

import functools

import keras
import numpy as np
import pytest

from keras_bert_impl import models
from keras_bert_impl.serving import text_row
from keras_bert_impl.visualization import states
from tests import architectures
from tests.visualization import toy

slow = functools.partial(pytest.param, marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def inputs():
  row = text_row.make(toy.tokenizer(), [toy.TEXT], toy.LENGTH)
  return row.inputs


def make(**changes):
  return models.make_encoder(toy.config(**changes))


def outputs(encoder, tensors, inputs):
  model = keras.Model(encoder.input, tensors)
  return [np.array(x[0]) for x in model({k: inputs[k] for k in encoder.input})]


@pytest.mark.parametrize(
  "changes",
  [
    {},
    slow({"use_causal_mask": True}),
    slow(architectures.MODERNBERT),
    slow(architectures.DEBERTA),
  ],
  ids=["bert", "causal", "modernbert", "deberta"],
)
def test_the_attention_is_that_of_the_encoder(changes, inputs):
  encoder = make(**changes)
  reader = states.StateReader(encoder)
  found = reader.read(inputs)
  expected = outputs(encoder, encoder.attention_probs, inputs)
  np.testing.assert_allclose(found.attention, expected, atol=1e-7)
  np.testing.assert_allclose(found.attention.sum(-1), 1, atol=1e-5)
  assert reader.groups == ["1", "2"]
  expected = outputs(encoder, encoder.hidden_states, inputs)
  np.testing.assert_allclose(found.hidden, expected, atol=1e-6)


def test_a_pair_has_the_attention_of_both_directions(inputs):
  encoder = make(**architectures.PAIR)
  reader = states.StateReader(encoder, [2])
  found = reader.read(inputs)
  assert reader.groups == ["2 →", "2 ←"]
  ahead, back = found.attention
  assert np.triu(ahead, 1).max() == 0 and np.tril(back, -1).max() == 0
  [expected] = outputs(
    encoder.right_to_left,
    encoder.right_to_left.attention_probs,
    inputs,
  )[1:]
  np.testing.assert_allclose(back, expected, atol=1e-7)
  assert found.hidden.shape == (2, back.shape[-1], 32)


def test_layers_are_chosen_by_number(inputs):
  encoder = make()
  reader = states.StateReader(encoder, [2])
  found = reader.read(inputs)
  expected = outputs(encoder, encoder.attention_probs, inputs)
  np.testing.assert_allclose(found.attention[0], expected[1], atol=1e-7)
  assert len(found.attention) == 1 and len(found.hidden) == 2
  assert states.StateReader(encoder, [-2, -1]).groups == ["1", "2"]
  for layers in ([0], [1, 3], [-3]):
    with pytest.raises(ValueError, match="must be from 1 to 2"):
      states.StateReader(encoder, layers)
  with pytest.raises(ValueError, match="must be different"):
    states.StateReader(encoder, [2, -1])


def test_an_encoder_without_attention_is_refused_with_a_reason():
  with pytest.raises(ValueError, match="ELMo reads by LSTMs"):
    states.StateReader(make(**architectures.ELMO))
  xlnet = {"position_embedding_type": "transformer_xl"}
  with pytest.raises(ValueError, match="does not return its attention"):
    states.StateReader(make(**xlnet))


def cosine(a, b):
  return a @ b / np.sqrt((a @ a) * (b @ b))


def test_neighbours_are_the_nearest_by_cosine():
  hidden = np.random.default_rng(0).normal(size=(2, 9, 4))
  places, cosines = states.neighbours(hidden)
  assert places.shape == cosines.shape == (2, 9, states.NUM_NEIGHBOURS)
  for state, token in ((0, 0), (1, 4)):
    own = hidden[state, token]
    others = {
      other: cosine(own, hidden[state, other])
      for other in range(9)
      if other != token
    }
    best = sorted(others, key=others.get, reverse=True)[:5]
    assert places[state, token].tolist() == best
    found = cosines[state, token]
    np.testing.assert_allclose(found, [others[k] for k in best])
  # A row of two tokens has one neighbour each.
  assert states.neighbours(hidden[:, :2])[0].tolist() == [[[1], [0]]] * 2


def test_neighbours_in_the_vocabulary_are_other_tokens():
  encoder = make()
  reader = states.StateReader(encoder)
  table = np.array(encoder.embeddings.word_embeddings)
  # The last rows are no tokens.
  size = len(table) - 2
  ids, cosines = reader.neighbours_in_table(np.array([7, 3]), size)
  assert ids.shape == (2, 5) and 7 not in ids[0] and 3 not in ids[1]
  best = max(set(range(size)) - {7}, key=lambda k: cosine(table[7], table[k]))
  assert ids[0, 0] == best
  assert cosines[0, 0] == pytest.approx(cosine(table[7], table[best]))
