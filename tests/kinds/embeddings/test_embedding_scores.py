"""Scores of text vectors, worked out by hand."""

import json

import numpy as np
import pytest
import scipy.sparse

from keras_bert_impl.kinds.embeddings import embedding_data, mining
from keras_bert_impl.kinds.embeddings.tasks import embedding_scores
from keras_bert_impl.kinds.reranking import reranking
from keras_bert_impl.tasks.basics import example_types


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


def read_trec(path, query, document, value):
  """Returns {query: {document: number}} of columns of a file."""
  found = {}
  with open(path, encoding="utf-8") as file:
    for line in map(str.split, file):
      found.setdefault(line[query], {})[line[document]] = float(line[value])
  return found


def trec_eval(paths, depth=10):
  """Returns NDCG, the reciprocal rank and recall as trec_eval computes them."""
  rankings = read_trec(paths["rankings"], 0, 2, 4)
  scores = []
  for query, grades in read_trec(paths["qrels"], 0, 2, 3).items():
    found = rankings[query]
    # The last in the alphabet comes first of ties; ranks are not read.
    order = sorted(found, key=lambda d: (found[d], d), reverse=True)
    gains = [grades.get(document, 0) for document in order]
    best = sorted(grades.values(), reverse=True)
    of_gains = (
      sum(g / np.log2(2 + k) for k, g in enumerate(each[:depth]))
      for each in (gains, best)
    )
    ndcg = next(of_gains) / next(of_gains)
    hits = [k for k, gain in enumerate(gains) if gain]
    first = 1 / (1 + hits[0]) if hits else 0
    scores.append((ndcg, first, len(hits) / len(grades)))
  return np.mean(scores, axis=0)


def write_beir(folder, corpus, queries, qrels):
  for name, texts in (("corpus", corpus), ("queries", queries)):
    rows = [json.dumps({"_id": k, "text": v}) for k, v in texts.items()]
    (folder / f"{name}.jsonl").write_text("\n".join(rows))
  (folder / "qrels").mkdir()
  lines = ["query-id\tcorpus-id\tscore", *("\t".join(q) for q in qrels)]
  (folder / "qrels/test.tsv").write_text("\n".join([*lines, ""]))
  return embedding_data.read(str(folder), split="test")


def retrieval(examples, vector_of, folder):
  """Returns the rankings, the scores and the files of vectors of texts."""
  vectors = [vector_of[text] for e in examples for text in e.texts]
  outputs = {"embeddings": np.array(vectors, np.float32)}
  names = ("ndcg@10", "mrr@100", "recall@100")
  evaluator = embedding_scores.RetrievalEvaluator(names)
  found = evaluator.answers(examples, None, outputs)
  scores = evaluator.score(examples, found)
  return found, scores, evaluator.write(examples, found, scores, str(folder))


def test_a_query_of_beir_does_not_find_itself_but_its_duplicate(tmp_path):
  # ArguAna and Quora: queries are documents, by the same ids.
  corpus = {"a": "one", "b": "one more", "c": "two", "a2": "one"}
  examples = write_beir(
    tmp_path, corpus, {"a": "one", "q": "two"}, ["ab2", "qc1", "aa1"]
  )
  vector_of = {"one": [1, 0], "one more": [1, 0.1], "two": [0, 1]}
  found, scores, paths = retrieval(examples, vector_of, tmp_path)
  ranked = read_trec(paths["rankings"], 0, 2, 4)
  assert [*ranked["a"]] == ["a2", "b", "c"]
  assert [*ranked["q"]][0] == "c" and len(ranked["q"]) == 4
  assert scores["mrr@100"] == (1 / 2 + 1) / 2
  np.testing.assert_allclose(trec_eval(paths), [*scores.values()], atol=1e-12)
  nearest = mining.candidates(Toy(vector_of), examples, 2)
  assert nearest[0].documents == ("one", "one more")


class Toy:
  """Encodes by a table."""

  def __init__(self, vector_of):
    self.vector_of = vector_of

  def similarity_rows(self, queries, documents):
    a, b = (
      embedding_scores.unit(np.array([self.vector_of[text] for text in texts]))
      for texts in (queries, documents)
    )
    yield from a @ b.T


def test_trec_eval_scores_what_is_written_as_results_do(tmp_path):
  rng = np.random.default_rng(0)
  corpus = {f"doc {k}": f"text {k}" for k in range(150)}
  queries = {f"q{k}": f"query {k}" for k in range(20)}
  qrels = [
    (f"q{k}", f"doc {d}", str(rng.integers(1, 4)))
    for k in range(20)
    for d in rng.choice(150, 5, replace=False)
  ]
  examples = write_beir(tmp_path, corpus, queries, qrels)
  texts = [*corpus.values(), *queries.values()]
  # Similarities that differ in the seventh decimal, and many that are equal.
  for scale, size in ((1e-3, 2), (1.0, 1)):
    near = [1, 0] + scale * rng.integers(0, 9, (len(texts), 2)) / 9
    vector_of = dict(zip(texts, near[:, :size], strict=True))
    found, scores, paths = retrieval(examples, vector_of, tmp_path)
    again = trec_eval(paths)
    np.testing.assert_allclose(again, [*scores.values()], atol=1e-12)
  # All are equal: what is judged must not come first.
  assert scores["ndcg@10"] < 0.2
  assert found.names[1][found.order[0, 0]] == "doc 99"


def test_rerankings_are_written_as_they_are_scored(tmp_path):
  examples = [
    example_types.RankingExample("0", "q", ("a", "b", "c"), (0.0, 1.0, 0.0)),
    example_types.RankingExample("1", "r", ("d",), (0.0,), (2.0,)),
  ]
  evaluator = reranking.RerankingEvaluator(("ndcg@10",))
  found = reranking.rankings(examples, [np.ones(3, "f4"), np.ones(1, "f4")])
  paths = evaluator.write(examples, found, {}, str(tmp_path))
  lines = (tmp_path / "rankings.trec").read_text().split("\n")
  assert [line.split()[:4] for line in lines[:-1]] == [
    ["0", "Q0", "0", "1"],
    ["0", "Q0", "1", "2"],
    ["0", "Q0", "2", "3"],
    ["1", "Q0", "0", "1"],
  ]
  assert (tmp_path / "qrels.trec").read_text() == "0 0 1 1\n1 0 1 2\n"
  scores = evaluator.score(examples, found)
  assert scores["ndcg@10"] == pytest.approx(1 / np.log2(3) / 2)
  assert trec_eval(paths)[0] == pytest.approx(scores["ndcg@10"])


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
