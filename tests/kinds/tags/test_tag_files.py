import os
import pathlib

import pytest

from keras_bert_impl.kinds.tags import tag_files

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
CONLL_U = """# newdoc id = a
# sent_id = 1
# text = Im Haus gibt es nichts zu sehen , 10 000 Leute
1-2\tIm\t_\t_\t_\t_\t_\t_\t_\t_
1\tIn\tin\tADP\t_\t_\t3\tcase\t_\t_
2\tdem\tder\tDET\t_\t_\t3\tdet\t_\t_
3\t10 000\t10 000\tNUM\t_\t_\t0\troot\t_\t_
3.1\t_\t_\tVERB\t_\t_\t_\t_\t_\t_
4\t#\t#\tSYM\t_\t_\t3\tpunct\t_\t_

# newdoc
# sent_id = 2
1\tJa\tja\tINTJ\t_\t_\t0\troot\t_\t_
"""
GERMEVAL = """#\thttp://de.wikipedia.org/wiki/Manfred_Korfmann [2009-10-17]
1\tSchartau\tB-PER\tO
2\tsagte\tO\tO
3\tTagesspiegel\tB-ORG\tO

#\tn-tv.de vom 26.02.2005 [2005-02-26]
1\tFirmengründer\tO\tO
2\tWolf\tB-PER\tB-LOC
"""
MULTICONER = """# id 5239d808-f300-46ea-aa3b-5093040213a3\tdomain=en
robert _ _ B-PER
# _ _ O

# id b5c6a2aa\tdomain=en
the _ _ O
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
    # A row without a token is a token of nothing.
    ("New\tB-LOC\n\tO\n \tO\nYork\tO\n", "word", [("New", "", "", "York")]),
    ("New B-LOC\n O\n", "word", [("New", "")]),
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
    assert sentences[0].tags[:2] == ("B-LOC", "O")


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
    ("a O\n# a comment of five words\nb\n", ":3: 1 columns .b., where"),
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


@pytest.mark.parametrize(
  ("text", "columns", "expected"),
  [
    (
      CONLL_U,
      {"token_column": 1, "tag_column": 3, "tag_scheme": "none"},
      [
        (("In", "dem", "10 000", "#"), ("ADP", "DET", "NUM", "SYM")),
        (("Ja",), ("INTJ",)),
      ],
    ),
    (
      GERMEVAL,
      {"token_column": 1, "tag_column": 2},
      [
        (("Schartau", "sagte", "Tagesspiegel"), ("B-PER", "O", "B-ORG")),
        (("Firmengründer", "Wolf"), ("O", "B-PER")),
      ],
    ),
    (
      MULTICONER,
      {},
      [(("robert", "#"), ("B-PER", "O")), (("the",), ("O",))],
    ),
  ],
  ids=["CoNLL-U", "GermEval", "MultiCoNER"],
)
def test_an_index_and_comments_are_no_tokens(tmp_path, text, columns, expected):
  sentences = tag_files.read(write(tmp_path, text), **columns)
  assert [(s.tokens, s.tags) for s in sentences] == expected
  are_documents = [sentence.document is not None for sentence in sentences]
  assert are_documents == [text is CONLL_U] * len(sentences)


def test_the_column_of_the_token_must_be_there_and_not_the_tag_s(tmp_path):
  path = write(tmp_path, GERMEVAL)
  with pytest.raises(ValueError, match=r":2: token_column .4. must .* 4"):
    tag_files.read(path, token_column=4)
  with pytest.raises(ValueError, match=r":2: tag_column .1. must .* not 1"):
    tag_files.read(path, token_column=1, tag_column=1)


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
