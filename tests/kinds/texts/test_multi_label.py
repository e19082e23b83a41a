"""Several labels at once: the loss as PyTorch has it, scores and files."""

import itertools
import json

import numpy as np
import pytest

from keras_bert_impl.kinds.texts import multi_label
from keras_bert_impl.tasks.basics import example_types, fine_tuning
from tests.tasks.basics import parts, steps

LABELS = ("욕설", "차별", "비방")
# Two examples and a padding row.
MASK = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]])


def make_task(labels=LABELS, **options):
  return multi_label.MultiLabelTask(parts.CONFIG, labels, **options)


def labelled(*labels):
  return [
    example_types.TextExample(str(number), "a", None, label)
    for number, label in enumerate(labels)
  ]


def test_the_loss_is_that_of_torch_averaged_over_labels_and_examples():
  logits = np.random.default_rng(0).normal(0, 4, (3, 3)).astype("float32")
  marks = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1]])
  batch = {"input_mask": MASK, "label_ids": marks}
  # The formula of BCEWithLogitsLoss.
  x, z = logits[:2].astype(float), marks[:2]
  expected = np.maximum(x, 0) - x * z + np.log1p(np.exp(-np.abs(x)))
  task, outputs = make_task(), {"logits": logits}
  loss = task.losses(batch, outputs)["label"]
  count = task.denominators(batch)["label"]
  assert float(loss) / float(count) == pytest.approx(expected.mean(), rel=1e-5)
  right, count = task.metrics(batch, outputs)["label_accuracy"]
  assert float(right) == np.sum((x > 0) == z) and float(count) == 6


def test_a_step_down_the_gradient_lowers_the_loss():
  batch = steps.batch_of_texts([[1, 0, 1], [0, 0, 0], [1, 1, 0]])
  steps.check_loss_falls(make_task(), make_task().build_model(), batch, "label")


@pytest.mark.parametrize("labels", [(), ("a", "b", "a")])
def test_labels_are_one_or_more_each_once(labels):
  with pytest.raises(ValueError, match=r"labels \(.*\) must be one or more"):
    make_task(labels)


def test_baselines_are_those_of_the_best_set_of_all():
  rng = np.random.default_rng(1)
  names = np.array(LABELS)
  examples = labelled(*(tuple(names[rng.random(3) < 0.4]) for _ in range(30)))
  evaluator = multi_label.MultiLabelEvaluator(LABELS)
  targets = evaluator.targets(examples)
  for name, found in evaluator.baselines(examples).items():
    best = max(
      evaluator.known[name](targets, np.tile(marks, (30, 1)))
      for marks in itertools.product((0, 1), repeat=3)
    )
    assert found == pytest.approx(best)


def test_scores_files_and_judgement(tmp_path):
  examples = labelled(("욕설", "차별"), (), ("비방",), ("비방",)) * 5
  logits = np.log([[3, 4, 0.5], [0.5, 0.5, 0.25], [2, 0.5, 3], [1, 1, 1.0]] * 5)
  outputs = {"logits": logits.astype("float32")}
  evaluator = multi_label.MultiLabelEvaluator(LABELS)
  scores, found, judged = parts.judge(evaluator, examples, None, outputs)
  assert scores == pytest.approx(
    {
      "micro_f1": 2 * 3 / (4 + 4),
      "macro_f1": (2 / 3 + 1 + 2 / 3) / 3,
      "exact_match": 0.5,
      "precision_욕설": 0.5,
      "precision_차별": 1,
      "precision_비방": 1,
      "recall_욕설": 1,
      "recall_차별": 1,
      "recall_비방": 0.5,
      "f1_욕설": 2 / 3,
      "f1_차별": 1,
      "f1_비방": 2 / 3,
    }
  )
  assert evaluator.shown_metrics == ["micro_f1", "macro_f1", "exact_match"]
  assert found.keys() == {*evaluator.shown_metrics}
  for name, interval in found.items():
    assert interval.low < scores[name] < interval.high
  assert found["exact_match"].method == "Wilson"
  assert judged.found[:4] == ["욕설, 차별", "", "욕설, 비방", ""]
  assert judged.is_right.tolist() == [True, True, False, False] * 5
  assert judged.certainty[0] == pytest.approx(3 / 4 * 4 / 5 * 2 / 3)
  counts = {"욕설": 5, "차별": 5, "비방": 10}
  assert evaluator.label_counts(examples) == counts
  paths = parts.write(evaluator, examples, None, outputs, tmp_path / "dev")
  with open(paths["predictions"], encoding="utf-8") as file:
    lines = [line.rstrip("\n").split("\t") for line in file]
  assert lines[0] == ["id", "label", *LABELS]
  assert [line[1] for line in lines[1:3]] == ["욕설|차별", ""]
  np.testing.assert_allclose([*map(float, lines[1][2:])], [3 / 4, 4 / 5, 1 / 3])


def test_what_a_server_must_know_is_json():
  made = fine_tuning.FineTuning(
    multi_label.MultiLabelPreprocessor(16, LABELS),
    make_task(),
    multi_label.MultiLabelEvaluator(LABELS),
  )
  assert json.loads(json.dumps(made.describe())) == {
    "head": "multi_label",
    "labels": [*LABELS],
    "max_seq_length": 16,
    "text_pairs": False,
    "metrics": ["micro_f1", "macro_f1", "exact_match"],
    "bilstm_width": None,
  }
