"""Examples of text vectors: pairs, triplets, scores, NLI, BEIR and SQuAD."""

import json
import re

import pytest

from keras_bert_impl.kinds.embeddings import embedding_data, embedding_trainer
from keras_bert_impl.kinds.embeddings.embedding_data import Columns
from keras_bert_impl.tasks.basics import vector_losses


def write(folder, name, *lines):
  path = folder / name
  path.parent.mkdir(parents=True, exist_ok=True)
  path.write_text("\n".join(lines) + "\n", encoding="utf-8")
  return str(path)


def texts(examples):
  return [example.texts for example in examples]


def check(examples, loss):
  return embedding_data.check_training(
    examples, vector_losses.LOSSES[loss], loss
  )


def test_each_column_is_a_text_but_that_of_the_label(tmp_path):
  path = write(tmp_path, "a.tsv", "q\tp\tn", "누구?\t고양이\t개", "a\tb\tc")
  examples = embedding_data.read(path)
  assert texts(examples) == [("누구?", "고양이", "개"), ("a", "b", "c")]
  assert [example.score for example in examples] == [None, None]
  assert examples[1].origin == f"{path}:3"
  path = write(tmp_path, "b.csv", "id,x,y,score", "7,a,b,2.5", "8,c,d,-1")
  columns = Columns(("y", "x"), "score")
  examples = embedding_data.read(path, columns)
  assert texts(examples) == [("b", "a"), ("d", "c")]
  assert [example.score for example in examples] == [2.5, -1.0]


def test_a_text_alone_is_a_pair_with_itself(tmp_path):
  path = write(tmp_path, "lines.txt", "one", "two")
  examples = embedding_data.read(path, Columns(names=("text",)))
  assert texts(examples) == [("one", "one"), ("two", "two")]


def test_nli_becomes_triplets(tmp_path):
  rows = [
    ("a man", "a person", "entailment"),
    ("a man", "a cat", "contradiction"),
    ("a man", "tall", "neutral"),
    ("a dog", "an animal", "entailment"),
    ("a bird", "it flies", "entailment"),
    ("a bird", "a stone", "contradictory"),
    ("a bird", "unclear", "-"),
  ]
  lines = [
    json.dumps({"premise": p, "hypothesis": h, "label": label})
    for p, h, label in rows
  ]
  path = write(tmp_path, "nli.jsonl", *lines)
  assert texts(embedding_data.read(path)) == [
    ("a man", "a person", "a cat"),
    ("a bird", "it flies", "a stone"),
  ]
  path = write(tmp_path, "few.jsonl", lines[0], lines[2])
  with pytest.raises(ValueError, match=r"few.jsonl has no premise with"):
    embedding_data.read(path)


def write_beir(folder, qrels):
  write(
    folder,
    "corpus.jsonl",
    *(
      json.dumps({"_id": f"d{n}", "title": title, "text": f"text {n}"})
      for n, title in enumerate(("Cats", "", "Dogs"))
    ),
  )
  write(folder, "queries.jsonl", json.dumps({"_id": "q", "text": "who?"}))
  write(folder, "qrels/test.tsv", "query-id\tcorpus-id\tscore", *qrels)
  return str(folder)


def test_a_folder_of_beir_has_its_pairs_and_the_other_documents(tmp_path):
  folder = write_beir(tmp_path, ["q\td0\t2", "q\td1\t0"])
  examples = embedding_data.read(folder, split="dev")
  assert texts(examples) == [
    ("who?", "Cats text 0"),
    ("who?", "text 1"),
    ("Dogs text 2",),
  ]
  assert [e.grade for e in examples] == [2, 0, 1]
  assert examples[2].anchor is None
  with pytest.raises(ValueError, match="have 1 examples with two texts"):
    check(examples, "in_batch")
  corpus = embedding_data.read_corpus(folder)
  assert texts(corpus) == [("Cats text 0",), ("text 1",), ("Dogs text 2",)]
  with pytest.raises(FileNotFoundError, match="train.tsv"):
    embedding_data.read(folder, split="train")


def test_an_id_that_is_not_there_is_named(tmp_path):
  folder = write_beir(tmp_path, ["q\td0\t1", "q\td9\t1"])
  with pytest.raises(ValueError, match=r"test.tsv:3 has the id 'd9', not in"):
    embedding_data.read(folder, split="test")
  write(tmp_path, "qrels/test.tsv", "query-id\tcorpus-id", "q\td0")
  with pytest.raises(ValueError, match=r"test.tsv:2 has no column 'score'"):
    embedding_data.read(folder, split="test")
  write(tmp_path, "queries.jsonl", *2 * ['{"_id": "q", "text": "who?"}'])
  with pytest.raises(ValueError, match=r"jsonl:2 has the _id 'q' of an earli"):
    embedding_data.read(folder, split="test")


