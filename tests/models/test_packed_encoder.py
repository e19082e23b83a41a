"""Texts in one row give what they give in rows of their own."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs, models
from tests import architectures, slow

BERT = configs.EncoderConfig(**architectures.SMALL)
FAMILIES = {
  "bert": BERT,
  "roberta": dataclasses.replace(
    BERT, position_offset=2, type_vocab_size=1, max_position_embeddings=18
  ),
  "distilbert": dataclasses.replace(
    BERT, type_vocab_size=0, position_embedding_type="sinusoidal"
  ),
  "mpnet": dataclasses.replace(
    BERT,
    position_offset=2,
    max_position_embeddings=18,
    relative_attention_num_buckets=8,
  ),
  "deberta": dataclasses.replace(
    BERT, **architectures.DEBERTA, norm_rel_ebd="layer_norm"
  ),
  "modernbert": dataclasses.replace(BERT, **architectures.MODERNBERT),
  "right_to_left": dataclasses.replace(BERT, **architectures.RIGHT_TO_LEFT),
  "pair": dataclasses.replace(BERT, **architectures.PAIR),
}
# The texts of two rows.
LENGTHS = ((5, 3, 6), (9, 4))
LENGTH = 15
NUM_TEXTS = 5


def unpacked_inputs():
  rng = np.random.default_rng(0)
  lengths = np.concatenate(LENGTHS)[:, None]
  mask = (np.arange(LENGTH) < lengths).astype("int32")
  return {
    "input_ids": rng.integers(0, 50, (NUM_TEXTS, LENGTH)).astype("int32")
    * mask,
    "input_mask": mask,
    "segment_ids": np.zeros((NUM_TEXTS, LENGTH), "int32"),
  }


def packed(columns):
  """Returns int32 [texts, L] in the rows of `LENGTHS`, padded with 0."""
  columns = iter(columns)
  rows = [
    np.concatenate([next(columns)[:length] for length in row])
    for row in LENGTHS
  ]
  return np.stack([np.pad(row, (0, LENGTH - len(row))) for row in rows])


def packed_inputs(inputs):
  ids = [np.full(LENGTH, k + 1) for row in LENGTHS for k in range(len(row))]
  return {
    **{name: packed(x) for name, x in inputs.items()},
    "sequence_ids": packed(ids).astype("int32"),
  }


def encoders(config):
  """Returns one for rows of one text, one for several, of equal weights."""
  alone, together = (
    models.make_encoder(config, use_pooler=False, use_sequence_ids=is_packed)
    for is_packed in (False, True)
  )
  assert [w.path for w in alone.weights] == [w.path for w in together.weights]
  together.set_weights(alone.get_weights())
  return alone, together


def tokens_and_gradients(encoder, inputs):
  """Returns the outputs of real tokens [T, H], and gradients of their sum."""
  rng = np.random.default_rng(1)
  with tf.GradientTape() as tape:
    hidden = encoder(inputs)["sequence_output"]
    tokens = tf.boolean_mask(hidden, inputs["input_mask"])
    loss = tf.reduce_sum(tokens * rng.normal(size=tokens.shape))
  variables = [v.value for v in encoder.trainable_variables]
  gradients = [
    tf.convert_to_tensor(g).numpy() for g in tape.gradient(loss, variables)
  ]
  return tokens.numpy(), gradients


@pytest.mark.parametrize(
  "family", slow.all_but(("roberta", "deberta", "modernbert"), FAMILIES)
)
def test_outputs_and_gradients_are_those_of_rows_of_their_own(family):
  alone, together = encoders(FAMILIES[family])
  inputs = unpacked_inputs()
  expected, expected_gradients = tokens_and_gradients(alone, inputs)
  found, gradients = tokens_and_gradients(together, packed_inputs(inputs))
  np.testing.assert_allclose(found, expected, atol=1e-5)
  scale = max(np.abs(gradient).max() for gradient in expected_gradients)
  for a, b in zip(gradients, expected_gradients, strict=True):
    np.testing.assert_allclose(a, b, atol=1e-5 * scale)


def test_without_sequence_ids_a_row_is_one_text():
  alone, together = encoders(BERT)
  inputs = unpacked_inputs()
  del inputs["segment_ids"]
  expected, _ = tokens_and_gradients(alone, inputs)
  found, _ = tokens_and_gradients(together, inputs)
  np.testing.assert_allclose(found, expected, atol=1e-5)


def test_no_pooler_reads_a_row_of_several_texts():
  with pytest.raises(ValueError, match="give use_pooler=False"):
    models.TransformerEncoder(BERT, use_sequence_ids=True)
