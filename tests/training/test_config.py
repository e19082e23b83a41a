"""What a run may be configured with: choices, ranges, numbers."""

import dataclasses

import pytest

from keras_bert_impl.training import training_config

FLOATS = [
  field.name
  for field in dataclasses.fields(training_config.TrainingConfig)
  if isinstance(field.default, float)
]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
def test_what_no_run_can_use_is_named_with_its_range(value):
  for name in FLOATS:
    with pytest.raises(
      ValueError, match=rf"{name} \({value}\) must be in [\[(]"
    ):
      training_config.TrainingConfig(**{name: value})


@pytest.mark.parametrize(
  ("name", "outside", "inside", "interval"),
  [
    ("adam_beta_1", 1.0, 0.0, r"\[0, 1\)"),
    ("adam_epsilon", 0.0, 1e-12, r"\[1e-30, 1\]"),
    ("layerwise_lr_decay", 1.5, 1.0, r"\(0, 1\]"),
    ("num_train_steps", 0, 1, r"\[1, 1000000000\]"),
    ("random_seed", 2**31, 0, r"\[0, 2147483647\]"),
  ],
)
def test_the_ends_of_a_range_belong_to_it_or_not(
  name, outside, inside, interval
):
  training_config.TrainingConfig(**{name: inside})
  with pytest.raises(
    ValueError, match=rf"{name} \({outside}\) must be in {interval}"
  ):
    training_config.TrainingConfig(**{name: outside})


def test_a_choice_that_there_is_none_of_is_named_with_the_others():
  with pytest.raises(
    ValueError, match=r"optimizer \('adam'\) must be one of adamw, lamb"
  ):
    training_config.TrainingConfig(optimizer="adam")


def test_a_line_to_zero_has_no_decay_of_its_own():
  with pytest.raises(
    ValueError, match="num_decay_steps .5. needs learning_rat"
  ):
    training_config.TrainingConfig(num_decay_steps=5)
