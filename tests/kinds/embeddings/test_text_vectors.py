"""Vectors of texts, from the servable op by op."""

import keras
import numpy as np
import pytest

from keras_bert_impl import models
from keras_bert_impl.kinds.embeddings.servables import text_vectors
from tests.serving import toy

TEXTS = ["the cat", "cats sat on the mat.", ""]


@pytest.fixture(scope="module")
def encoder(tokenizer):
  return models.TransformerEncoder(toy.config(tokenizer))


def answer(model, tokenizer, **options):
  servable = text_vectors.EncoderServable(model, tokenizer, 16, **options)
  return servable, servable.answer(TEXTS)["embeddings"].numpy()


def test_an_embedding_model_is_served_as_it_is(encoder, tokenizer):
  layers = [keras.layers.Dense(3), keras.layers.UnitNormalization()]
  model = models.EmbeddingModel(encoder, ("cls", "max"), layers)
  servable, vectors = answer(model, tokenizer)
  expected = model(tokenizer(TEXTS))["embeddings"]
  np.testing.assert_allclose(vectors, expected, atol=1e-5)
  described = servable.describe()
  assert described["pooling"] == "cls, max" and described["normalize"] is True
  ids = servable.signatures["token_ids"](**tokenizer(TEXTS))
  np.testing.assert_allclose(ids["embeddings"], expected, atol=1e-5)


def test_another_pooling_or_length_is_served_on_request(encoder, tokenizer):
  layers = [keras.layers.Dense(3), keras.layers.UnitNormalization()]
  model = models.EmbeddingModel(encoder, "cls", layers)
  expected = models.EmbeddingModel(encoder, "max")(tokenizer(TEXTS))
  _, vectors = answer(model, tokenizer, pooling="max")
  np.testing.assert_allclose(vectors, expected["embeddings"], atol=1e-5)
  servable, vectors = answer(model, tokenizer, normalize=False)
  assert vectors.shape == (3, 3)
  assert not np.allclose(np.linalg.norm(vectors, axis=1), 1)
  assert servable.describe()["normalize"] is False


@pytest.mark.parametrize("include_prompt", [True, False])
def test_a_prompt_stands_before_every_text(encoder, tokenizer, include_prompt):
  model = models.EmbeddingModel(encoder, include_prompt=include_prompt)
  servable, vectors = answer(model, tokenizer, prompt="On the mat: ")
  inputs = tokenizer([f"On the mat: {text}" for text in TEXTS])
  mask = inputs["input_mask"].numpy()
  if not include_prompt:
    # [CLS] on the mat [UNK], for there is no colon in the vocabulary.
    mask[:, :5] = 0
  mask = keras.ops.convert_to_tensor(mask)
  expected = model({**inputs, "pooling_mask": mask})["embeddings"]
  np.testing.assert_allclose(vectors, expected, atol=1e-5)
  assert servable.describe()["prompt"] == "On the mat: "
  tokens = servable.embed_tokens(TEXTS)
  assert tokens["num_tokens"].numpy().tolist() == [2, 7, 0]
