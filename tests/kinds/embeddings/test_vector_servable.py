"""Vectors that are answered cut, as int8 with a scale, and as bits."""

import numpy as np
import pytest

from keras_bert_impl import models
from keras_bert_impl.kinds.embeddings.servables import text_vectors
from tests.serving import toy

TEXTS = ["the cat", "cats sat on the mat.", ""]


@pytest.fixture(scope="module")
def model(tokenizer):
  return models.EmbeddingModel(models.TransformerEncoder(toy.config(tokenizer)))


@pytest.fixture
def answer(model, tokenizer):
  def run(**options):
    servable = text_vectors.EncoderServable(model, tokenizer, 16, **options)
    return {k: x.numpy() for k, x in servable.answer(TEXTS).items()}

  return run


def test_numbers_of_int8_are_within_half_of_their_scale(answer):
  whole, small = answer()["embeddings"], answer(precision="int8")
  assert small["embeddings"].dtype == np.int8
  assert np.abs(small["embeddings"]).max(axis=1).tolist() == [127] * 3
  scales = small["scales"][:, np.newaxis]
  difference = np.abs(small["embeddings"] * scales - whole)
  assert (difference <= 0.5001 * scales).all()


def test_a_vector_of_zeros_has_numbers(tokenizer, model):
  servable = text_vectors.EncoderServable(
    model, tokenizer, 16, precision="int8"
  )
  found = servable.compress(np.zeros((1, 4), np.float32))
  assert found["embeddings"].numpy().tolist() == [[0] * 4]
  assert np.isfinite(found["scales"]).all()


@pytest.mark.parametrize("size", [None, 5])
def test_bits_are_those_of_numpy(answer, size):
  whole = answer(truncate_dim=size)["embeddings"]
  bits = answer(truncate_dim=size, precision="binary")["embeddings"]
  np.testing.assert_array_equal(bits, np.packbits(whole > 0, axis=1))


def test_first_numbers_get_length_1_again_if_the_whole_has_it(answer):
  whole = answer(normalize=True)["embeddings"][:, :4]
  expected = whole / np.linalg.norm(whole, axis=1, keepdims=True)
  cut = answer(normalize=True, truncate_dim=4)["embeddings"]
  np.testing.assert_allclose(cut, expected, atol=1e-6)
  cut = answer(truncate_dim=4)["embeddings"]
  np.testing.assert_array_equal(cut, answer()["embeddings"][:, :4])


@pytest.mark.parametrize(
  ("options", "message"),
  [
    (
      {"truncate_dim": 17},
      r"truncate_dim \(17\) must be an integer in \[1, 16\]",
    ),
    ({"precision": "int4"}, "precision.*int4"),
  ],
)
def test_what_vectors_cannot_be_is_refused(answer, options, message):
  with pytest.raises(ValueError, match=message):
    answer(**options)


def test_only_what_was_asked_for_is_described(model, tokenizer):
  servable = text_vectors.EncoderServable(
    model, tokenizer, 16, precision="binary"
  )
  described = servable.describe()
  assert described["precision"] == "binary"
  assert not {"prompt", "truncate_dim"} & described.keys()
