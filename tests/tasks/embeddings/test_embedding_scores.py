"""Scores of text vectors, worked out by hand."""

import numpy as np
import pytest
import scipy.sparse

from keras_bert_impl.tasks.embeddings import embedding_scores
from tfrecords.labelled import embedding_data


def example(*texts, score=None, grade=1.0):
  return embedding_data.example("0", texts, "file:1", score, grade)


def test_anchors_find_their_positives_among_all_other_texts():
  examples = [
    example("q1", "near"),
    example("q1", "far"),
    example("q2", "near", "negative"),
    example("q2", "irrelevant", grade=0.0),
    *embedding_data.documents(["other"], "corpus"),
  ]
  vector = {"q": [1, 0, 0], "near": [1, 0.1, 0], "negative": [1, 0.2, 0]}
  vector |= {"other": [2, 1.5, 0], "far": [0, 1, 0], "irrelevant": [0, 0, 1]}
  vectors = [
    vector["q" if text[0] == "q" else text]
    for e in examples
    for text in e.texts
  ]
  evaluator = embedding_scores.RetrievalEvaluator(
    ("mrr@10", "recall@1", "map@10", "precision@2")
  )
  found = evaluator.answers(
    examples, None, {"embeddings": np.array(vectors, np.float32)}
  )
  assert found.documents == ["near", "far", "negative", "irrelevant", "other"]
  names = [[found.documents[k] for k in row] for row in found.order]
  assert names[0][:3] == ["near", "negative", "other"]
  # q1: near is first, far fourth or fifth, as irrelevant is as far away.
  scores = evaluator.score(examples, found)
  rank = 1 + names[0].index("far")
  assert scores == {
    "mrr@10": 1.0,
    "recall@1": pytest.approx((1 / 2 + 1) / 2),
    "map@10": pytest.approx(((1 + 2 / rank) / 2 + 1) / 2),
    "precision@2": 0.5,
  }
  interval = evaluator.intervals(examples, found, scores)["recall@1"]
  assert interval.low <= scores["recall@1"] <= interval.high


def test_rankings_are_written_as_trec_reads_them(tmp_path):
  examples = [example("q", "d"), example("r", "e")]
  vectors = np.eye(2)[[0, 0, 1, 1]].astype("float32")
  evaluator = embedding_scores.RetrievalEvaluator()
  found = evaluator.answers(examples, None, {"embeddings": vectors})
  paths = evaluator.write(examples, found, {}, str(tmp_path))
  with open(paths["rankings"], encoding="utf-8") as file:
    lines = file.read().splitlines()
  assert lines[0].split()[:4] == ["0", "Q0", "0", "1"]
  assert [line.split()[2] for line in lines] == ["0", "1", "1", "0"]


def sparse(vectors):
  return [scipy.sparse.csr_array(vector[None]) for vector in vectors]


@pytest.mark.parametrize("kind", [np.asarray, sparse])
def test_dot_products_rank_by_length_too(kind, monkeypatch):
  monkeypatch.setattr(embedding_scores, "_NUMBERS", 2)  # A document at once.
  vectors = np.array([[1, 0], [1, 0], [1, 0], [3, 3]], np.float32)
  outputs = {"embeddings": kind(vectors)}
  examples = [example("q1", "near"), example("q2", "far")]
  evaluator = embedding_scores.RetrievalEvaluator(similarity="dot")
  found = evaluator.answers(examples, None, outputs)
  assert found.order.tolist() == [[1, 0], [1, 0]]
  assert found.similarities.tolist() == [[3, 1], [3, 1]]
  # For the report: what was found first, beside what was to be found.
  shown = evaluator.judge(examples, None, outputs, found, {})
  assert shown.texts == [["q1"], ["q2"]]
  assert (shown.gold, shown.found) == (["near", "far"], ["far", "far"])
  assert shown.is_right.tolist() == [False, True]
  assert shown.certainty.tolist() == [3, 3]
  pairs = [example("a", "b", score=s) for s in (1.0, 2.0)]
  evaluator = embedding_scores.LikenessEvaluator(similarity="dot")
  assert evaluator.answers(pairs, None, outputs).tolist() == [1, 3]


def test_cosines_are_scored_by_their_ranks():
  examples = [example("a", "b", score=s) for s in (1.0, 2.0, 3.0)]
  vectors = [[1, 0], [0, 1], [1, 0], [1, 1], [1, 0], [5, 0]]
  evaluator = embedding_scores.LikenessEvaluator()
  found = evaluator.answers(
    examples, None, {"embeddings": np.array(vectors, np.float32)}
  )
  np.testing.assert_allclose(found, [0, 0.5**0.5, 1], atol=1e-6)
  assert evaluator.score(examples, found)["spearman"] == pytest.approx(1)
