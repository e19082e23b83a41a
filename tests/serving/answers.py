"""What an answer of a SavedModel is compared with."""

import numpy as np


def check(answer, expected):
  """Raises AssertionError unless two {output: array} are the same.

  Texts and integers have to be equal, floats to within 1e-5.
  """
  assert set(answer) == set(expected)
  for name, value in expected.items():
    assert answer[name].shape == value.shape, name
    if value.dtype.kind == "f":
      assert answer[name].dtype == np.float32, name
      np.testing.assert_allclose(
        answer[name], value, rtol=0, atol=1e-5, err_msg=name
      )
    else:
      np.testing.assert_array_equal(answer[name], value, err_msg=name)
