"""Files of documents with clusters."""

import json

import pytest

from keras_bert_impl.kinds.coreference import coreference_files
from tests.kinds.coreference import documents

LINE = {
  "doc_key": "nw/a_0",
  "sentences": [["Ada", "King"], ["she"]],
  "speakers": [["-", "-"], ["Tom"]],
  "clusters": [[[0, 1], [2, 2]]],
}
GAP = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\t"
GAP += (
  "B-coref\tURL\nx-1\tAnn Lee's dog, she said. Bo ran.\tshe\t15\tAnn Lee\t0"
)
GAP += "\tTRUE\tBo\t25\tFALSE\thttp://x\n"


def test_jsonlines_have_words_speakers_and_the_genre(tmp_path):
  path = tmp_path / "a.jsonl"
  path.write_text(
    json.dumps(LINE) + "\n\n" + json.dumps({"sentences": [["x"]]})
  )
  first, second = coreference_files.read(str(path))
  assert first.words == ["Ada", "King", "she"]
  assert first.ends_sentence == [False, True, True]
  assert first.clusters == (((0, 2), (2, 3)),)
  assert first.speakers == ("", "", "Tom") and first.genre == "nw"
  assert not second.is_labelled and second.genre == ""


def test_conll_and_jsonlines_say_the_same(tmp_path):
  made = documents.make(3, 1)
  one, other = (
    coreference_files.read(documents.write(tmp_path / name, made))
    for name in ("a.conll", "a.jsonl")
  )
  for ours, theirs, document in zip(one, other, made, strict=True):
    assert ours.sentences == theirs.sentences == document.sentences
    for each in (ours, theirs):
      assert {*map(frozenset, each.clusters)} == {
        *map(frozenset, document.clusters)
      }


def test_a_file_without_mentions_has_no_clusters(tmp_path):
  path = tmp_path / "a.conll"
  path.write_text("#begin document (a); part 0\na 0 0 x -\n#end document\n")
  (document,) = coreference_files.read(str(path))
  assert document.clusters is None


def test_gap_names_words_of_a_text(tmp_path):
  path = tmp_path / "gap.tsv"
  path.write_text(GAP)
  (document,) = coreference_files.read(str(path))
  start, end = document.gap.mention
  assert document.words[start:end] == ["she"]
  (a, b), (c, d) = document.gap.names
  assert document.words[a:b] == ["Ann", "Lee"] and document.words[c:d] == ["Bo"]
  assert document.gap.is_meant == (True, False)
  assert document.clusters == (((a, b), (start, end)),)
  assert [len(x) for x in document.sentences] == [9, 3]


@pytest.mark.parametrize(
  ("name", "text", "message"),
  [
    ("a.jsonl", "{", "a.jsonl:1: Expecting property name"),
    ("a.jsonl", "[]", 'a.jsonl:1: the line must be an object with "sentences"'),
    ("a.jsonl", '{"sentences": []}', "a.jsonl:1: the document is empty"),
    (
      "a.jsonl",
      '{"sentences": [1]}',
      r"a.jsonl:1: sentences .* lists of words",
    ),
    (
      "a.jsonl",
      '{"sentences": [["x"]], "clusters": [[[0, 1]]]}',
      r"a.jsonl:1: the mention \[0, 1\] must be \[first, last\]",
    ),
    (
      "a.jsonl",
      '{"sentences": [["x"]], "speakers": [["a", "b"]]}',
      "a.jsonl:1: 2 speakers of 1 words",
    ),
    ("a.jsonl", "", "a.jsonl has no documents"),
    ("a.conll", "#begin document (a)\nb -\n#end document\n", "has no words"),
    ("a.tsv", GAP.replace("\t15\t", "\t16\t"), "a.tsv:2: Pronoun .'she'"),
    ("a.tsv", GAP.replace("\t15\t", "\t-1\t"), r"Pronoun-offset \(-1\)"),
  ],
)
def test_a_wrong_row_is_named(name, text, message, tmp_path):
  path = tmp_path / name
  path.write_text(text)
  with pytest.raises(ValueError, match=message):
    coreference_files.read(str(path))
