"""Fields of options and checks of numbers."""

import dataclasses

import pytest

from keras_bert_impl import options


def test_the_first_number_that_is_not_positive_is_told():
  options.check_positive(doc_stride=1, max_windows=2)
  with pytest.raises(ValueError, match=r"max_windows \(0\) must be positive"):
    options.check_positive(doc_stride=1, max_windows=0)


def test_not_a_number_is_no_value_of_any_field():
  @dataclasses.dataclass
  class Threshold:
    threshold: float | None = options.field(None, "Any number.")

  options.check_fields(Threshold(None))
  options.check_fields(Threshold(float("-inf")))
  with pytest.raises(ValueError, match=r"threshold \(nan\) must be a number"):
    options.check_fields(Threshold(float("nan")))
