"""Fields of options and checks of numbers."""

import pytest

from keras_bert_impl import options


def test_the_first_number_that_is_not_positive_is_told():
  options.check_positive(doc_stride=1, max_windows=2)
  with pytest.raises(ValueError, match=r"max_windows \(0\) must be positive"):
    options.check_positive(doc_stride=1, max_windows=0)
