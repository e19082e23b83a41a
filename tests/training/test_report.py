"""Results that are read again."""

import pytest

from keras_bert_impl.training import report


def test_a_file_that_is_no_json_is_named(tmp_path):
  path = tmp_path / "results.json"
  assert report.read_json(path) is None
  path.write_text("{not")
  with pytest.raises(ValueError, match="results.json is no JSON: "):
    report.read_json(path)
