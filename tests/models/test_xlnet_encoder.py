"""XLNet's encoder: what it sees, remembers, and asks of the second stream."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs, models
from keras_bert_impl.layers import random_seed, rematerialize
from keras_bert_impl.layers.attention import scores
from tests import architectures

CONFIG = architectures.small(
  vocab_size=40,
  intermediate_size=24,
  initializer_range=0.3,
  position_embedding_type="transformer_xl",
  type_vocab_size=4,
  model_type="xlnet",
)
IDS = np.random.default_rng(0).integers(1, 40, (2, 9))


def encoder_of(use_pooler=False, like=None, options=None, **changes):
  """Returns an encoder of `CONFIG`, with the weights of another one."""
  config = dataclasses.replace(CONFIG, **changes)
  encoder = models.make_encoder(config, use_pooler=use_pooler, **options or {})
  if like:
    encoder.set_weights(like.get_weights())
  return encoder


def states(encoder, **inputs):
  return np.asarray(encoder(inputs)["sequence_output"])


def test_the_configuration_chooses_the_class():
  assert isinstance(encoder_of(), models.XLNetEncoder)
  bert = configs.EncoderConfig.preset("bert_tiny")
  assert isinstance(models.make_encoder(bert), models.TransformerEncoder)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_on_either_side_changes_nothing(side):
  encoder = encoder_of()
  width = ((0, 0), (4, 0) if side == "left" else (0, 4))
  padded = states(
    encoder,
    input_ids=np.pad(IDS, width),
    input_mask=np.pad(np.ones_like(IDS), width),
    segment_ids=np.pad(np.zeros_like(IDS), width, constant_values=3),
  )
  found = padded[:, 4:] if side == "left" else padded[:, :-4]
  np.testing.assert_allclose(found, states(encoder, input_ids=IDS), atol=2e-6)


def test_the_summary_is_of_the_last_place():
  encoder = encoder_of(use_pooler=True)
  mask = np.ones_like(IDS)
  mask[:, :3] = 0
  inputs = {"input_ids": IDS, "input_mask": mask}
  dense = encoder.get_layer("pooler").dense
  output = encoder(inputs)
  np.testing.assert_allclose(
    output["pooled_output"],
    dense(output["sequence_output"][:, -1]),
    atol=1e-6,
  )


def test_segments_are_only_equal_or_not():
  encoder = encoder_of()
  segments = np.repeat([[0, 1]], 2, 0).repeat([4, 5], 1)
  found = states(encoder, input_ids=IDS, segment_ids=segments)
  swapped = states(encoder, input_ids=IDS, segment_ids=3 - segments)
  np.testing.assert_allclose(found, swapped, atol=1e-6)
  assert np.abs(found - states(encoder, input_ids=IDS)).max() > 0.01


def test_a_causal_model_remembers_the_first_half_of_a_text():
  whole = encoder_of(use_causal_mask=True)
  parts = encoder_of(
    use_causal_mask=True, like=whole, options={"use_mems": True}
  )
  first = parts({"input_ids": IDS[:, :5]})
  assert first["mems"].shape == (2, 2, 5, 16)
  second = parts({"input_ids": IDS[:, 5:], "mems": first["mems"]})
  assert second["mems"].shape == (2, 2, 9, 16)
  np.testing.assert_allclose(
    np.concatenate([first["sequence_output"], second["sequence_output"]], 1),
    states(whole, input_ids=IDS),
    atol=2e-6,
  )


def test_memory_has_its_length_and_no_gradient():
  encoder = encoder_of(options={"use_mems": True}, mem_len=4, reuse_len=6)
  mems = tf.Variable(tf.random.normal((2, 2, 3, 16)))
  with tf.GradientTape() as tape:
    output = encoder({"input_ids": IDS, "mems": mems})["mems"]
  assert output.shape == (2, 2, 4, 16)
  np.testing.assert_allclose(
    output[:, 0],
    encoder.embeddings(IDS, 0 * IDS)[0][:, 2:6],
  )
  assert tape.gradient(output, mems) is None


def test_a_text_read_backwards_has_the_states_in_reverse():
  encoder = encoder_of(bi_data=True)
  forwards = states(encoder, input_ids=IDS, is_reversed=np.zeros(2, "int32"))
  backwards = states(
    encoder, input_ids=IDS[:, ::-1], is_reversed=np.ones(2, "int32")
  )
  np.testing.assert_allclose(backwards[:, ::-1], forwards, atol=2e-6)
  # As published: the second half of a batch.
  by_default = states(encoder, input_ids=np.concatenate([IDS, IDS[:, ::-1]]))
  np.testing.assert_allclose(by_default[:2], forwards, atol=2e-6)
  np.testing.assert_allclose(by_default[2:], backwards, atol=2e-6)


def test_distances_beyond_clamp_len_are_alike():
  encoder = encoder_of(clamp_len=2)
  # The first token is three or more from those that change places.
  ids = IDS[:, [0, 1, 2, 4, 3, 5, 6, 8, 7]]
  first = keras.Model(encoder.input, encoder.hidden_states[1])
  inputs = {"input_mask": np.ones_like(IDS), "segment_ids": 0 * IDS}
  np.testing.assert_allclose(
    first({"input_ids": ids, **inputs})[:, 0],
    first({"input_ids": IDS, **inputs})[:, 0],
    atol=1e-6,
  )


def test_a_query_knows_its_place_but_not_its_token():
  model = models.PermutationLanguageModel(CONFIG)
  mapping = np.zeros((2, 1, 9), "float32")
  mapping[:, 0, 4] = 1
  # Nobody sees token 4, and so none can tell the query of it.
  perm_mask = np.zeros((2, 9, 9), "float32")
  perm_mask[:, :, 4] = 1

  def logits(ids, mapping=mapping):
    return np.asarray(
      model(
        {"input_ids": ids, "perm_mask": perm_mask, "target_mapping": mapping}
      )["token_logits"]
    )

  assert logits(IDS).shape == (2, 1, 40)
  other = IDS.copy()
  other[:, 4] = 7
  np.testing.assert_array_equal(logits(other), logits(IDS))
  other[:, 5] = 7
  assert np.abs(logits(other) - logits(IDS)).max() > 0.01
  moved = np.roll(mapping, 1, axis=2)
  assert np.abs(logits(IDS, moved) - logits(IDS)).max() > 0.01


def test_a_packed_row_is_several_texts():
  encoder = encoder_of(options={"use_sequence_ids": True})
  numbers = np.repeat([[1, 2]], 2, 0).repeat([4, 5], 1)
  packed = states(encoder, input_ids=IDS, sequence_ids=numbers)
  alone = [states(encoder, input_ids=x) for x in (IDS[:, :4], IDS[:, 4:])]
  np.testing.assert_allclose(packed, np.concatenate(alone, 1), atol=2e-6)
  with pytest.raises(ValueError, match="A pooler reads one text"):
    encoder_of(use_pooler=True, options={"use_sequence_ids": True})


@pytest.mark.integration
def test_what_is_computed_again_has_the_same_gradient():
  model = models.PermutationLanguageModel(CONFIG)
  inputs = {
    "input_ids": IDS,
    "perm_mask": np.triu(np.ones((2, 9, 9), "float32")),
    "target_mapping": np.eye(9, dtype="float32")[[[1, 3], [2, 7]]],
  }
  found = []
  for is_on in (False, True):
    with tf.GradientTape() as tape, random_seed([1, 2]), rematerialize(is_on):
      logits = model(inputs, training=True)["token_logits"]
      loss = tf.reduce_sum(tf.square(logits))
    weights = {v.path: v.value for v in model.trainable_variables}
    found.append(tape.gradient(loss, weights))
  for name, gradient in found[0].items():
    gradient, again = map(tf.convert_to_tensor, (gradient, found[1][name]))
    np.testing.assert_allclose(gradient, again, atol=1e-4, err_msg=name)
    assert np.abs(gradient).max() > 0, name


@pytest.mark.integration
def test_blocks_of_a_row_change_nothing(monkeypatch):
  """Of both streams, with a memory and a text that is read backwards."""
  config = dataclasses.replace(
    CONFIG,
    num_hidden_layers=1,
    attention_probs_dropout_prob=0.0,
    bi_data=True,
  )
  model = models.PermutationLanguageModel(config, use_mems=True)
  rng = np.random.default_rng(1)
  inputs = {
    "input_ids": IDS,
    "is_reversed": np.array([0, 1]),
    "segment_ids": np.repeat([[0, 1]], 2, 0).repeat([4, 5], 1),
    "perm_mask": np.triu(np.ones((2, 9, 9), "float32")),
    "target_mapping": np.eye(9, dtype="float32")[[[1, 3], [2, 7]]],
    "mems": rng.normal(size=(2, 1, 4, 16)).astype("float32"),
  }

  @tf.function
  def run(length):
    del length  # Each is traced by itself.
    with tf.GradientTape() as tape, random_seed([1, 2]):
      logits = model(inputs, training=True)["token_logits"]
      loss = tf.reduce_sum(tf.square(logits))
    weights = [v.value for v in model.trainable_variables]
    return logits, *tape.gradient(loss, weights)

  expected = run("whole")
  monkeypatch.setattr(scores, "FEW_SCORES", 0)
  monkeypatch.setattr(scores, "CHUNK_SIZE", 4)
  for found, value in zip(run("blocks"), expected, strict=True):
    found, value = map(tf.convert_to_tensor, (found, value))
    atol = 1e-5 * max(np.abs(value).max(), 1.0)
    np.testing.assert_allclose(found, value, rtol=0, atol=atol)
