"""What an answer of a SavedModel is compared with."""

import numpy as np

# Rows of a request that are asked for.
PARTS = {"all": slice(None), "none": slice(0), "first": slice(1)}


def part_of(inputs, part):
  """Returns {input: array} with the rows of one of `PARTS`."""
  return {name: value[PARTS[part]] for name, value in inputs.items()}


def check(answer, expected, part="all"):
  """Raises AssertionError unless a part is answered as in the whole.

  Texts and integers have to be equal, floats to within 1e-5.

  Args:
    answer: {output: array}, to some rows of a request.
    expected: {output: array}, to the whole request.
    part: one of `PARTS`, the rows.
  """
  assert set(answer) == set(expected)
  for name, value in expected.items():
    found, wanted = answer[name], value[PARTS[part]]
    if part != "all":
      # Fewer rows may be padded less.
      assert found.ndim == wanted.ndim, name
      sizes = (len(wanted), *found.shape[1:])
      wanted = wanted[tuple(slice(size) for size in sizes)]
    assert found.shape == wanted.shape, name
    if value.dtype.kind == "f":
      assert found.dtype == np.float32, name
      np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5, err_msg=name)
    else:
      assert found.dtype == value.dtype, name
      np.testing.assert_array_equal(found, wanted, err_msg=name)
