"""Classes and numbers: scores, files and pictures."""

import numpy as np
import pytest

from keras_bert_impl.kinds.texts import text_scores
from keras_bert_impl.metrics import classification as metrics
from keras_bert_impl.tasks.basics.example_types import TextExample
from tests.tasks.basics.parts import judge, score, write


def classification(**options):
  return text_scores.ClassEvaluator(**{"labels": ("no", "yes"), **options})


def regression(**options):
  return text_scores.NumberEvaluator(**options)


def labelled(labels):
  return [TextExample(f"id{i}", "a", None, x) for i, x in enumerate(labels)]


def test_classes_are_scored_by_the_metrics_asked_for():
  task = classification(metrics=("f1", "accuracy"))
  outputs = {"logits": np.array([[0, 1], [0, 1], [1, 0], [1, 0]], "float32")}
  examples = labelled(["yes", "no", "no", "no"])
  scores = score(task, examples, None, outputs)
  assert scores == pytest.approx({"f1": 2 / 3, "accuracy": 0.75})
  assert task.main_metric == "f1"


def test_the_baseline_is_the_best_answer_that_is_always_the_same():
  examples = labelled(["no", "no", "no", "yes"])
  assert classification().baseline(examples) == 0.75
  # Always to say no gives an F1 of 0.
  task = classification(metrics=("f1",))
  assert task.baseline(examples) == pytest.approx(0.4)
  task = classification(metrics=("f1", "accuracy"))
  assert task.baselines(examples) == pytest.approx(
    {"f1": 0.4, "accuracy": 0.75}
  )
  assert regression().baseline(labelled([1.0, 2.0, 4.0])) == 0
  task = regression(metrics=("f1_from_3",))
  assert task.baseline(labelled([1.0, 2.0, 2.5, 4.0])) == pytest.approx(0.4)


def lines(path):
  with open(path, encoding="utf-8") as file:
    return file.read().splitlines()


def test_predictions_hold_label_and_probabilities(tmp_path):
  outputs = {"logits": np.log(np.array([[0.25, 0.75], [0.5, 0.5]], "float32"))}
  examples = [TextExample("a\tb", "x"), TextExample("c", "x")]
  paths = write(
    classification(), examples, None, outputs, tmp_path / "dev", scores={}
  )
  assert list(paths) == ["predictions"]
  assert lines(paths["predictions"]) == [
    "id\tlabel\tno\tyes",
    "a b\tyes\t0.25\t0.75",
    "c\tno\t0.5\t0.5",
  ]


def test_the_file_of_predictions_ranks_them_as_the_score_does(tmp_path):
  rng = np.random.default_rng(0)
  examples = labelled(list(rng.integers(0, 26, 2000) / 5))
  answers = 3 + rng.normal(0, 1e-4, len(examples)).astype("float32")
  outputs = {"logits": answers[:, np.newaxis]}
  task = regression(metrics=("spearman",))
  paths = write(task, examples, None, outputs, tmp_path)
  rows = [line.split("\t") for line in lines(paths["predictions"])[1:]]
  found = metrics.spearman(
    [example.label for example in examples], [float(a) for _, a in rows]
  )
  assert score(task, examples, None, outputs) == {"spearman": found}


def test_test_sets_of_glue_are_written_as_its_site_takes_them(tmp_path):
  task = classification(submissions={"test": "RTE.tsv"})
  outputs = {"logits": np.array([[0, 1], [1, 0]], "float32")}
  paths = write(
    task, labelled([None, None]), None, outputs, tmp_path / "test", scores={}
  )
  assert paths["submission"] == str(tmp_path / "test" / "RTE.tsv")
  assert lines(paths["submission"]) == [
    "index\tprediction",
    "id0\tyes",
    "id1\tno",
  ]


def test_scores_are_handed_in_within_their_range(tmp_path):
  task = regression(submissions={"test": "STS-B.tsv"})
  outputs = {"logits": np.array([[-0.2], [2.34567], [5.5]], "float32")}
  paths = write(
    task, labelled([None] * 3), None, outputs, tmp_path / "test", scores={}
  )
  assert [line.split("\t")[1] for line in lines(paths["submission"])] == [
    "prediction",
    "0.000",
    "2.346",
    "5.000",
  ]
  assert [line.split("\t")[1] for line in lines(paths["predictions"])] == [
    "label",
    "-0.2",
    "2.34567",
    "5.5",
  ]


@pytest.mark.parametrize(
  ("make", "options", "message"),
  [
    (classification, {"metrics": ("pearson",)}, r"metrics \('pearson'\) must"),
    (regression, {"metrics": ("f1",)}, r"metrics \('f1'\) must be among pear"),
    (
      classification,
      {"labels": ("a", "b", "c"), "metrics": ("accuracy", "f1")},
      r"metrics \('f1'\) is for two classes, not 3; take macro_f1",
    ),
  ],
)
def test_what_does_not_fit_is_told(make, options, message):
  with pytest.raises(ValueError, match=message):
    make(**options)


def test_classes_have_intervals_and_are_judged_and_drawn(tmp_path):
  labels = ["yes", "no", "no", "yes"] * 10
  logits = np.log([[0.1, 0.9], [0.2, 0.8], [0.7, 0.3], [0.5, 0.5]] * 10)
  task = classification(metrics=("f1", "accuracy"))
  examples = labelled(labels)
  scores, found, judged = judge(
    task, examples, None, {"logits": logits}, tmp_path
  )
  for name, interval in found.items():
    assert interval.low < scores[name] < interval.high
  # Of 20 right of 40, by Wilson's formula.
  assert found["accuracy"][:2] == pytest.approx((0.3520, 0.6480), abs=1e-4)
  assert judged.gold == labels
  assert judged.found == ["yes", "yes", "no", "no"] * 10
  assert judged.is_right.tolist() == [True, False, True, False] * 10
  assert judged.certainty[:4] == pytest.approx([0.9, 0.8, 0.7, 0.5])
  assert task.label_counts(examples) == {"no": 20, "yes": 20}


def test_numbers_near_the_true_one_are_right(tmp_path):
  examples = labelled([0.0, 2.5, 5.0])
  outputs = {"logits": np.array([[0.5], [2.5], [4.0]], "float32")}
  scores, found, judged = judge(regression(), examples, None, outputs, tmp_path)
  assert set(found) == {"spearman", "pearson"}
  assert scores["spearman"] == pytest.approx(1)
  assert 0.9 < scores["pearson"] < 1
  assert judged.is_right.tolist() == [True, True, False]
  assert judged.certainty.tolist() == [0.5, 0.0, 1.0]
  assert judged.found == ["0.5", "2.5", "4"]
  counts = regression().label_counts(examples)
  assert [*counts] == ["0 to 1", "1 to 2", "2 to 3", "3 to 4", "4 to 5"]
  assert [*counts.values()] == [1, 0, 1, 0, 1]
