import os
import re

import pytest

from keras_bert_impl.kinds.choices import choice_data
from tfrecords.labelled import data_sets

DATA = os.environ.get("KERAS_BERT_DATA")


def find(name):
  return data_sets.find(choice_data.DATA_SETS, name)


def write(tmp_path, name, text):
  path = tmp_path / name
  path.write_text(text, encoding="utf-8")
  return str(path)


def read(source, path, needs_labels=True):
  return source.read([path], needs_labels, None)


SWAG_HEADER = (
  ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,"
  "ending2,ending3"
)


def test_an_ending_of_swag_continues_the_second_sentence(tmp_path):
  # The test set has no labels.
  row = "0,v,4,p,s,He,gold,a,b,c,d"
  path = write(tmp_path, "test.csv", f"{SWAG_HEADER}\n{row}\n")
  [example] = read(find("swag").splits["test"], path, needs_labels=False)
  assert example.label is None
  path = write(
    tmp_path,
    "val.csv",
    f"{SWAG_HEADER},label\n"
    '0,lsmdc1,4,"He sits. He",He sits.,He,gold,"stands, then falls.",b,c,d,2\n',
  )
  [example] = read(find("swag").splits["dev"], path)
  assert example.text == "He sits."
  assert example.choices == ("He stands, then falls.", "He b", "He c", "He d")
  assert (example.id, example.label) == ("0", 2)


def test_codah_has_no_header_and_may_have_no_category(tmp_path):
  path = write(tmp_path, "dev.tsv", "\tHe\ta\tb\tc\td\t3\n")
  [example] = read(find("codah").splits["dev"], path)
  assert (example.text, example.choices) == ("He", ("a", "b", "c", "d"))
  assert (example.label, example.origin) == (3, f"{path}:1")


def test_choices_may_be_a_list_of_any_length(tmp_path):
  source = choice_data.ChoiceSource(text="q", choices=("options",))
  path = write(
    tmp_path,
    "a.jsonl",
    '{"q": "a", "options": ["b", "c", "d"], "label": 2}\n',
  )
  [example] = read(source, path)
  assert example.choices == ("b", "c", "d")
  assert choice_data.count_choices([example]) == 3


def test_unequal_numbers_of_choices_are_told_with_both_rows(tmp_path):
  source = choice_data.ChoiceSource(choices=("a", "b", "c"))
  path = write(tmp_path, "x.csv", "text,a,b,c,label\nt,1,2,3,0\nt,1,2,,1\n")
  line = f"{path}:3 has 2 choices, but must have 3 like {path}:2."
  with pytest.raises(ValueError, match=re.escape(line)):
    choice_data.count_choices(read(source, path))


@pytest.mark.parametrize(
  ("columns", "row", "message"),
  [
    *(
      ("ab", f"t,1,2,{label}", f"the label '{label}', which .* 0 to 1")
      for label in ("2", "-1", "x", "1.0", "²")
    ),
    ("abd", "t,1,2,0", "no column 'd'; it has"),
    ("dab", "t,1,2,0", "no column 'd'; it has"),
    (("options",), "t,1,2,0", "no choices in .*text, a, b"),
    ("ab", "t,1,,0", "one choice"),
  ],
)
def test_what_is_wrong_is_told_with_file_and_row(
  tmp_path, columns, row, message
):
  source = choice_data.ChoiceSource(choices=tuple(columns))
  path = write(tmp_path, "x.csv", f"text,a,b,label\n{row}\n")
  with pytest.raises(ValueError, match=f"x.csv:2 has {message}"):
    choice_data.count_choices(read(source, path))


@pytest.mark.skipif(not DATA, reason="KERAS_BERT_DATA is not set")
@pytest.mark.parametrize(
  ("name", "split", "file", "count", "num_choices"),
  [
    ("CODAH", "train", "codah/full_data.tsv", 2776, 4),
    (
      "JCommonsenseQA",
      "dev",
      "jglue/jcommonsenseqa-v1.3/valid-v1.3.json",
      1119,
      5,
    ),
  ],
)
def test_the_real_files_are_read_whole(name, split, file, count, num_choices):
  examples = read(find(name).splits[split], f"{DATA}/tasks/{file}")
  assert len(examples) == count
  assert choice_data.count_choices(examples) == num_choices
  assert {e.label for e in examples} == set(range(num_choices))
