import collections
import dataclasses
import functools
import json
import os

import numpy as np
import pytest

from keras_bert_impl.kinds.texts import classification_data, text_splits
from keras_bert_impl.tasks.basics import example_types
from tfrecords.labelled import data_sets

DATA = os.environ.get("KERAS_BERT_DATA")

needs_data = pytest.mark.skipif(not DATA, reason="KERAS_BERT_DATA is not set")


def find(name):
  return data_sets.find(classification_data.DATA_SETS, name)


def read(source, path, needs_labels=True):
  return source.read([str(path)], needs_labels, collections.Counter())


def write(tmp_path, name, *lines):
  path = tmp_path / name
  path.write_text("".join("\t".join(line) + "\n" for line in lines))
  return path


def content(example):
  return example.id, example.text, example.text_pair, example.label


MNLI = (
  "index|promptID|pairID|genre|sentence1_binary_parse|sentence2_binary_parse"
  "|sentence1_parse|sentence2_parse|sentence1|sentence2"
)
MNLI_ROW = "7|p|p1|fiction|( a )|( b )|(A)|(B)|a|b"
STS = "index|genre|filename|year|old_index|source1|source2|sentence1|sentence2"
STS_ROW = "4|news|f|2012|9|s1|s2|a|b"
MRPC = "#1 ID|#2 ID|#1 String|#2 String"
PAIR = "index|sentence1|sentence2"
QQP = "id|qid1|qid2|question1|question2|is_duplicate"
FIVE = "label1|label2|label3|label4|label5"
GOLD_ROW = f"{MNLI_ROW}{'|entailment' * 5}|contradiction"
GOLD, NEUTRAL = "0|a|b|contradiction", "0|a|b|neutral"
QNLI = "index|question|sentence|label"
XNLI = "language|gold_label|sentence1|sentence2|promptID"
# Data set, split, header, a row, what it means: id, text, text, label.
PUBLISHED = [
  ("CoLA", "train", "", "gj04|0|*|a", "0|a||0"),
  ("CoLA", "test", "index|sentence", "5|a", "5|a||"),
  ("SST-2", "dev", "sentence|label", "a|1", "0|a||1"),
  ("SST-2", "test", "index|sentence", "5|a", "5|a||"),
  ("MRPC", "train", f"\ufeffQuality|{MRPC}", '1|70|71|"a|b', '0|"a|b|1'),
  ("MRPC", "test", f"index|{MRPC}", "5|70|71|a|b", "5|a|b|"),
  ("QQP", "dev", QQP, "201359|303345|303346|a|b|0", "0|a|b|0"),
  ("QQP", "test", "id|question1|question2", "5|a|b", "5|a|b|"),
  ("STS-B", "train", f"{STS}|score", f"{STS_ROW}|3.800", "0|a|b|3.800"),
  ("STS-B", "test", STS, STS_ROW, "4|a|b|"),
  ("MNLI", "train", f"{MNLI}|gold_label", f"{MNLI_ROW}|neutral", NEUTRAL),
  ("MNLI", "dev_mismatched", f"{MNLI}|{FIVE}|gold_label", GOLD_ROW, GOLD),
  ("MNLI", "test_mismatched", MNLI, MNLI_ROW, "7|a|b|"),
  ("AX", "test", PAIR, "5|a|b", "5|a|b|"),
  ("AX", "dev", "Logic|Premise|Hypothesis|Label", "N|a|b|neutral", NEUTRAL),
  ("QNLI", "dev", QNLI, "5|a|b|not_entailment", "0|a|b|not_entailment"),
  ("RTE", "test", PAIR, "5|a|b", "5|a|b|"),
  ("WNLI", "train", f"{PAIR}|label", "5|a|b|0", "0|a|b|0"),
  ("XNLI", "train", "premise|hypo|label", "a|b|contradictory", GOLD),
  ("XNLI", "dev", XNLI, "zh|neutral|a|b|1", NEUTRAL),
]


