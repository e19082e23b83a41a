"""MaxSim and the losses of late interaction beside a few lines of NumPy."""

import types

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.kinds.embeddings.tasks import (
  late_task,
)
from keras_bert_impl.tasks.basics import example_types, max_sim, vector_losses
from tests import architectures

B, D = 5, 4
CONFIG = architectures.small(vocab_size=30, num_hidden_layers=1)


def vectors(length, seed):
  """Random vectors of length 1, [B, length, D], of which the last are none."""
  rng = np.random.default_rng(seed)
  found = rng.normal(size=(B, length, D)).astype("float32")
  found /= np.linalg.norm(found, axis=2, keepdims=True)
  for row in range(B):
    found[row, length - row % 3 :] = 0
  return found


def tokens(text):
  return text[np.any(text != 0, axis=1)]


def scores(queries, documents):
  return np.array(
    [
      [np.sum(np.max(tokens(q) @ tokens(d).T, axis=1)) for d in documents]
      for q in queries
    ]
  )


def cross_entropy(logits):
  """Of row i and class i, the sum."""
  exp = np.exp(logits - logits.max(axis=1, keepdims=True))
  return -np.sum(np.log(np.diagonal(exp) / exp.sum(axis=1)))


def loss(name, texts, ids=None, weights=None, **options):
  if ids is None:
    ids = np.arange(B * len(texts)).reshape(-1, B)
  usual = {"temperature": 1.0, "both_ways": False, "margin": 1.0}
  batch = vector_losses.Batch(
    texts,
    [np.asarray(each, "int32") for each in ids],
    None,
    np.ones(B, "float32") if weights is None else np.float32(weights),
  )
  options = types.SimpleNamespace(similarity="maxsim", **usual | options)
  return float(vector_losses.LOSSES[name].function(batch, options))


def test_maxsim_sums_the_best_match_of_each_token():
  queries, documents = vectors(3, 0), vectors(6, 1)
  expected = scores(queries, documents)
  np.testing.assert_allclose(
    max_sim.matrix(queries, documents), expected, atol=1e-5
  )
  np.testing.assert_allclose(
    max_sim.pairs(queries, documents), np.diagonal(expected), atol=1e-5
  )


@pytest.mark.parametrize("limit", [1, 7, 10_000])
def test_blocks_of_any_size_give_the_same_scores(limit, monkeypatch):
  monkeypatch.setattr(max_sim, "_QUERY_TOKENS", limit)
  monkeypatch.setattr(max_sim, "_DOCUMENT_TOKENS", limit)
  queries, documents = vectors(3, 0), vectors(6, 1)
  found = [*max_sim.blocks(*([*map(tokens, x)] for x in (queries, documents)))]
  assert len(found) == {1: B, 7: 2, 10_000: 1}[limit]
  np.testing.assert_allclose(
    np.concatenate(found), scores(queries, documents), atol=1e-5
  )


def test_in_batch_is_the_softmax_of_maxsim_over_documents_of_any_length():
  a, p, n = vectors(3, 0), vectors(6, 1), vectors(5, 2)
  logits = np.concatenate([scores(a, p), scores(a, n)], axis=1) / 0.5
  found = loss("in_batch", [a, p, n], temperature=0.5)
  assert found == pytest.approx(cross_entropy(logits), 1e-5)
  # Back from a document to the queries it is the same matrix.
  both = (cross_entropy(scores(a, p)) + cross_entropy(scores(a, p).T)) / 2
  assert loss("in_batch", [a, p], both_ways=True) == pytest.approx(both, 1e-5)


def test_equal_texts_and_padding_are_no_negatives():
  a, p = vectors(3, 0), vectors(6, 1)
  logits = scores(a, p)
  ids = [[0, 1, 2, 3, 4], [10, 11, 10, 13, 1]]
  logits[0, 2] = logits[2, 0] = logits[1, 4] = -np.inf
  found = loss("in_batch", [a, p], ids)
  assert found == pytest.approx(cross_entropy(logits), 1e-5)
  p[3:] = 0
  found = loss("in_batch", [a, p], weights=[1, 1, 1, 0, 0])
  expected = cross_entropy(scores(a[:3], p[:3]))
  assert found == pytest.approx(expected, 1e-5)


def test_triplet_is_a_hinge_of_maxsim():
  a, p, n = vectors(3, 0), vectors(6, 1), vectors(5, 2)
  near, far = (np.diagonal(scores(a, x)) for x in (p, n))
  expected = np.sum(np.maximum(far - near + 0.5, 0))
  found = loss("triplet", [a, p, n], margin=0.5)
  assert found == pytest.approx(expected, 1e-5)


def test_only_the_best_matches_get_a_gradient():
  queries, documents = tf.constant(vectors(3, 0)), tf.constant(vectors(6, 1))
  with tf.GradientTape() as tape:
    tape.watch(documents)
    found = max_sim.pairs(queries, documents)
  slopes = tape.gradient(found, documents).numpy()
  for q, d, slope in zip(queries.numpy(), documents.numpy(), slopes):
    best = np.argmax(tokens(q) @ tokens(d).T, axis=1)
    expected = np.zeros_like(d)
    np.add.at(expected, best, tokens(q))
    np.testing.assert_allclose(slope, expected, atol=1e-6)


def test_what_is_not_compared_is_zero_and_padding_changes_nothing():
  model = late_task.LateInteractionTask(CONFIG, embedding_size=6).build_model()
  ids = np.array([[2, 9, 8, 3]], "int32")
  whole = model({"input_ids": ids})["embeddings"].numpy()
  np.testing.assert_allclose(np.linalg.norm(whole, axis=2), 1, atol=1e-5)
  padded = {
    "input_ids": np.pad(ids, [[0, 0], [0, 5]]),
    "input_mask": np.pad(np.ones_like(ids), [[0, 0], [0, 5]]),
    "pooling_mask": np.array([[1, 0, 1, 1, 0, 0, 0, 0, 1]], "int32"),
  }
  found = model(padded)["embeddings"].numpy()
  kept = [0, 2, 3]
  np.testing.assert_allclose(found[0, kept], whole[0, kept], atol=1e-5)
  assert not found[0, [1, 4, 5, 6, 7]].any()
  # What fills a query up may be compared without being attended to.
  assert np.linalg.norm(found[0, 8]) == pytest.approx(1, abs=1e-5)


def test_scores_in_evaluation_are_those_of_retrieval():
  examples = [
    example_types.EmbeddingExample(str(k), f"q{k}", (f"d{k}",))
    for k in range(B)
  ]
  queries, documents = vectors(3, 0), vectors(6, 1)
  rows = [row for pair in zip(queries, documents) for row in pair]
  evaluator = late_task.LateRetrievalEvaluator()
  answers = evaluator.answers(examples, None, {"embeddings": rows})
  expected = scores(queries, documents)
  np.testing.assert_array_equal(answers.order, np.argsort(-expected, axis=1))
  ranks = [1 + np.sum(row > row[k]) for k, row in enumerate(expected)]
  found = evaluator.score(examples, answers)
  assert found["mrr@10"] == pytest.approx(np.mean(1 / np.array(ranks)))
