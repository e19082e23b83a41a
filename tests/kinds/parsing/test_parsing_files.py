"""CoNLL-U and KLUE-DP are read and written as they are published."""

import pytest

from keras_bert_impl.kinds.parsing import parsing_files
from tests.kinds.parsing import sentences

ROW = "{}\tthe\tthe\tDET\t_\t_\t{}\t{}\t_\t_"


def written(tmp_path, text, name="trees.conllu"):
  path = tmp_path / name
  path.write_bytes(text.encode("utf-8"))
  return str(path)


def test_ranges_and_empty_nodes_are_no_words(tmp_path):
  first, second = parsing_files.read(written(tmp_path, sentences.CONLLU))
  assert first.words == ("Vamos", "nos", "a", "el", "mar", ".")
  assert first.heads == (0, 1, 5, 5, 1, 1)
  assert first.relations[4] == "obl:lmod"
  assert second.words == ("Sue", "likes", "coffee", "and", "Bill", "tea")
  assert second.heads[-1] == 5 and second.origin.endswith(":13")


@pytest.mark.parametrize(
  "change", [("\n", "\r\n"), ("# newdoc", "\ufeff# newdoc")]
)
def test_line_ends_and_byte_order_marks_do_not_matter(tmp_path, change):
  path = written(tmp_path, sentences.CONLLU)
  other = sentences.CONLLU.replace(*change)
  other = written(tmp_path, other, "other.conllu")
  assert repr(parsing_files.read(other)) == repr(parsing_files.read(path))


def test_klue_is_read(tmp_path):
  first, second = parsing_files.read(written(tmp_path, sentences.KLUE))
  assert first.words == ("고양이가", "작은", "집을", "본다.")
  assert first.heads == (4, 3, 4, 0)
  assert first.relations == ("NP_SBJ", "VP_MOD", "NP_OBJ", "VP")
  assert second.words == ("강아지", "나무")


@pytest.mark.parametrize("text", [sentences.CONLLU, sentences.KLUE])
def test_another_tree_changes_only_its_columns(tmp_path, text):
  read = parsing_files.read(written(tmp_path, text))
  lines = []
  for each in read:
    lines += [*parsing_files.lines_of(each, each.heads, each.relations), ""]
  assert "\n".join(lines).strip() == text.strip()
  last = parsing_files.lines_of(read[-1], len(read[-1].words) * [7], "x" * 9)[
    -1
  ]
  assert "\t7\tx" in last


def test_without_heads_the_tree_is_unknown(tmp_path):
  text = "\n".join([ROW.format(1, "_", "_"), ROW.format(2, "_", "_")])
  [sentence] = parsing_files.read(written(tmp_path, text))
  assert not sentence.is_labelled and sentence.words == ("the", "the")


@pytest.mark.parametrize(
  ("text", "message"),
  [
    ("# only a comment\n", "has no sentences"),
    ("1 the _ 0 root\n", ":1: 1 columns, but must have 10 (CoNLL-U) or 6"),
    (ROW.format(2, 0, "root"), ":1: the index '2' must be 1"),
    (
      ROW.format(1, 2, "det"),
      ":1: HEAD (2) must be the number of another word",
    ),
    (
      ROW.format(1, 1, "det"),
      ":1: HEAD (1) must be the number of another word",
    ),
    (ROW.format(1, "x", "det"), ":1: HEAD ('x') must be the number"),
    (ROW.format(1, 0, "_"), ":1: the relation ('_') must have a name"),
    ("1.1" + ROW.format("", 0, "x"), ":1: the sentence has no words"),
  ],
)
def test_a_wrong_row_is_named(tmp_path, text, message):
  path = written(tmp_path, text)
  with pytest.raises(ValueError) as caught:
    parsing_files.read(path)
  assert path in str(caught.value) and message in str(caught.value)
