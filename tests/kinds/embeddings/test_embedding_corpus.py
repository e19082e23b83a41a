"""Evaluation on a corpus whose vectors lie in shards."""

import json

import numpy as np
import pytest

from keras_bert_impl.kinds.embeddings import (
  embedding_corpus,
  embedding_data,
  embedding_trainer,
)
from keras_bert_impl.kinds.embeddings.tasks import embedding_scores
from tests.kinds.embeddings import small_encoders

WORDS = "the cat sat on mat cats 고양이 . a dog ran".split()
PAIRS = [(" ".join(WORDS[k : k + 2]), " ".join(WORDS[k:])) for k in range(6)]
# More texts than are ranked; some twice, and one of the pairs.
TEXTS = [f"{WORDS[k % 11]} {WORDS[k % 7]} {WORDS[k % 5]}" for k in range(400)]
TEXTS.append(PAIRS[2][1])


def write_beir(folder, more=()):
  """Writes a data set: equal texts, one without text, a query's own name."""
  corpus = [("q1", TEXTS[0]), ("empty", ""), *more]
  corpus += [(f"d{k}", text) for k, text in enumerate(TEXTS)]
  queries = [(f"q{k}", query) for k, (query, _) in enumerate(PAIRS)]
  for name, texts in ("corpus", corpus), ("queries", queries):
    rows = [json.dumps({"_id": k, "text": text}) for k, text in texts]
    (folder / f"{name}.jsonl").write_text("\n".join(rows), encoding="utf-8")
  (folder / "qrels").mkdir(exist_ok=True)
  judged = [f"q{k}\td{7 * k}\t{1 + k % 2}" for k in range(len(PAIRS))]
  lines = ["query-id\tcorpus-id\tscore", "q0\td5\t0", *judged]
  (folder / "qrels/test.tsv").write_text("\n".join(lines))
  return str(folder)


class Rounded(embedding_scores.RetrievalEvaluator):
  """Compares without the last digits, which depend on the sizes of blocks."""

  def products(self, queries, documents):
    for block in super().products(queries, documents):
      yield np.round(block, 4)


def ranked(encoder, examples, more, folder):
  """Returns what is ranked, and what is made of it."""
  vectors = [
    encoder.vectors_of(kind, [text])[0]
    for example in examples
    for kind, text in example.keys
  ]
  evaluator = Rounded()
  found = evaluator.answers(examples, None, {"embeddings": vectors} | more)
  folder.mkdir()
  evaluator.write(examples, found, {}, str(folder))
  judged = evaluator.judge(examples, None, None, found, None)
  return (
    found.similarities.tolist(),
    evaluator.score(examples, found),
    (judged.gold, judged.found),
    [path.read_text() for path in sorted(folder.iterdir())],
  )


@pytest.mark.parametrize("corpus", ["texts", "beir", "both"])
def test_a_corpus_on_disk_is_ranked_as_one_in_memory(tmp_path, corpus):
  encoder = small_encoders.opened("static")
  data = PAIRS if corpus == "texts" else write_beir(tmp_path)
  others = [] if corpus == "beir" else TEXTS
  examples, *apart = embedding_trainer.examples_of(data, corpus=others)
  assert all(e.anchor for e in examples)
  more = embedding_corpus.encoded(encoder, examples, tmp_path / "v", 64, *apart)
  whole = examples
  if corpus != "texts":
    whole = embedding_data.read(data, split="dev")
  whole = whole + embedding_data.documents(others, "corpus")
  one = ranked(encoder, whole, {}, tmp_path / "one")
  two = ranked(encoder, examples, more, tmp_path / "two")
  if corpus == "both":  # Texts without names have new ones, and other places.
    assert one[0] == two[0]
  else:
    assert one == two


@pytest.mark.parametrize("name", small_encoders.NAMES)
def test_evaluate_scores_as_with_all_vectors_in_memory(tmp_path, name):
  encoder = small_encoders.opened(name)
  folder = write_beir(tmp_path)
  whole = encoder.score(embedding_data.read(folder, split="dev"))
  assert encoder.evaluate(folder) == pytest.approx(whole, abs=1e-6)
  examples, *_ = embedding_trainer.examples_of(PAIRS)
  whole = examples + embedding_data.documents(TEXTS, "corpus")
  found = encoder.evaluate(PAIRS, corpus=TEXTS)
  assert found == pytest.approx(encoder.score(whole), abs=1e-6)


def test_wrong_corpora_are_named(tmp_path):
  encoder = small_encoders.opened("static")
  folder = write_beir(tmp_path, more=[("d3", "twice")])
  with pytest.raises(ValueError, match=r"jsonl:7 has the _id 'd3' of an earl"):
    encoder.evaluate(PAIRS, corpus=folder)
  with pytest.raises(FileNotFoundError, match=r"none\.tsv"):
    encoder.evaluate(PAIRS, corpus=tmp_path / "none.tsv")
  with pytest.raises(ValueError, match="has a score, so nothing is searched"):
    encoder.evaluate([("a", "b", 1.0), ("a", "c", 0.0)], corpus=["text"])
  path = tmp_path / "texts.jsonl"
  path.write_text('{"text": "a cat"}\n{"text": " "}\n')
  columns = embedding_data.Columns(("text",))
  with pytest.raises(ValueError, match=r"texts\.jsonl:2 has an empty text"):
    [*embedding_data.corpus_texts(str(path), columns)]