@pytest.mark.parametrize(
  ("name", "split", "header", "row", "expected"),
  PUBLISHED,
)
def test_the_published_columns_are_found(
  tmp_path, name, split, header, row, expected
):
  data_set = find(name)
  lines = [line.split("|") for line in (header, row) if line]
  path = write(tmp_path, "file.tsv", *lines)
  is_labelled = not split.startswith("test")
  [example] = read(data_set.splits[split], path, needs_labels=is_labelled)
  assert content(example) == tuple(x or None for x in expected.split("|"))
  assert example.origin == f"{path}:{len(lines)}"
  if data_set.labels:
    classification_data.check_labels([example], data_set.labels)


def test_the_files_have_their_published_names():
  for name, split, file in (
    ("CoLA", "train", "train.tsv"),
    ("MNLI", "dev", "dev_matched.tsv"),
    ("MNLI", "test_mismatched", "test_mismatched.tsv"),
    ("AX", "test", "diagnostic.tsv"),
    ("XNLI", "train", "multinli/multinli.train.zh.tsv"),
    ("KLUE-STS", "dev", "klue-sts-v1.1_dev.json"),
    ("NSMC", "train", "ratings_train.txt"),
  ):
    assert find(name).splits[split].files == (file,)


def test_the_labels_have_the_order_and_names_of_the_original():
  for name in ("MNLI", "AX", "XNLI", "KLUE-NLI", "KorNLI", "AdvGLUE-MNLI"):
    assert find(name).labels == ("contradiction", "entailment", "neutral")
  for name in ("MRPC", "CoLA", "SST-2", "QQP", "WNLI", "NSMC"):
    assert find(name).labels == ("0", "1")
  sentiment = {"0": "negative", "1": "positive"}
  assert classification_data.label_names("NSMC") == sentiment
  assert classification_data.label_names("sst-2") == sentiment
  for name in ("MNLI", "STS-B", "custom", None):
    assert classification_data.label_names(name) == {}


def test_glue_is_scored_and_handed_in_as_its_site_says():
  for metrics, names in {
    "matthews accuracy": "CoLA AX",
    "f1 accuracy accuracy_and_f1": "MRPC QQP",
    "spearman pearson pearson_and_spearman": "STS-B",
    "accuracy": "SST-2 MNLI WNLI",
  }.items():
    for name in names.split():
      assert find(name).metrics == tuple(metrics.split())
  assert "hands in the majority class" in find("WNLI").note
  files = [d.submissions.values() for d in classification_data.DATA_SETS]
  names = "AX CoLA MNLI-m MNLI-mm MRPC QNLI QQP RTE SST-2 STS-B WNLI"
  assert {file for some in files for file in some} == {
    f"{name}.tsv" for name in names.split()
  }


def test_a_task_is_found_whatever_the_case():
  for name in ("sts-b", "STSB", "sts_b", "STS-B"):
    assert find(name).name == "STS-B"
  with pytest.raises(ValueError, match="'snli'.* CoLA, SST-2, .* or custom"):
    find("snli")


def test_xnli_takes_the_rows_of_one_language(tmp_path):
  path = write(
    tmp_path,
    "xnli.dev.tsv",
    ("language", "gold_label", "sentence1", "sentence2"),
    ("de", "neutral", "a", "b"),
    ("zh", "entailment", "c", "d"),
  )
  [example] = read(classification_data.xnli("de").splits["dev"], path)
  assert content(example) == ("0", "a", "b", "neutral")
  with pytest.raises(ValueError, match="xnli.dev.tsv has no rows with 'fr'"):
    read(classification_data.xnli("fr").splits["dev"], path)


