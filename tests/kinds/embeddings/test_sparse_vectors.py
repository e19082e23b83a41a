"""Sparse vectors of texts: as served, and beside the masked-LM head."""

import pathlib

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl import models
from keras_bert_impl.kinds.embeddings.servables import sparse_vectors
from tests.serving import test_linked_ops, toy

TEXTS = ["the cat", "cats sat on the mat.", "", "cat " * 40]


@pytest.fixture(scope="module", name="head")
def fixture_head(tokenizer):
  keras.utils.set_random_seed(0)  # Some tokens have a weight, others none.
  return models.MaskedLanguageModel(toy.config(tokenizer))


def expected(head, tokenizer, texts):
  inputs = tokenizer(texts, max_seq_length=16)
  logits = head(inputs)["token_logits"].numpy()
  mask = inputs["input_mask"].numpy()[..., np.newaxis]
  return np.max(np.log1p(np.maximum(logits, 0)) * mask, axis=1)


def test_the_weights_are_the_maximum_over_the_tokens(head, tokenizer):
  servable = sparse_vectors.SparseServable(head, tokenizer, 16)
  vectors = expected(head, tokenizer, TEXTS)
  ids = servable.answer_ids(**tokenizer(TEXTS, max_seq_length=16))
  np.testing.assert_allclose(ids["embeddings"], vectors, atol=1e-5)
  answer = {k: v.numpy() for k, v in servable.answer(TEXTS).items()}
  assert answer["is_cut"].tolist() == [False, False, False, True]
  assert answer["weights"].shape == (4, len(toy.TOKENS))
  for row, vector in enumerate(vectors):
    weights = answer["weights"][row]
    number = np.sum(vector > 0)
    assert 0 < number < len(toy.TOKENS)
    best = np.argsort(-vector)[:number]
    np.testing.assert_allclose(weights[:number], vector[best], atol=1e-5)
    assert answer["token_ids"][row, :number].tolist() == best.tolist()
    tokens = [token.decode() for token in answer["tokens"][row]]
    assert tokens[:number] == [toy.TOKENS[place] for place in best]
    assert not weights[number:].any() and not any(tokens[number:])
    assert not answer["token_ids"][row, number:].any()


@pytest.mark.integration
def test_an_export_has_the_strongest_tokens_after_a_prompt(
  head, tokenizer, tmp_path
):
  model = models.SparseEmbeddingModel(head.config)
  for weight, value in zip(model.weights, head.weights, strict=True):
    weight.assign(value)
  version = kb.export(
    model, tokenizer, tmp_path, max_seq_length=16, top_k=3, prompt="on "
  )
  test_linked_ops.check_ops(pathlib.Path(version))
  answer = tf.saved_model.load(version).signatures["serving_default"]
  weights = answer(text=tf.constant(TEXTS[:2]))["weights"]
  vectors = expected(head, tokenizer, [f"on {text}" for text in TEXTS[:2]])
  best = -np.sort(-vectors, axis=1)[:, :3]
  np.testing.assert_allclose(weights, best, atol=1e-5)


def test_more_tokens_than_the_vocabulary_has_are_refused(head, tokenizer):
  with pytest.raises(ValueError, match=r"top_k \(99\) must be in .1, "):
    sparse_vectors.SparseServable(head, tokenizer, 16, top_k=99)
