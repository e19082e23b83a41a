import collections
import json

import pytest

from tfrecords.labelled import table_files


def write(tmp_path, name, text):
  path = tmp_path / name
  path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
  return str(path)


def values(path, *args, **options):
  return [row.values for row in table_files.read(path, *args, **options)]


@pytest.mark.parametrize(
  ("name", "text", "expected"),
  [
    # Quotes in a .tsv are text.
    (
      "a.tsv",
      'id\ttext\n1\t"Yes, he said\n2\tit\'s "so"\n',
      [{"id": "1", "text": '"Yes, he said'}, {"id": "2", "text": 'it\'s "so"'}],
    ),
    # No other character than a line feed ends a line.
    (
      "a.tsv",
      "text\na\x0bb\x85c\u2028d\x1ce\n",
      [{"text": "a\x0bb\x85c\u2028d\x1ce"}],
    ),
    ("a.jsonl", '{"text": "x\u2028y"}\n', [{"text": "x\u2028y"}]),
    # A byte-order mark, carriage returns and blank ends are dropped.
    (
      "a.tsv",
      "\ufeffid\ttext\r\n1\ta\r\n2\t\r\n\r\n\n",
      [{"id": "1", "text": "a"}, {"id": "2", "text": ""}],
    ),
    # One line of JSON is a row, and what is inside has a name with a dot.
    (
      "a.json",
      '{"q": "a", "choices": ["b", "c"]}',
      [{"q": "a", "choices.0": "b", "choices.1": "c"}],
    ),
    (
      "a.json",
      '[\n{"labels": {"label": 4.9, "raters": ["x"]},\n"s": "a"}\n]',
      [{"labels.label": "4.9", "labels.raters.0": "x", "s": "a"}],
    ),
  ],
)
def test_a_table_is_rows_of_columns(tmp_path, name, text, expected):
  assert values(write(tmp_path, name, text)) == expected


# As DataFrame.to_csv(sep="\t", index=False) writes them.
QUOTED = [
  ('text\tlabel\n"He said ""hi""."\t1\nplain\t0\n', ['He said "hi".', "plain"]),
  ('text\tlabel\n"a\tb"\t1\n"c\nd"\t0\n', ["a\tb", "c\nd"]),
  ('text\tlabel\r\n"""A"" b"\t1\r\n"c\r\nd"\t0\r\n\r\n', ['"A" b', "c\r\nd"]),
]
# As published: quotes stand where the text has them.
RAW = [
  ('text\tlabel\n"so"\t1\nHe said "hi".\t0\n', ['"so"', 'He said "hi".']),
  ('text\tlabel\n"so"\t1\n"no"\t0\n', ['"so"', '"no"']),
  ('text\tlabel\n"Yes, he said.\t1\nI go."\t0\n', ['"Yes, he said.', 'I go."']),
  (
    'text\tlabel\n"a ""b"""\t1\nit\'s 5" long\t0\n',
    ['"a ""b"""', "it's 5\" long"],
  ),
]


@pytest.mark.parametrize(("text", "expected"), QUOTED + RAW)
def test_quotes_in_a_tsv_are_text_unless_all_are_pandas_s(
  tmp_path, text, expected
):
  path = write(tmp_path, "a.tsv", text)
  rows = table_files.read(path)
  assert [row.values["text"] for row in rows] == expected
  assert {*rows[0].values} == {"text", "label"}


def test_quotes_in_a_csv_enclose_commas_and_lines(tmp_path):
  path = write(
    tmp_path, "a.csv", 'id,text\n1,"a, ""b""\nc"\r\n2,d\r\n3,"x\ny"\n4,e\n'
  )
  rows = table_files.read(path)
  assert [row.values["text"] for row in rows] == ['a, "b"\nc', "d", "x\ny", "e"]
  assert [row.origin for row in rows] == [
    f"{path}:{line}" for line in (2, 4, 5, 7)
  ]


def test_a_file_without_a_header_gets_names(tmp_path):
  path = write(tmp_path, "a.txt", "gj04\t1\t\tBirds sing.\n")
  [row] = table_files.read(path, ["source", "label", "mark", "sentence"])
  assert [*row.values.values()] == ["gj04", "1", "", "Birds sing."]
  assert (row.value("sentence"), row.origin) == ("Birds sing.", f"{path}:1")


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_an_object_a_line_is_a_row(tmp_path, name):
  path = write(
    tmp_path, name, '{"q": "고양이", "n": 2, "b": true, "z": null}\n\n{"q": ""}'
  )
  assert table_files.read(path) == [
    ({"q": "고양이", "n": "2", "b": "true"}, f"{path}:1"),
    ({"q": ""}, f"{path}:3"),
  ]


