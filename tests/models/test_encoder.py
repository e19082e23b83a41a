import dataclasses
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import layers, models
from keras_bert_impl.layers.basics import layer
from tests import architectures

TINY = architectures.small(num_hidden_layers=3, max_position_embeddings=20)


make_inputs = architectures.inputs


def assert_all_equal(first, second):
  assert first.keys() == second.keys()
  for name in first:
    np.testing.assert_array_equal(first[name], second[name])


def test_it_returns_sequence_and_pooled_output():
  outputs = models.TransformerEncoder(TINY)(make_inputs())
  assert {name: (x.shape, x.dtype) for name, x in outputs.items()} == {
    "sequence_output": ((3, 7, 16), "float32"),
    "pooled_output": ((3, 16), "float32"),
  }


def test_every_hidden_state_and_attention_probability_is_reachable():
  encoder = models.TransformerEncoder(TINY)
  assert len(encoder.hidden_states) == 4 and len(encoder.attention_probs) == 3
  inner = keras.Model(
    encoder.input, encoder.hidden_states[-2:] + encoder.attention_probs
  )
  *hidden, first, _, _ = inner(make_inputs())
  expected = encoder(make_inputs())["sequence_output"]
  np.testing.assert_array_equal(hidden[1], expected)
  assert hidden[0].shape == (3, 7, 16) and first.shape == (3, 2, 7, 7)
  np.testing.assert_allclose(np.array(first).sum(-1), 1, rtol=1e-5)


def test_padding_does_not_change_the_output_at_real_positions():
  encoder = models.TransformerEncoder(TINY)
  inputs = make_inputs()
  padded = {
    name: np.pad(x, ((0, 0), (0, 5)), constant_values=filling)
    for (name, x), filling in zip(inputs.items(), (9, 0, 1), strict=True)
  }
  expected, outputs = encoder(inputs), encoder(padded)
  np.testing.assert_allclose(
    outputs["sequence_output"][:, :7], expected["sequence_output"], atol=1e-5
  )
  np.testing.assert_allclose(
    outputs["pooled_output"], expected["pooled_output"], atol=1e-5
  )


def test_without_padding_order_and_segments_matter():
  encoder = models.TransformerEncoder(TINY)
  inputs = make_inputs()
  for change in (
    {"input_ids": inputs["input_ids"][:, ::-1]},
    {"segment_ids": 1 - inputs["segment_ids"]},
  ):
    changed = encoder(inputs | change)["pooled_output"]
    assert not np.allclose(changed, encoder(inputs)["pooled_output"], atol=1e-3)


def test_a_causal_encoder_pools_the_last_token_that_is_none_of_padding():
  config = dataclasses.replace(TINY, use_causal_mask=True)
  encoder = models.TransformerEncoder(config)
  inputs = make_inputs()
  inputs["input_mask"][0, 4:] = 0
  pooled = np.array(encoder(inputs)["pooled_output"])
  short = {name: x[:1, :4] for name, x in inputs.items()}
  np.testing.assert_allclose(
    pooled[:1], encoder(short)["pooled_output"], atol=1e-6
  )
  # So that what is pooled has read the whole text.
  inputs["input_ids"][:, 1] = (inputs["input_ids"][:, 1] + 1) % 50
  changed = np.array(encoder(inputs)["pooled_output"])
  assert np.abs(changed - pooled).max(axis=1).min() > 1e-4


def test_a_causal_encoder_does_not_look_ahead():
  config = dataclasses.replace(TINY, use_causal_mask=True)
  encoder = models.TransformerEncoder(config)
  inputs, other = make_inputs(), make_inputs(seed=1)
  changed = {
    name: np.concatenate([inputs[name][:, :4], other[name][:, 4:]], axis=1)
    for name in inputs
  }
  first = np.array(encoder(inputs)["sequence_output"])
  second = np.array(encoder(changed)["sequence_output"])
  np.testing.assert_allclose(first[:, :4], second[:, :4], atol=1e-6)
  assert not np.allclose(first[:, 4:], second[:, 4:], atol=1e-3)


@pytest.mark.parametrize("window", [0, 4])
def test_right_to_left_is_left_to_right_on_reversed_tokens(window):
  forward, backward = (
    models.TransformerEncoder(
      dataclasses.replace(TINY, attention_window=window, **changes)
    )
    for changes in ({"use_causal_mask": True}, architectures.RIGHT_TO_LEFT)
  )
  inputs = make_inputs()
  positions = forward.embeddings.position_embeddings
  backward.set_weights(forward.get_weights())
  backward.embeddings.position_embeddings[:7].assign(positions[6::-1])
  expected = forward({name: x[:, ::-1] for name, x in inputs.items()})
  # Nor does padding, which is behind what was read last there, change it.
  padded = {name: np.pad(x, ((0, 0), (0, 3))) for name, x in inputs.items()}
  for outputs in (backward(inputs), backward(padded)):
    np.testing.assert_allclose(
      outputs["sequence_output"][:, 6::-1],
      expected["sequence_output"],
      atol=1e-6,
    )
    np.testing.assert_allclose(
      outputs["pooled_output"], expected["pooled_output"], atol=1e-6
    )


