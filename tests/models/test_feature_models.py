import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs, models
from tests import architectures

CONFIG = architectures.small(
  hidden_size=8, num_hidden_layers=4, intermediate_size=16
)


def make(features="last", **options):
  return models.FeatureTagger(CONFIG, 5, features, lstm_width=6, **options)


def make_inputs():
  return architectures.inputs((2, 7))


@pytest.mark.parametrize(
  "features, layers",
  [
    ("embeddings", [0]),
    ("second_to_last", [3]),
    ("last", [4]),
    ("concat_last_four", [1, 2, 3, 4]),
  ],
)
def test_the_bilstm_reads_the_layers_of_that_name(features, layers):
  model = make(features)
  [first] = [layer for layer in model.layers if layer.name == "bilstm_0"]
  read = keras.Model(model.input, first.input[0])(make_inputs())
  expected = [
    keras.Model(model.input, model.encoder.hidden_states[index])(make_inputs())
    for index in layers
  ]
  np.testing.assert_array_equal(read, np.concatenate(expected, axis=-1))


@pytest.mark.integration
@pytest.mark.parametrize(
  ("features", "dtype"),
  [
    ("second_to_last", "float32"),
    ("weighted_sum_from_embeddings", "float32"),
    ("concat_last_four", "mixed_bfloat16"),
  ],
)
def test_its_parts_one_after_the_other_are_the_whole(features, dtype):
  model = make(features, dtype=dtype, use_crf=True)
  inputs = {**make_inputs(), "label_ids": np.zeros((2, 7), "int32")}
  inputs["input_mask"][1, 5:] = 0
  states = model.encode(inputs)
  assert states.shape == (2, 7, len(model.layers_read), 8)
  assert states.dtype == ("bfloat16" if "bf" in dtype else "float32")
  inputs = {"hidden_states": states, "input_mask": inputs["input_mask"]}
  outputs = model.read(inputs)
  expected = model({**make_inputs(), **inputs})
  assert [*outputs] == [*expected] == ["logits", "transitions"]
  assert outputs["logits"].shape == (2, 7, 5)
  assert outputs["logits"].dtype == "float32"
  for name, values in expected.items():
    np.testing.assert_allclose(outputs[name], values, atol=1e-6)


def test_sums_have_one_learned_scalar_a_layer():
  model = make("weighted_sum_last_four")
  [scalars] = [w for w in model.trainable_weights if "mix_logits" in w.path]
  assert scalars.shape == (4,)


def test_a_frozen_encoder_is_not_trained_and_has_no_dropout():
  model = make()
  assert model.config == CONFIG
  assert not any("bert/" in w.path for w in model.trainable_variables)
  assert any("bilstm_1" in w.path for w in model.trainable_variables)
  encoder = keras.Model(model.input, model.encoder.hidden_states[-1])
  np.testing.assert_allclose(
    encoder(make_inputs(), training=True), encoder(make_inputs()), atol=1e-6
  )


@pytest.mark.integration
@pytest.mark.parametrize(
  ("features", "is_frozen"),
  [("last", False), ("weighted_sum_last_four", True)],
)
def test_all_that_is_trained_gets_gradients(features, is_frozen):
  model = make(features, is_frozen=is_frozen)
  with tf.GradientTape() as tape:
    loss = tf.reduce_sum(model(make_inputs(), training=True)["logits"] ** 2)
  variables = [v.value for v in model.trainable_variables]
  paths = [v.path for v in model.trainable_variables]
  gradients = dict(zip(paths, tape.gradient(loss, variables)))
  is_of_encoder = "bert/encoder/layer_0/output/dense/kernel" in gradients
  assert is_of_encoder == (not is_frozen)
  for path, gradient in gradients.items():
    assert gradient is not None and np.any(gradient), path


def test_padding_does_not_change_the_output():
  model = make("weighted_sum_all")
  inputs = make_inputs()
  padded = {k: np.pad(x, ((0, 1), (0, 3))) for k, x in inputs.items()}
  padded["input_ids"][:, 7:] = 9
  logits = model(padded)["logits"]
  assert np.isfinite(logits).all()  # of the row of padding too
  np.testing.assert_allclose(logits[:2, :7], model(inputs)["logits"], atol=1e-6)


def test_it_reads_in_both_directions():
  model = make("embeddings")
  before = model(make_inputs())["logits"]
  inputs = make_inputs()
  inputs["input_ids"][:, 3] += 1
  changed = np.abs(model(inputs)["logits"] - before).max(axis=(0, 2))
  assert changed[0] > 0 and changed[6] > 0


def test_features_that_there_are_not_are_refused():
  with pytest.raises(ValueError, match="'first'.*concat_last_four"):
    make("first")
  small = configs.EncoderConfig(50, 8, 2, 2, 16)
  with pytest.raises(ValueError, match="needs 4 layers.*num_hidden_layers=2"):
    models.FeatureTagger(small, 5, "concat_last_four")
