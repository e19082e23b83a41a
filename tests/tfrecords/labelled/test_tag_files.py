import os
import pathlib

import pytest

from tfrecords.labelled import tag_files

DATA = os.environ.get("KERAS_BERT_DATA")

CONLL = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O

-DOCSTART- -X- O O

Peter NNP I-NP I-PER
Blackburn NNP I-NP I-PER

LONDON NNP I-NP I-LOC
"""
KLUE = """## 컬럼명 : CHAR\tNE_TAG
## klue-ner-v1_dev_00000-wikitree\t<경찰:OG>은 #
경\tB-OG
찰\tI-OG
은\tO
 \tO
#\tO

## klue-ner-v1_dev_00001-wikitree\t또
또\tO
"""


def write(folder, text, name="train.txt"):
  path = folder / name
  path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
  return str(path)


def test_columns_of_conll_have_sentences_and_documents(tmp_path):
  path = write(tmp_path, CONLL)
  sentences = tag_files.read(path)
  assert [(s.tokens, s.tags) for s in sentences] == [
    (("EU", "rejects"), ("I-ORG", "O")),
    (("Peter", "Blackburn"), ("I-PER", "I-PER")),
    (("LONDON",), ("I-LOC",)),
  ]
  first, second, third = (s.document for s in sentences)
  assert first != second and second == third
  assert [s.origin for s in sentences] == [
    f"{path}:{row}" for row in (3, 8, 11)
  ]


def test_another_column_can_be_the_tag(tmp_path):
  path = write(tmp_path, CONLL)
  for column in (2, -2):
    assert tag_files.read(path, tag_column=column)[0].tags == ("I-NP", "I-VP")


@pytest.mark.parametrize(
  "text, unit, expected",
  [
    # Tabs, carriage returns and a byte-order mark; without documents.
    (
      "\ufeffNew York\tB-LOC\r\nis\tO\r\n\r\n \r\n\r\nbig\tO\r\n",
      "word",
      [("New York", "is"), ("big",)],
    ),
    # Other white space than blanks and tabs is of a token.
    ("10\xa0000 O\n\u3000 O\n", "word", [("10\xa0000", "\u3000")]),
    ("10\xa0000\tO\na\x85b\tO\n", "word", [("10\xa0000", "a\x85b")]),
    ("\t\tO\n\u2028\tO\n\xa0\tO\n", "character", [("\t", "\u2028", "\xa0")]),
    # Without tags.
    ("one\ntwo\n\nthree\n", "word", [("one", "two"), ("three",)]),
  ],
)
def test_white_space_may_be_of_a_token_or_between(
  tmp_path, text, unit, expected
):
  sentences = tag_files.read(write(tmp_path, text), unit)
  assert [sentence.tokens for sentence in sentences] == expected
  for sentence in sentences:
    assert sentence.document is None
    assert (sentence.tags is None) == ("O" not in text)
  if "LOC" in text:
    assert sentences[0].tags == ("B-LOC", "O")


def test_characters_of_klue_are_tokens_blanks_included(tmp_path):
  path = write(tmp_path, KLUE)
  sentences = tag_files.read(path, "character")
  assert [s.tokens for s in sentences] == [tuple("경찰은 #"), ("또",)]
  assert sentences[0].tags == ("B-OG", "I-OG", "O", "O", "O")
  assert sentences[1].origin == f"{path}:10"


@pytest.mark.parametrize(
  "text, message",
  [
    ("a O\nb X O\n", ":2: 3 columns .b | X | O., where .* have 2"),
    ("a O\n\nb\n", ":3: 1 columns .b., where .* have 2"),
    ("a O\nb PER\n", ":2: the tag 'PER' must be O, or one of B, I, E, S"),
    ("a O\nb U-PER\n", ":2: the tag 'U-PER'"),
    ("## CHAR\tNE_TAG\na\tO\n", ":1: the tag 'NE_TAG'.*--token_unit=character"),
    ("a\tO\n \tO\n", ":2: the row has no token.*--token_unit=character"),
    ("", "has no sentences"),
    ("\n\n-DOCSTART- -X- O O\n\n", "has no sentences"),
    (b"a O\n\xff\xfe O\n", ":2 is not UTF-8"),
  ],
)
def test_a_bad_file_is_refused_by_file_and_row(tmp_path, text, message):
  path = write(tmp_path, text)
  with pytest.raises(ValueError, match=message) as error:
    tag_files.read(path)
  assert path in str(error.value)


def test_bad_columns_and_rows_of_characters_are_refused(tmp_path):
  with pytest.raises(FileNotFoundError, match="none.txt"):
    tag_files.read(str(tmp_path / "none.txt"))
  path = write(tmp_path, "a O\n")
  for column in (0, 2, -2, -3):
    message = f":1: tag_column .{column}. must .* 2"
    with pytest.raises(ValueError, match=message):
      tag_files.read(path, tag_column=column)
  for row in ("ab\tO", "a", "a\tO\tO"):
    path = write(tmp_path, f"## x\na\tO\n\n{row}\n")
    with pytest.raises(ValueError, match=":4: [13] columns"):
      tag_files.read(path, "character")


def test_a_split_keeps_documents_whole_and_is_the_same_every_time(tmp_path):
  rows = "-DOCSTART- O\n\na O\n\nb O\n\n" * 10
  sentences = tag_files.read(write(tmp_path, rows))
  train, dev = tag_files.split_off(sentences, 0.2)
  assert len(train) == 16 and len(dev) == 4
  assert not {s.document for s in train} & {s.document for s in dev}
  assert tag_files.split_off(sentences, 0.2) == (train, dev)
  assert tag_files.split_off(sentences, 0.2, seed=1) != (train, dev)


def test_a_split_without_documents_is_by_sentence(tmp_path):
  sentences = tag_files.read(write(tmp_path, "a O\n\n" * 10))
  assert [len(part) for part in tag_files.split_off(sentences, 0.3)] == [7, 3]
  with pytest.raises(ValueError, match="leaves one part empty"):
    tag_files.split_off(sentences[:1], 0.3)


@pytest.mark.slow
@pytest.mark.skipif(not DATA, reason="KERAS_BERT_DATA names no data")
def test_all_of_klue_is_read():
  path = pathlib.Path(DATA, "tasks/klue/klue-ner-v1.1_dev.tsv")
  sentences = tag_files.read(str(path), "character")
  assert len(sentences) == 5000
  assert sum(len(s.tokens) for s in sentences) == 285929
