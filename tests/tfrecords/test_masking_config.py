"""Who decides how tokens are masked: flags, records, or else the objective."""

import pytest

from tfrecords import masking_config

CLEAN, MASKED = {"masking": "dynamic"}, {"masking": "static"}


def config(**values):
  return masking_config.MaskingConfig(**values)


def agreed(origins, objective="bert", **flags):
  """Returns what is agreed with records of these origins, by file."""
  return masking_config.agreed(config(**flags), objective, origins)


def test_what_nobody_chose_is_as_the_original_and_the_paper_have_it():
  bert = {
    "max_predictions_per_seq": 20,
    "masked_lm_prob": 0.15,
    "masking_policy": "token",
    "mask_token_prob": 0.8,
    "random_token_prob": 0.1,
  }
  assert config().completed("bert") == bert
  assert agreed({"a": {}, "b": CLEAN}) == bert
  assert agreed({}, "electra")["mask_token_prob"] == 1.0
  modernbert = {"masked_lm_prob": 0.3, "max_predictions_per_seq": 40}
  assert agreed({}, "modernbert") == bert | modernbert
  assert agreed({}, "left_to_right")["masking_policy"] is None


def test_records_decide_what_no_flag_says():
  choices = {
    "masking_policy": "whole_word",
    "mask_token_prob": 0.0,
    "random_token_prob": 0.0,
    "max_predictions_per_seq": 7,
  }
  found = agreed({"a": CLEAN | choices, "b": {}}, masked_lm_prob=0.3)
  assert found == choices | {"masked_lm_prob": 0.3}


def test_a_flag_that_says_what_records_say_is_no_contradiction():
  origins = {"a": CLEAN | {"masking_policy": "whole_word"}}
  for flags in (
    {"do_whole_word_mask": True},
    {"masking_policy": "whole_word"},
  ):
    assert agreed(origins, **flags)["masking_policy"] == "whole_word"


@pytest.mark.parametrize("form", [CLEAN, MASKED])
@pytest.mark.parametrize(
  ("flags", "theirs", "line"),
  [
    (
      {"masked_lm_prob": 0.3},
      {"masked_lm_prob": 0.15},
      "--masked_lm_prob=0.3 contradicts masked_lm_prob=0.15, which a was",
    ),
    (
      {"do_whole_word_mask": True},
      {"masking_policy": "span"},
      "--masking_policy=whole_word contradicts masking_policy=span, which a",
    ),
    (
      {"do_whole_word_mask": False},
      {"masking_policy": "whole_word"},
      "--do_whole_word_mask=False contradicts do_whole_word_mask=True",
    ),
    (
      {"random_token_prob": 0.0},
      {"random_token_prob": 0.2},
      "--random_token_prob=0.0 contradicts random_token_prob=0.2",
    ),
  ],
)
def test_a_flag_that_contradicts_records_is_an_error(form, flags, theirs, line):
  with pytest.raises(ValueError, match=line):
    agreed({"a": form | theirs}, **flags)


def test_files_that_one_run_cannot_mask_alike_are_an_error():
  origins = {
    "a": CLEAN | {"masking_policy": "ngram"},
    "b": CLEAN | {"masking_policy": "token"},
  }
  with pytest.raises(ValueError, match="b .*policy=token, but a .*=ngram"):
    agreed(origins)


def test_records_masked_already_do_not_say_how_others_are_masked():
  masked = MASKED | {"masking_policy": "whole_word", "masked_lm_prob": 0.4}
  assert agreed({"a": CLEAN, "b": masked})["masking_policy"] == "token"
  assert agreed({"b": masked})["masked_lm_prob"] == 0.4
  other = masked | {"masking_policy": "token"}
  assert agreed({"a": masked, "b": other})["masking_policy"] == "whole_word"


def test_an_objective_of_spans_wants_records_masked_so():
  tokens = {"a": MASKED | {"masking_policy": "token"}}
  with pytest.raises(ValueError, match="a was masked with .*=token"):
    agreed(tokens, "spanbert")
  assert agreed(tokens, "spanbert", masking_policy="token")
  assert agreed({"a": MASKED | {"masking_policy": "span"}}, "spanbert")


@pytest.mark.parametrize(
  ("values", "line"),
  [
    ({"masked_lm_prob": 0.0}, r"masked_lm_prob \(0.0\) must be in \(0, 1\]"),
    ({"mask_token_prob": float("nan")}, r"mask_token_prob \(nan\)"),
    ({"max_predictions_per_seq": 0}, r"max_predictions_per_seq \(0\)"),
    ({"masking_policy": "line"}, r"masking_policy \('line'\) must be one of"),
    (
      {"masking_policy": "span", "do_whole_word_mask": True},
      r"masking_policy \(span\) contradicts do_whole_word_mask",
    ),
    (
      {"masking_policy": "whole_word", "do_whole_word_mask": False},
      "contradicts do_whole_word_mask=False",
    ),
  ],
)
def test_what_cannot_be_is_named(values, line):
  with pytest.raises(ValueError, match=line):
    config(**values)


def test_an_objective_that_masks_nothing_takes_no_choices():
  with pytest.raises(ValueError, match=r"masking_policy \(whole_word\) must"):
    config(do_whole_word_mask=True).completed("left_to_right")
  config(max_predictions_per_seq=5).completed("left_to_right")
  assert agreed({"a": CLEAN | {"masked_lm_prob": 0.3}}, "left_to_right")


def test_shares_that_sum_to_more_than_all_are_named():
  with pytest.raises(ValueError, match=r"mask_token_prob \(0.95\) and"):
    config(mask_token_prob=0.95).completed("bert")
