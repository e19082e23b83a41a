"""Restarts and grids: which runs there are and what they come to."""

import pytest

from keras_bert_impl.runs.fine_tuning import configurations, fine_tuning_config
from keras_bert_impl.runs.fine_tuning import search as fine_tuning_search


def settings(**values):
  return fine_tuning_config.FineTuningConfig(do_train=True, **values)


def test_the_grid_of_the_paper_has_24_points():
  points = fine_tuning_search.parse_grid("paper")
  assert len(points) == len({tuple(point.items()) for point in points}) == 24
  assert {point["train_batch_size"] for point in points} == {16, 32}
  assert {point["learning_rate"] for point in points} == {
    5e-5,
    4e-5,
    3e-5,
    2e-5,
  }
  assert {point["num_train_epochs"] for point in points} == {2, 3, 4}


def test_a_grid_of_ones_own():
  assert fine_tuning_search.parse_grid("learning_rate=1e-3,2e-3") == [
    {"learning_rate": 1e-3},
    {"learning_rate": 2e-3},
  ]
  assert fine_tuning_search.parse_grid(None) == [{}]


@pytest.mark.parametrize(
  ("text", "message"),
  [
    ("lr=1e-3", "'lr' must be one of train_batch_size"),
    ("learning_rate=a", "values of learning_rate must be numbers.*not 'a'"),
    ("train_batch_size=", "the values of train_batch_size must be numbers"),
    ("learning_rate=1e-3,0.001", "must name learning_rate once"),
    (
      "num_train_epochs=1;num_train_epochs=2",
      "must name num_train_epochs once",
    ),
  ],
)
def test_a_grid_that_is_none(text, message):
  with pytest.raises(ValueError, match=message):
    fine_tuning_search.parse_grid(text)


def test_every_point_is_restarted_with_seeds_that_follow_each_other():
  plan = fine_tuning_search.plan(
    settings(grid="learning_rate=1e-3,2e-3", num_restarts=2), 7
  )
  assert plan == [
    {"learning_rate": 1e-3, "random_seed": 7},
    {"learning_rate": 1e-3, "random_seed": 8},
    {"learning_rate": 2e-3, "random_seed": 7},
    {"learning_rate": 2e-3, "random_seed": 8},
  ]


def test_no_two_runs_share_a_folder():
  plan = fine_tuning_search.plan(
    settings(grid="learning_rate=0.00012345678,0.00012345679", num_restarts=2),
    20240101,
  )
  assert len({configurations.name_of(values) for values in plan}) == 4