def test_adv_glue_has_its_tasks_in_one_file_with_numbered_labels(tmp_path):
  path = tmp_path / "dev_ann.json"
  row = {"idx": 3, "premise": "a", "hypothesis": "b", "label": 2}
  path.write_text(
    json.dumps({"sst2": [], "mnli": [row], "mnli-mm": [row | {"label": 0}]})
  )
  splits = find("advglue-mnli").splits
  [example] = read(splits["dev"], path)
  assert content(example) == ("3", "a", "b", "contradiction")
  assert read(splits["dev_mismatched"], path)[0].label == "entailment"


def test_broken_rows_of_qqp_are_counted_and_others_are_errors(tmp_path):
  header = ("id", "qid1", "qid2", "question1", "question2", "is_duplicate")
  row = ("1", "2", "3", "a", "b", "0")
  path = write(tmp_path, "train.tsv", header, row[:4], row)
  counts = collections.Counter()
  source = find("QQP").splits["train"]
  assert len(source.read([str(path)], True, counts)) == 1
  assert counts == {"malformed rows": 1}
  source = find("STS-B").splits["train"]
  with pytest.raises(ValueError, match="train.tsv:2 has 4 fields"):
    source.read([str(path)], True, counts)


def test_several_files_are_read_one_after_the_other(tmp_path):
  header = ("sentence1", "sentence2", "gold_label")
  first = write(tmp_path, "a.tsv", header, ("a", "b", "neutral"))
  second = write(tmp_path, "b.tsv", header, ("c", "d", "entailment"))
  source = find("KorNLI").splits["train"]
  examples = source.read([str(first), str(second)], True, None)
  assert [(e.id, e.text) for e in examples] == [("0", "a"), ("1", "c")]
  assert [e.origin for e in examples] == [f"{first}:2", f"{second}:2"]
  assert data_sets.paths_of(source, "kor") == [
    "kor/snli_1.0_train.ko.tsv",
    "kor/multinli.train.ko.tsv",
  ]


@pytest.mark.parametrize(
  ("lines", "message"),
  [
    ([("sentence", "mark"), ("a", "1")], "x.tsv:2 has no column 'label'"),
    ([("text", "label"), ("a", "1")], "x.tsv:2 has no column 'sentence'"),
    ([("sentence", "label"), ("a", " ")], "x.tsv:2 has no label in column"),
    ([("sentence", "label")], "x.tsv has no rows"),
  ],
)
def test_what_a_row_lacks_is_told_with_file_and_row(tmp_path, lines, message):
  path = write(tmp_path, "x.tsv", *lines)
  with pytest.raises(ValueError, match=message):
    read(find("SST-2").splits["train"], path)


def test_unknown_and_untrained_labels_are_told():
  examples = [
    example_types.TextExample("0", "a", None, label, f"x.tsv:{row}")
    for row, label in ((2, "0"), (3, None), (4, "2"))
  ]
  classification_data.check_labels(examples[:2], ("0", "1"))
  with pytest.raises(ValueError, match="x.tsv:4 has the label '2', .* 0, 1"):
    classification_data.check_labels(examples, ("0", "1"))
  counts = classification_data.count_untrained(2 * examples, examples[:1])
  assert counts == {"2": 2}


def scored(label):
  example = example_types.TextExample("0", "a", None, label, "x:9")
  return classification_data.with_scores([example])[0].label


def test_scores_become_numbers_or_are_told_with_file_and_row():
  assert [*map(scored, ("4.25", "-1", None))] == [4.25, -1.0, None]
  for label in ("good", "nan", "inf", "", "1e39", "-1e16"):
    with pytest.raises(ValueError, match=f"x:9 has the score '{label}'"):
      scored(label)


def test_the_part_held_out_is_the_same_every_time_and_not_periodic():
  examples = list(range(1000))
  rest, held = data_sets.hold_out(examples, 0.2)
  assert len(held) == 200
  assert sorted(rest + held) == examples
  assert rest == sorted(rest) and held == sorted(held)
  assert data_sets.hold_out(examples, 0.2) == (rest, held)
  # Rows of a premise follow each other: no class may be held out only.
  assert len(set(np.diff(held))) > 5
  for fraction in (0.0, 1.0, 0.0001):
    with pytest.raises(ValueError, match=r"dev_fraction \(.*\) of 1000 exa"):
      data_sets.hold_out(examples, fraction)


