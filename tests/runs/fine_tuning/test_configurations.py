"""Configurations of a search: summaries, and names that differ."""

import pytest

from keras_bert_impl.runs.fine_tuning import configurations, fine_tuning_report


def test_restarts_are_summed_up_by_configuration():
  entries = [
    {
      "values": {"learning_rate": rate, "random_seed": seed},
      "score": score,
      "is_degenerate": score <= 0.5,
    }
    for rate, seed, score in [
      (1e-3, 1, 0.5),
      (1e-3, 2, 0.7),
      (2e-3, 1, 0.9),
    ]
  ]
  first, second = configurations.summarize(entries)
  assert first == {
    "values": {"learning_rate": 1e-3},
    "num_runs": 2,
    "mean": pytest.approx(0.6),
    "standard_deviation": pytest.approx(0.1 * 2**0.5),
    "best": 0.7,
    "num_degenerate": 1,
  }
  assert second["standard_deviation"] == 0.0


def test_values_that_begin_alike_are_drawn_apart():
  runs = [
    {
      "values": {"learning_rate": rate, "random_seed": seed},
      "score": 0.5,
      "is_degenerate": False,
    }
    for rate in (0.00012345678, 0.00012345679)
    for seed in (1, 2)
  ]
  results = {
    "metric": "accuracy",
    "configurations": configurations.summarize(runs),
    "runs": runs,
  }
  header, rows = configurations.table(results)
  assert header[0] == "dev accuracy"
  assert [(name, number) for name, number, *_ in rows] == [
    ("learning_rate=0.00012345678", "2"),
    ("learning_rate=0.00012345679", "2"),
  ]
  page = fine_tuning_report._configurations(results).body
  assert all(page.count(name) == 2 for name, *_ in rows)  # Table and picture.