def test_a_json_file_of_several_lists_is_read_by_key(tmp_path):
  content = json.dumps({"sst2": [{"a": 1}], "qqp": [{"a": 2}]}, indent=1)
  path = write(tmp_path, "a.json", content)
  assert table_files.read(path, key="qqp") == [({"a": "2"}, f"{path}:1")]
  with pytest.raises(ValueError, match="no list 'x'; it has 'sst2', 'qqp'"):
    table_files.read(path, key="x")


@pytest.mark.parametrize(
  ("name", "text", "message"),
  [
    ("a.tsv", "a\tb\n1\t2\n3\n", r"a.tsv:3 has 1 fields, .* \(a, b\): mend"),
    ("a.tsv", "a\tb\n1\t2\t3\n", r"a.tsv:2 has 3 fields, .* 2 columns"),
    ("a.tsv", "a\tb\n\n1\t2\n", r"a.tsv:2 is an empty line: remove it"),
    ("a.tsv", "a\tb\ta\n", r"a.tsv:1 names two columns 'a'"),
    ("a.csv", "a,b\n1,2,3\n", r"a.csv:2 has 3 fields"),
    ("a.csv", 'a,b\n1,"2\n3,4\n', r"a.csv:2 is not csv"),
    ("a.csv", 'a,b\n1,2\n1,"2"x\n', r"a.csv:3 is not csv"),
    ("a.tsv", b"a\tb\n1\t\xff\n", r"a.tsv:2 is not UTF-8"),
    ("a.tsv", b"\xff\xfea\x00", r"a.tsv:1 is not UTF-8"),
    ("a.jsonl", '{"a": 1}\n{"a": \n', r"a.jsonl:2 is not JSON"),
    ("a.jsonl", '{"a": 1}\n7\n', r"a.jsonl:2 must be an object, not 7"),
    ("a.json", '{"a": 1}\n{"a":\n', r"a.json:2 is not JSON"),
    ("a.json", '[{"a": 1},\n', r"a.json is not JSON"),
    ("a.json", '[{"a": 1}, 7]', r"a.json:2 must be an object, not 7"),
    ("a.json", "7", r"a.json must hold a list of objects"),
    ("a.xlsx", "", r"a.xlsx must end in one of .*: save the sheet as CSV"),
    ("a.parquet", "", r"must end in one of \.tsv, .*: write it as \.jsonl"),
    ("a.tab", "", r"must end in one of \.tsv, .*: rename it"),
    ("a.tsv", "a\tb\n1\t좋아요\n".encode("cp949"), r":2 .* iconv -f cp949 -t"),
    ("a.tsv", "a\tb\n1\tcaf\xe9\n".encode("latin-1"), r":2 .* convert the fi"),
    ("a.tsv", "a\tb\n".encode("utf-16"), r":1 is not UTF-8: .* -f utf-16 -t"),
  ],
)
def test_a_malformed_file_is_named_with_its_row(tmp_path, name, text, message):
  path = write(tmp_path, name, text)
  with pytest.raises(ValueError, match=message):
    table_files.read(path)


def test_malformed_rows_are_left_out_and_counted_where_they_are_known(tmp_path):
  path = write(tmp_path, "a.tsv", "a\tb\n1\t2\n3\n4\t5\t6\n7\t8\n")
  counts = collections.Counter()
  rows = values(path, counts=counts)
  assert rows == [{"a": "1", "b": "2"}, {"a": "7", "b": "8"}]
  assert counts == {"malformed rows": 2}


def test_a_missing_file_or_column_is_named(tmp_path):
  with pytest.raises(FileNotFoundError, match="no.tsv.* does not exist"):
    table_files.read(str(tmp_path / "no.tsv"))
  path = write(tmp_path, "a.tsv", "a\tb\n1\t2\n")
  [row] = table_files.read(path)
  with pytest.raises(ValueError, match="a.tsv:2 has no column 'c'; .*'a', 'b'"):
    row.value("c")