@pytest.mark.parametrize(
  ("name", "split", "label"),
  [
    ("CoLA", "dev", {"0", "1"}),
    ("STS-B", "train", float),
    ("AX", "test", {None}),
  ],
)
def test_glue_comes_from_tensorflow_datasets_too(tmp_path, name, split, label):
  tfds = pytest.importorskip("tensorflow_datasets")
  source = find(name).tfds_splits[split]
  [path] = data_sets.paths_of(source, str(tmp_path))
  is_test = split.startswith("test")
  with tfds.testing.mock_data(num_examples=20):
    examples = read(source, path, needs_labels=not is_test)
  assert len(examples) == 20
  numbers = [int(e.id) for e in examples]
  assert numbers == sorted(numbers)
  assert all(e.text for e in examples)
  assert all((e.text_pair is None) == (name == "CoLA") for e in examples)
  if label is float:
    examples = classification_data.with_scores(examples)
    assert {type(e.label) for e in examples} == {float}
  else:
    assert {e.label for e in examples} == label


@needs_data
@pytest.mark.parametrize(
  ("name", "split", "file", "count"),
  [
    ("QNLI", "dev", "glue/QNLI/dev.tsv", 5463),
    ("AdvGLUE-SST-2", "dev", "glue/AdvGLUE/dev_ann.json", 148),
    ("AdvGLUE-QQP", "dev", "glue/AdvGLUE/dev_ann.json", 78),
    ("AdvGLUE-MNLI", "dev", "glue/AdvGLUE/dev_ann.json", 121),
    ("AdvGLUE-MNLI", "dev_mismatched", "glue/AdvGLUE/dev_ann.json", 162),
    ("AdvGLUE-QNLI", "dev", "glue/AdvGLUE/dev_ann.json", 148),
    ("AdvGLUE-RTE", "dev", "glue/AdvGLUE/dev_ann.json", 81),
    ("KLUE-NLI", "dev", "klue/klue-nli-v1.1_dev.json", 3000),
    ("KLUE-STS", "dev", "klue/klue-sts-v1.1_dev.json", 519),
    ("KorNLI", "dev", "kornlu/KorNLI/xnli.dev.ko.tsv", 2490),
    ("KorSTS", "dev", "kornlu/KorSTS/sts-dev.tsv", 1500),
    ("KorSTS", "test", "kornlu/KorSTS/sts-test.tsv", 1379),
    ("NSMC", "test", "nsmc/ratings_test_5k.txt", 5000),
  ],
)
def test_the_real_files_are_read_whole(name, split, file, count):
  data_set = find(name)
  examples = read(data_set.splits[split], f"{DATA}/tasks/{file}")
  assert len(examples) == count
  if data_set.labels is None:
    scores = [e.label for e in classification_data.with_scores(examples)]
    assert 0 <= min(scores) < 1 and 4 < max(scores) <= 5
  else:
    classification_data.check_labels(examples, data_set.labels)
    assert {e.label for e in examples} == set(data_set.labels)


def several(name, label, tmp_path, text, needs_labels=True, **options):
  """Returns the labels of the texts of a file that may have several each."""
  path = tmp_path / name
  path.write_text(text, encoding="utf-8")
  source = classification_data.LabelsSource(text="text", label=label, **options)
  return [example.label for example in read(source, path, needs_labels)]


