"""Fields of options and checks of values."""

import dataclasses

import numpy as np
import pytest

from keras_bert_impl import options


@dataclasses.dataclass
class _Options:
  threshold: float | None = options.field(
    None, "A number.", interval="(-inf, inf)"
  )
  share: float = options.field(0.5, "A share.", interval="[0, 1)")
  size: int = options.field(3, "A size.", interval="[1, 1000]")
  kind: str = options.field("a", "A kind.", choices=("a", "b"))
  name: str = options.field("", "A name.", forbidden="/:")


@pytest.mark.parametrize(
  "values, message",
  [
    (
      {"threshold": float("nan")},
      r"threshold \(nan\) must be in \(-inf, inf\)",
    ),
    (
      {"threshold": float("inf")},
      r"threshold \(inf\) must be in \(-inf, inf\)",
    ),
    ({"share": 1.0}, r"share \(1.0\) must be in \[0, 1\)"),
    ({"share": True}, r"share \(True\) must be in"),
    ({"size": 10**400}, r"size \(10+\) must be in \[1, 1000\]"),
    ({"size": "3"}, r"size \('3'\) must be in"),
    ({"size": 2.0}, r"size \(2.0\) must be an integer"),
    ({"name": 3}, r"name \(3\) must be a str"),
    ({"kind": "c"}, r"kind \('c'\) must be one of a, b"),
    ({"name": "a/b"}, r"name \('a/b'\) must be without / and :"),
  ],
)
def test_a_value_that_is_not_allowed_is_told(values, message):
  with pytest.raises(ValueError, match=message):
    options.check_fields(_Options(**values))
  with pytest.raises(ValueError, match=message):
    options.check_values(_Options, values)


def test_the_ends_of_an_interval_and_none_are_allowed():
  for size in (1, 1000, np.int64(7)):
    options.check_fields(_Options(None, share=np.float32(0), size=size))


def test_the_first_number_that_is_out_of_range_is_told():
  options.check_numbers(options.POSITIVE, doc_stride=1, max_windows=2)
  with pytest.raises(
    ValueError, match=r"max_windows \(0\) must be in \[1, inf"
  ):
    options.check_numbers(options.POSITIVE, doc_stride=1, max_windows=0)


@pytest.mark.parametrize("value", [2.0, True, "2", None, 0])
def test_an_integer_is_no_other_number(value):
  with pytest.raises(ValueError, match="must be an integer in"):
    options.check_integers(options.POSITIVE, size=value)