def test_its_options_change_its_variables_as_they_should():
  config = dataclasses.replace(
    TINY,
    embedding_size=8,
    position_embedding_type="sinusoidal",
  )
  encoder = models.TransformerEncoder(config, name="electra", use_pooler=False)
  shapes = {weight.path: tuple(weight.shape) for weight in encoder.weights}
  assert shapes["electra/embeddings/word_embeddings"] == (50, 8)
  mapping = "electra/encoder/embedding_hidden_mapping_in/kernel"
  assert shapes[mapping] == (8, 16)
  assert not any("position" in path or "pooler" in path for path in shapes)
  outputs = encoder(make_inputs())
  assert list(outputs) == ["sequence_output"]
  assert encoder.hidden_states[0].shape[-1] == 16


# The edges of the grid of released sizes: the count is linear in the layers.


def test_the_same_seed_initializes_the_same_weights():
  weights = []
  for _ in range(2):
    keras.utils.set_random_seed(7)
    weights.append(models.TransformerEncoder(TINY).get_weights())
  for first, second in zip(*weights, strict=True):
    np.testing.assert_array_equal(first, second)


@pytest.mark.xla  # which `fit` takes
def test_it_trains_and_reloads_inside_any_model(tmp_path):
  config = dataclasses.replace(TINY, num_hidden_layers=1)
  encoder = models.TransformerEncoder(config)
  outputs = keras.layers.Dense(1)(encoder(encoder.input)["pooled_output"])
  model = keras.Model(encoder.input, outputs)
  model.compile("adam", "mse")
  targets = np.array([[0.0], [1.0], [2.0]])
  before = np.array(encoder.weights[0])
  model.fit(make_inputs(), targets, verbose=0)
  assert (np.array(encoder.weights[0]) != before).any()
  model.save(tmp_path / "model.keras")
  again = keras.models.load_model(tmp_path / "model.keras")
  np.testing.assert_allclose(
    again(make_inputs()), model(make_inputs()), atol=1e-6
  )


def test_a_scaled_initializer_makes_only_the_ends_of_halves_smaller():
  def weights(**changes):
    keras.utils.set_random_seed(1)
    encoder = models.TransformerEncoder(dataclasses.replace(TINY, **changes))
    return {weight.path: np.array(weight) for weight in encoder.weights}

  plain, scaled = weights(), weights(use_scaled_initializer=True)
  ends = ("attention/output/dense/kernel", "/output/dense/kernel")
  changed = {name for name in plain if name.endswith(ends)}
  assert len(changed) == 6
  for name, value in plain.items():
    factor = 1 / np.sqrt(6) if name in changed else 1.0
    np.testing.assert_allclose(scaled[name], factor * value, rtol=1e-6)


def test_two_encoders_fit_into_one_model():
  generator = models.TransformerEncoder(TINY, name="generator")
  discriminator = models.TransformerEncoder(TINY, name="discriminator")
  inputs = {
    name: keras.Input((None,), dtype="int32", name=name)
    for name in make_inputs()
  }
  model = keras.Model(
    inputs,
    {
      "generator": generator(inputs)["pooled_output"],
      "discriminator": discriminator(inputs)["pooled_output"],
    },
  )
  outputs = model(make_inputs())
  expected = generator(make_inputs())["pooled_output"]
  np.testing.assert_array_equal(outputs["generator"], expected)
  paths = [weight.path for weight in model.weights]
  assert len(paths) == len(set(paths))


@pytest.mark.parametrize("num_buckets", [0, 8])
def test_a_mixed_model_is_near_a_float32_one_and_returns_float32(num_buckets):
  config = dataclasses.replace(TINY, relative_attention_num_buckets=num_buckets)
  encoder = models.TransformerEncoder(config)
  mixed = models.TransformerEncoder(config, dtype="mixed_bfloat16")
  mixed.set_weights(encoder.get_weights())
  outputs, expected = mixed(make_inputs()), encoder(make_inputs())
  assert mixed.hidden_states[1].dtype == "bfloat16"
  assert all(weight.dtype == "float32" for weight in mixed.weights)
  for name in expected:
    assert outputs[name].dtype == "float32"
    np.testing.assert_allclose(outputs[name], expected[name], atol=0.1)


def test_each_dropout_of_an_encoder_draws_its_own_mask():
  encoder = models.TransformerEncoder(TINY)
  paths = [
    inner.path
    for inner in layer.inner_layers(encoder)
    if isinstance(inner, layers.Dropout)
  ]
  assert len(paths) == len(set(paths)) == 1 + 3 * 3