def test_several_labels_stand_in_one_column_a_list_or_a_column_each(tmp_path):
  expected = [("욕설", "차별"), (), ("차별",)]
  read_from = functools.partial(several, tmp_path=tmp_path)
  table = "text\tlabel\na\t차별| 욕설\nb\t\nc\t차별\n"
  assert read_from("a.tsv", "label", text=table) == expected
  lists = [["차별", "욕설"], [], ["차별"]]
  objects = [{"text": "a", "labels": labels} for labels in lists]
  lines = "\n".join(map(json.dumps, objects))
  assert read_from("a.jsonl", "labels", text=lines) == expected
  assert read_from("a.json", "labels", text=json.dumps(objects)) == expected
  table = "text,욕설,차별\na,1,1\nb,0,0.0\nc,False,true\n"
  assert read_from("a.csv", "욕설, 차별", text=table) == expected


def test_labels_joined_by_commas_are_told_and_read_with_their_separator(
  tmp_path, caplog
):
  # GoEmotions has the numbers of its labels so.
  lines = "text\tlabel\na\t2,27\nb\t27\nc\t\n"
  with caplog.at_level("WARNING"):
    found = several("a.tsv", "label", tmp_path, lines)
  assert found == [("2,27",), ("27",), ()]
  assert "1 have one like '2,27'" in caplog.text
  assert "give label_separator" in caplog.text
  caplog.clear()
  separated = several("a.tsv", "label", tmp_path, lines, label_separator=",")
  assert separated == [("2", "27"), ("27",), ()]
  several("a.tsv", "label", tmp_path, "text\tlabel\na\tSci-Fi, old|b\n")
  assert not caplog.text


@pytest.mark.parametrize(
  ("values", "message"),
  [
    ({"label_separator": ","}, "label_separator .','. needs multi_label"),
    ({"label_separator": "", "multi_label": True}, "must be a text, such as"),
  ],
)
def test_a_separator_is_of_several_labels(values, message):
  with pytest.raises(ValueError, match=message):
    text_splits.ClassifierConfig(**values)


def test_texts_without_the_columns_of_labels_have_unknown_ones(tmp_path):
  for label in ("label", "toxic,insult"):
    assert several("a.tsv", label, tmp_path, "text\na\n", False) == [None]
    message = "a.tsv:2 has no column '.* name the right one with label_column"
    with pytest.raises(ValueError, match=message):
      several("a.tsv", label, tmp_path, "text\na\n")


@pytest.mark.parametrize(
  ("label", "text", "message"),
  [
    ("label", "text\tlabel\na\tx|y|x\n", "a.tsv:2 has the label 'x', but must"),
    ("x,y", "text\tx\ty\na\t1\t-1\n", "a.tsv:2 has '-1' in the column 'y'"),
    ("x,z", "text\tx\ty\na\t1\t0\n", "a.tsv:2 has no column 'z'"),
  ],
)
def test_wrong_labels_are_told_with_file_and_row(
  tmp_path, label, text, message
):
  with pytest.raises(ValueError, match=message):
    several("a.tsv", label, tmp_path, text)


def test_integers_go_by_value_unless_a_run_has_them_in_another_order():
  examples = [
    example_types.TextExample("0", "a", None, label)
    for label in ("10", "2", "-1", "1", "2")
  ]
  assert classification_data.label_set(examples) == ("-1", "1", "2", "10")
  by_alphabet = ["-1", "1", "10", "2"]
  found = classification_data.label_set(examples, by_alphabet)
  assert found == tuple(by_alphabet)
  other = classification_data.label_set(examples, ["1", "2"])
  assert other == ("-1", "1", "2", "10")
  words = [dataclasses.replace(examples[0], label="x"), *examples]
  assert classification_data.label_set(words) == ("-1", "1", "10", "2", "x")


def test_each_of_several_labels_is_checked_and_counted():
  examples = [
    example_types.TextExample("0", "a", None, labels, f"f:{number}")
    for number, labels in enumerate([("y", "x"), (), None, ("z",)])
  ]
  assert classification_data.label_set(examples) == ("x", "y", "z")
  with pytest.raises(ValueError, match="f:3 has the label 'z', which must be"):
    classification_data.check_labels(examples, ("x", "y"))
  untrained = classification_data.count_untrained(examples, examples[:1])
  assert untrained == {"z": 1}
