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


@dataclasses.dataclass
class _Lists:
  names: tuple[str, ...] | None = options.listed(None, "Names.")
  widths: tuple[int, ...] | None = options.listed(None, "Widths.")
  shares: tuple[float, ...] | None = options.listed(None, "Shares.")
  weights: dict[str, float] | None = options.listed(None, "Weights.")
  size: int = options.field(3, "A size.", interval="[1, 1000]")


@pytest.mark.parametrize(
  "name, text, value",
  [
    ("names", " a, b,", ("a", "b")),
    ("widths", "64,128", (64, 128)),
    ("shares", "1,0.5", (1.0, 0.5)),
    ("weights", "a=b=2,c=0.5", {"a=b": 2.0, "c": 0.5}),
  ],
)
def test_a_text_with_commas_and_a_list_are_the_same(name, text, value):
  given = dict(value) if isinstance(value, dict) else list(value)
  for form in (text, given):
    parsed = options.parsed(_Lists, {name: form, "size": 4})
    assert parsed == {name: value, "size": 4}
  assert options.parsed(_Lists, {name: ""}) == {name: None}
  if isinstance(value, tuple):
    as_flag = options.as_flags({name: value})[name]
    assert options.parsed(_Lists, {name: as_flag}) == {name: value}


@pytest.mark.parametrize(
  "values, message",
  [
    ({"names": ["a", 1]}, "names .*must be a list of texts"),
    ({"names": 3}, "names .3. must be a list"),
    ({"widths": "64,x"}, "widths .'64,x'. must be a list of integers"),
    ({"widths": [1.5]}, "widths .*must be a list of integers"),
    ({"shares": "a"}, "shares .'a'. must be a list of numbers"),
    ({"weights": ["a"]}, "weights .*must be a dict of numbers"),
    ({"weights": "a=x"}, "weights of a .'x'. must be in"),
  ],
)
def test_a_list_of_something_else_is_told(values, message):
  with pytest.raises(ValueError, match=message):
    options.parsed(_Lists, values)


def test_a_text_is_no_list_of_its_letters():
  with pytest.raises(ValueError, match="names .'ab'. must be a tuple"):
    options.check_fields(_Lists(names="ab"))


def test_fields_of_one_name_are_one_with_both_helps():
  others = dataclasses.make_dataclass(
    "Others", [("size", int, options.field(1, "Another.", interval="[1, 9]"))]
  )
  both = options.joined("Both", "All of them.", _Lists, others)
  assert options.names(both) == options.names(_Lists)
  assert both.__doc__ == "All of them." and both().size is None
  help_ = both.__dataclass_fields__["size"].metadata["help"]
  assert help_ == "A size. Another."
