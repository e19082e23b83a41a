import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl import layers, models
from tests import architectures, slow

POSITIONS = np.array([[3, 0, 3], [5, 6, 1], [2, 4, 0]], "int32")
ROTARY = {"position_embedding_type": "rotary", "norm_first": True}
SOME_STATES = {
  "learned": {},
  "rotary": ROTARY,
  "rotary, post-norm": {**ROTARY, "norm_first": False},
  "one layer": {"norm_first": True, "num_hidden_layers": 1},
}
ALL_STATES = {
  "alibi": {"position_embedding_type": "alibi"},
  "relative": {"relative_attention_num_buckets": 6},
  "deberta": architectures.DEBERTA,
  "window": architectures.MODERNBERT,
  "left to right": {"use_causal_mask": True},
  "first token that is seen": {**ROTARY, "classifier_pooling": "cls"},
  "mean": {**ROTARY, "classifier_pooling": "mean"},
}


def make_models(config, **arguments):
  """Returns the model of the states at positions, and that of all states."""
  encoder = models.TransformerEncoder(config, **arguments)
  positions = keras.Input((None,), dtype="int32", name="masked_lm_positions")
  inputs = {**encoder.input, "masked_lm_positions": positions}
  states = layers.StatesAt()(encoder.output["sequence_output"], positions)
  whole = {**encoder.output, "sequence_output": states}
  return (
    kb.Model(inputs, encoder.output_at(positions)),
    kb.Model(inputs, whole),
  )


def padded_inputs():
  return {
    **architectures.inputs(),
    "input_mask": architectures.MASK,
    "masked_lm_positions": POSITIONS,
    "masked_lm_ids": np.ones_like(POSITIONS),
    "masked_lm_weights": np.ones(POSITIONS.shape, "float32"),
  }


def outputs_and_gradients(model, inputs):
  with tf.GradientTape() as tape:
    outputs = model(inputs, training=True)
    loss = tf.add_n([tf.reduce_sum(x**3) for x in outputs.values()])
  gradients = tape.gradient(loss, model.trainable_variables)
  paths = [weight.path for weight in model.trainable_variables]
  return {**outputs, **dict(zip(paths, map(tf.convert_to_tensor, gradients)))}


def layers_of_all_rows(model, width=architectures.SMALL["intermediate_size"]):
  """Returns how many feed-forward layers compute the states of all tokens.

  Args:
    model: `keras.Model`.
    width: int, of these layers.
  """
  inputs = {name: tf.constant(x) for name, x in padded_inputs().items()}
  graph = tf.function(model).get_concrete_function(inputs).graph
  products = [x for x in graph.get_operations() if x.type == "MatMul"]
  shapes = [x.outputs[0].shape.as_list() for x in products]
  return shapes.count([architectures.IDS.size, width])


@pytest.mark.parametrize("name", [*SOME_STATES, *ALL_STATES])
def test_states_at_positions_and_their_gradients_are_those_of_all(name):
  config = architectures.small(
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    **(SOME_STATES | ALL_STATES)[name],
  )
  some, whole = make_models(config)
  found = outputs_and_gradients(some, padded_inputs())
  expected = outputs_and_gradients(whole, padded_inputs())
  assert found.keys() == expected.keys()
  for key, value in expected.items():
    np.testing.assert_allclose(found[key], value, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
  "name", slow.all_but(("rotary",), [*SOME_STATES, *ALL_STATES])
)
def test_no_positions_are_no_states(name):
  config = architectures.small(**(SOME_STATES | ALL_STATES)[name])
  model = models.PretrainingModel(config, use_sentence_head=False)
  inputs = padded_inputs() | {"masked_lm_positions": np.zeros((3, 0), "int32")}
  specs = {k: tf.TensorSpec([None, None], tf.int32) for k in model.input}
  logits = tf.function(model, input_signature=[specs])(
    {k: inputs[k] for k in model.input}
  )["token_logits"]
  assert logits.shape == (3, 0, config.vocab_size)


def test_texts_of_packed_rows_stay_apart():
  some, whole = make_models(
    architectures.small(**ROTARY), use_pooler=False, use_sequence_ids=True
  )
  inputs = padded_inputs() | {
    "sequence_ids": np.array([[1, 1, 1, 2, 2, 2, 2]] * 3, "int32")
  }
  np.testing.assert_allclose(
    some(inputs)["sequence_output"], whole(inputs)["sequence_output"], atol=1e-5
  )


@pytest.mark.parametrize("name", SOME_STATES)
def test_the_last_layer_computes_no_other_states(name):
  config = architectures.small(**SOME_STATES[name])
  some, whole = make_models(config)
  assert layers_of_all_rows(whole) == config.num_hidden_layers
  assert layers_of_all_rows(some) == config.num_hidden_layers - 1


def test_a_classifier_computes_of_the_last_layer_the_first_state_alone():
  config = architectures.small()
  assert layers_of_all_rows(models.SequenceClassifier(config, 2)) == 1
  two_tasks = {"a": 2, "b": 1}
  assert layers_of_all_rows(models.MultiTaskClassifier(config, two_tasks)) == 1
  one_of_tokens = models.MultiTaskClassifier(config, two_tasks, ["b"])
  assert layers_of_all_rows(one_of_tokens) == 2


def test_a_generator_computes_of_its_last_layer_the_masked_tokens_alone():
  config = architectures.small()
  generator = architectures.small(intermediate_size=24)
  model = models.ElectraPretrainingModel(config, generator)
  assert layers_of_all_rows(model, width=24) == 1
  assert layers_of_all_rows(model) == 2


def test_masked_tokens_are_predicted_from_their_states_alone():
  model = models.PretrainingModel(architectures.small())
  assert layers_of_all_rows(model) == 1
  every = models.MaskedLanguageModel(model.config, use_sentence_head=True)
  weights = {weight.path: weight for weight in model.weights}
  for weight in every.weights:
    weight.assign(weights[weight.path])
  inputs = padded_inputs()
  found = model(inputs)
  expected = every({x: inputs[x] for x in every.input})
  logits = np.take_along_axis(
    np.array(expected["token_logits"]), POSITIONS[..., None], axis=1
  )
  np.testing.assert_allclose(found["token_logits"], logits, atol=1e-5)
  np.testing.assert_allclose(
    found["sentence_logits"], expected["sentence_logits"], atol=1e-5
  )