def test_questions_are_pairs_with_their_paragraphs(tmp_path):
  qas = [{"id": f"{n}", "question": f"q{n}", "answers": []} for n in range(2)]
  content = {"data": [{"paragraphs": [{"context": "c", "qas": qas}]}]}
  path = write(tmp_path, "squad.json", json.dumps(content))
  assert texts(embedding_data.read(path)) == [("q0", "c"), ("q1", "c")]
  assert texts(embedding_data.read_corpus(path)) == [("c",)]


@pytest.mark.parametrize(
  "line, message",
  [
    ("a\t \t1", r"a.tsv:3 has an empty text: remove the row"),
    ("\tb\t1", r"a.tsv:3 has an empty text"),
    ("a\tb\tnan", r"a.tsv:3 has the score 'nan', which must be a number"),
    ("a\tb\tgood", r"a.tsv:3 has the score 'good'"),
  ],
)
def test_a_wrong_row_is_named(tmp_path, line, message):
  path = write(tmp_path, "a.tsv", "x\ty\tlabel", "a\tb\t2", line)
  with pytest.raises(ValueError, match=message):
    embedding_data.read(path)


@pytest.mark.parametrize(
  "names, rows, message",
  [
    ("x y gold", ["a\tb\tneutral", "c\td\tentailment"], "'gold' .* labels"),
    ("id x y", ["0\ta\tb", "1\tc\td"], "'id' .* holds numbers"),
  ],
)
def test_a_column_that_nobody_named_must_hold_texts(
  tmp_path, names, rows, message
):
  path = write(tmp_path, "a.tsv", names.replace(" ", "\t"), *rows)
  with pytest.raises(ValueError, match=message):
    embedding_data.read(path)
  named = embedding_data.Columns(("x", "y"))
  assert len(embedding_data.read(path, named)) == 2


@pytest.mark.parametrize(
  "loss, rows, message",
  [
    ("in_batch", [("a", "b")], "have 1 examples with two texts"),
    ("in_batch", [("a", "b"), ("c", "b")], "all positives are 'b'"),
    ("in_batch", [("a", "b"), ("c", "d", "e")], "1 has 3 texts.*2 like 0"),
    ("in_batch", [("a", "b", 1), ("c", "d", 0)], "0 has a score, which loss="),
    ("triplet", [("a", "b"), ("c", "d")], "learns from an anchor, a positive"),
    ("cosent", [("a", "b"), ("c", "d")], "0 has no score, which loss=cosent"),
    ("cosent", [("a", "b", 1), ("c", "d", 1)], "all scores are 1"),
    ("cosine", [("a", "b", 1), ("c", "d", 5)], "1 has the score 5.*-1 to 1"),
  ],
)
def test_a_loss_needs_examples_of_its_kind(loss, rows, message):
  examples = [
    embedding_data.example(
      f"{number}",
      [text for text in row if isinstance(text, str)],
      f"{number}",
      next((float(x) for x in row if not isinstance(x, str)), None),
    )
    for number, row in enumerate(rows)
  ]
  with pytest.raises(ValueError, match=re.compile(message)):
    check(examples, loss)


def test_files_are_taken_in_proportions():
  parts = [[*range(100)], [*range(100, 200)]]
  assert embedding_data.in_proportions(parts, None) == [*range(200)]
  mixed = embedding_data.in_proportions(parts, [1.25, 0.5])
  counts = [sum(each < 100 for each in mixed), sum(e >= 100 for e in mixed)]
  assert counts == [125, 50]
  assert mixed == embedding_data.in_proportions(parts, [1.25, 0.5])


def test_scores_are_no_texts_where_one_of_them_is_wrong(tmp_path):
  rows = ("a\tb\t1", "c\td\t5,0", "e\tf\t2")
  path = write(tmp_path, "scores.tsv", "anchor\tpositive\tscore", *rows)
  with pytest.raises(ValueError, match=r"'score' of .* holds numbers"):
    embedding_data.read(path)


def test_names_of_columns_may_be_one_str(tmp_path):
  path = write(tmp_path, "pairs.tsv", "a\tb\tc", "x\ty\tz")
  [found], *_ = embedding_trainer.examples_of(path, text_columns="a,c")
  assert found.texts == ("x", "z")