@pytest.mark.integration
@pytest.mark.xla
def test_xla_computes_the_same_as_tensorflow():
  encoder = models.TransformerEncoder(TINY)
  compiled = tf.function(encoder, jit_compile=True)(make_inputs())
  expected = encoder(make_inputs())
  for name in expected:
    np.testing.assert_allclose(compiled[name], expected[name], atol=1e-5)


def test_layers_of_a_group_share_their_parameters():
  shared = dataclasses.replace(TINY, num_hidden_layers=4, num_hidden_groups=2)
  encoder = models.TransformerEncoder(shared)
  blocks = {
    weight.path.split("/attention/")[0]
    for weight in encoder.weights
    if "/attention/" in weight.path
  }
  assert blocks == {"bert/encoder/group_0", "bert/encoder/group_1"}
  assert len(encoder.hidden_states) == 5
  # The same as four layers of which each two have the same values.
  apart = models.TransformerEncoder(
    dataclasses.replace(shared, num_hidden_groups=None)
  )
  values = {weight.path: weight for weight in encoder.weights}
  for weight in apart.weights:
    path = weight.path
    for index in range(4):
      path = path.replace(f"/layer_{index}/", f"/group_{index // 2}/")
    weight.assign(values[path])
  for new, old in zip(
    apart(make_inputs()).values(), encoder(make_inputs()).values(), strict=True
  ):
    np.testing.assert_allclose(new, old, atol=1e-6)


def test_shared_layers_draw_a_dropout_mask_each():
  config = dataclasses.replace(
    TINY, num_hidden_layers=2, num_hidden_groups=1, hidden_dropout_prob=0.5
  )
  encoder = models.TransformerEncoder(config)
  states = keras.Model(encoder.input, encoder.hidden_states)
  block = encoder.get_layer("group_0")
  for weight in block.weights:  # Nothing but dropout's effect on a constant.
    is_bias = weight.path.endswith("output/dense/bias")
    weight.assign(np.full(weight.shape, 1.0 if is_bias else 0.0))
    if weight.path.endswith("gamma"):
      weight.assign(np.ones(weight.shape))
  with layers.random_seed([1, 2]):
    _, first, second = states(make_inputs(), training=True)
  assert (np.sign(first) != np.sign(second)).any()


def test_positions_with_an_offset_depend_on_the_mask():
  config = dataclasses.replace(TINY, position_offset=2, type_vocab_size=1)
  encoder = models.TransformerEncoder(config)
  inputs = make_inputs()
  padded = {
    name: np.concatenate([np.zeros((3, 2), "int32"), x], axis=1)
    for name, x in inputs.items()
  }
  # Counted from the first token, wherever the padding is.
  np.testing.assert_allclose(
    encoder(padded)["sequence_output"][:, 2:],
    encoder(inputs)["sequence_output"],
    atol=1e-5,
  )


def test_mask_and_segments_may_be_left_out():
  encoder = models.TransformerEncoder(TINY)
  inputs = make_inputs()
  inputs["segment_ids"][:] = 0
  assert_all_equal(encoder({"input_ids": inputs["input_ids"]}), encoder(inputs))
  classifier = models.SequenceClassifier(TINY, 2)
  assert_all_equal(
    classifier({"input_ids": inputs["input_ids"].tolist()}),
    classifier(inputs),
  )


def test_what_is_no_input_is_passed_over():
  encoder = models.TransformerEncoder(TINY)
  batch = make_inputs() | {"labels": np.zeros(3), "word_ids": np.ones((3, 7))}
  with warnings.catch_warnings():
    warnings.simplefilter("error")
    assert_all_equal(encoder(batch), encoder(make_inputs()))


@pytest.mark.parametrize(
  ("name", "ours"),
  [("attention_mask", "input_mask"), ("token_type_ids", "segment_ids")],
)
def test_an_input_under_a_foreign_name_is_not_passed_over(name, ours):
  encoder = models.TransformerEncoder(TINY)
  inputs = make_inputs()
  inputs[name] = inputs.pop(ours)
  with pytest.raises(ValueError, match=f"{name}' must be named '{ours}"):
    encoder(inputs)


@pytest.mark.parametrize(
  ("change", "message"),
  [
    ({"input_ids": [[-1, 3]]}, r"input_ids \(-1\) must be from 0 to 49"),
    ({"input_ids": [[50, 3]]}, r"input_ids \(50\) must be from 0 to 49"),
    ({"segment_ids": [[0, 2]]}, r"segment_ids \(2\) must be from 0 to 1"),
  ],
)
def test_ids_out_of_range_are_refused_in_calls_and_predictions(change, message):
  encoder = models.TransformerEncoder(TINY)
  inputs = {"input_ids": [[1, 3]], "segment_ids": [[0, 1]]} | change
  arrays = {name: np.array(x) for name, x in inputs.items()}
  for call in (
    lambda: encoder(inputs),
    lambda: encoder(arrays),
    lambda: encoder.predict(arrays, verbose=0),
  ):
    with pytest.raises(ValueError, match=message):
      call()
