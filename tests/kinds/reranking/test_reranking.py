"""Reranking: its rows, its losses beside NumPy, its scores."""

import collections

import numpy as np
import pytest

from keras_bert_impl import choices, tokenizers
from keras_bert_impl.kinds.reranking import reranking
from keras_bert_impl.tasks.basics import example_types
from tests.official_tasks import scripts

SCORES = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]], np.float32)
GRADES = np.array([[0.0, 2.0, 1.0], [1.0, 0.0, -1.0]], np.float32)


def example(number, grades=None, missing=()):
  return example_types.RankingExample(
    "0",
    "the cat",
    tuple(scripts.WORDS[:number]),
    tuple(grades or [1.0, *(number - 1) * [0.0]]),
    missing,
  )


def sigmoid_loss(x):
  return np.log1p(np.exp(x))


EXPECTED = {
  "listwise": [
    -np.log(np.exp([2, -1]) / np.exp([1, 2, -1]).sum()) @ [2 / 3, 1 / 3],
    -np.log(np.exp(0.5) / np.exp([0.5, 0]).sum()),
  ],
  # 1 above 2 above 0; the last document of the second only fills its row.
  "pairwise": [
    np.mean(sigmoid_loss(np.array([1 - 2.0, -1 - 2.0, 1 - -1.0]))),
    sigmoid_loss(-0.5),
  ],
  "pointwise": [
    np.mean(sigmoid_loss(np.array([1, -2.0, 1.0]))),
    np.mean(sigmoid_loss(np.array([-0.5, 0.0]))),
  ],
}


@pytest.mark.parametrize("loss", choices.RANKING_LOSSES)
def test_losses_are_those_of_the_papers(loss):
  task = reranking.RerankingTask(None, loss)
  for row in range(2):
    batch = {
      "grades": GRADES[row : row + 1],
      "input_mask": np.ones((1, 3, 4), "int32"),
    }
    outputs = {"logits": SCORES[row : row + 1]}
    found = float(task.losses(batch, outputs)[loss])
    assert found == pytest.approx(EXPECTED[loss][row], rel=1e-5)
    padding = batch | {"input_mask": np.zeros((1, 3, 4), "int32")}
    assert float(task.losses(padding, outputs)[loss]) == 0


def test_a_query_of_many_documents_has_several_rows(tmp_path):
  scripts.write_model_files(tmp_path)
  tokenizer = tokenizers.load(str(tmp_path))
  preprocessor = reranking.RerankingPreprocessor(16, 4)
  examples = [example(6), example(4)]
  rows = [*preprocessor.make_rows(examples, tokenizer, collections.Counter())]
  assert [row["input_ids"].shape[1] for row in rows] == [4, 4, 4]
  assert rows[0]["grades"].tolist() == [1, 0, 0, 0]
  assert rows[1]["grades"].tolist() == [0, 0, -1, -1]
  np.testing.assert_array_equal(
    rows[1]["input_ids"][:, 1], rows[1]["input_ids"][:, 3]
  )


def test_documents_that_are_missing_count_as_not_found():
  examples = [example(5, [0, 0, 1, 0, 0], (1.0,)), example(4)]
  logits = np.array([[0, 1, 5, 3], [2, 9, 9, 9], [1, 2, 3, 4]], np.float32)
  evaluator = reranking.RerankingEvaluator(("mrr@10", "recall@1"))
  answers = evaluator.answers(examples, None, {"logits": logits})
  assert answers.order.tolist() == [[2, 3, 4, 1, 0], [3, 2, 1, 0, -1]]
  scores = evaluator.score(examples, answers)
  assert scores == {"mrr@10": (1 + 1 / 4) / 2, "recall@1": 0.25}
  shown = evaluator.judge(examples, None, None, answers, scores)
  assert shown.is_right.tolist() == [True, False]
  assert shown.found == [e.documents[k] for e, k in zip(examples, (2, 3))]
  assert shown.gold[1] == examples[1].documents[0]
  # As they were given: the third is relevant, and the first.
  assert evaluator.baselines(examples)["mrr@10"] == (1 / 3 + 1) / 2
