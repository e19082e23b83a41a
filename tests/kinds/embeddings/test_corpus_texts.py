"""Texts of a corpus, from files and from what is iterated."""

import json

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.kinds.embeddings.corpus import corpus_texts

RECORDS = [
  {"_id": "d1", "title": "A", "text": "one"},
  {"_id": "d2", "title": "", "text": "두 번째"},
]
EXPECTED = [("d1", "A one"), ("d2", "두 번째")]


def read(source, *columns):
  return [text[:2] for text in corpus_texts.read(source, *columns)]


def write(path, text):
  path.write_text(text, encoding="utf-8")
  return str(path)


@pytest.fixture(name="beir")
def fixture_beir(tmp_path):
  lines = "".join(json.dumps(record) + "\n" for record in RECORDS)
  write(tmp_path / "corpus.jsonl", lines)
  return tmp_path


def test_files_give_ids_and_texts(beir):
  assert read(beir) == read(beir / "corpus.jsonl") == EXPECTED
  lines = write(beir / "lines.txt", "\ufefffirst\nsecond\n")
  assert read(lines) == [("0", "first"), ("1", "second")]
  assert read(f"{beir},{lines}")[2:] == [("2", "first"), ("3", "second")]
  plain = write(beir / "msmarco.tsv", "7\tseven\n8\teight\n")
  assert read(plain) == [("7", "seven"), ("8", "eight")]
  named = write(beir / "named.tsv", "id\turl\ttext\na\tb\tc\n")
  assert read(named) == [("a", "c")]
  assert read(named, "url", ("text", "id")) == [("b", "c a")]


def test_iterables_give_ids_and_texts():
  assert read(["a", b"b"]) == [("0", "a"), ("1", "b")]
  assert read(x for x in [(5, "a"), ("x", "b")]) == [("5", "a"), ("x", "b")]
  assert read(RECORDS) == EXPECTED
  assert read([{"id": 3, "body": "b"}], None, ("body",)) == [("3", "b")]
  assert read(np.array(["a", "b"])) == [("0", "a"), ("1", "b")]


def test_data_sets_of_tensorflow_give_ids_and_texts():
  dataset = tf.data.Dataset.from_tensor_slices
  columns = {key: [x[key] for x in RECORDS] for key in ("_id", "text")}
  assert read(dataset(columns)) == [("d1", "one"), ("d2", "두 번째")]
  assert read(dataset(["가", "b"])) == [("0", "가"), ("1", "b")]
  assert read(dataset(([4, 5], ["a", "b"]))) == [("4", "a"), ("5", "b")]
  with pytest.raises(ValueError, match=r"source\[0\].*must be.*unbatch\(\)"):
    read(dataset(["a", "b"]).batch(2))


@pytest.mark.parametrize(
  ("name", "content", "message"),
  [
    ("a.txt", "one\n \nthree\n", "a.txt:2 has an empty text"),
    ("a.txt", "", "has no texts"),
    (
      "a.jsonl",
      '{"text": "a"}\n{"body": 1}\n',
      "a.jsonl:2 has no title, text",
    ),
    ("a.jsonl", '{"text": "a"}\nnonsense\n', "a.jsonl:2 is not JSON"),
    ("a.jsonl", '{"text": ["a"]}\n', "a.jsonl:1 must have texts in"),
    ("a.jsonl", '{"_id": "a\\nb", "text": "c"}\n', "a.jsonl:1 has the id"),
    ("a.tsv", "1\ta\n2\n", "a.tsv:2 has 1 fields between tabs, but must have"),
    ("a.tsv", "id\ttext\n2\tb\tc\n", "a.tsv:2 has 3 .*must have id, text"),
    ("a.csv", "1,a\n", "must be a folder of BEIR or end in .jsonl, .tsv, .txt"),
  ],
)
def test_wrong_files_are_told_with_their_line(tmp_path, name, content, message):
  with pytest.raises(ValueError, match=message):
    read(write(tmp_path / name, content))


@pytest.mark.parametrize("source", [3, None, b"a", {"a": 1}, [3], [("a", 3)]])
def test_what_is_no_text_is_told(source):
  with pytest.raises(ValueError, match="must be"):
    read(source)


def test_missing_files_and_columns_are_told(beir):
  with pytest.raises(FileNotFoundError, match="nowhere.txt does not exist"):
    read("nowhere.txt")
  (beir / "empty").mkdir()
  with pytest.raises(FileNotFoundError, match="The corpus of a folder of BEIR"):
    read(beir / "empty")
  with pytest.raises(ValueError, match="has no nr; it has _id, .*id_column"):
    read(beir, "nr")


def test_repeated_ids_are_found():
  ids = corpus_texts.UniqueIds()
  assert ids.repeated() is None
  ids.add(["a", "b", "c"])
  assert ids.repeated() is None
  ids.add(["d", "b", "a"])
  assert ids.repeated() == 4


@pytest.mark.integration
def test_splits_of_tensorflow_datasets_are_read():
  tfds = pytest.importorskip("tensorflow_datasets")
  with tfds.testing.mock_data(num_examples=3):
    source = "tfds:imdb_reviews?split=test"
    found = read(source)
    assert [name for name, _ in found] == ["0", "1", "2"]
    assert read(f"{source}&feature=text") == found
    with pytest.raises(ValueError, match=r"test\[0\] has no title; it"):
      read(source, None, ("title",))
