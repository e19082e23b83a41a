"""Rows of examples: the same on disk and in memory."""

import collections

import numpy as np
import pytest

from keras_bert_impl.tasks.basics import fine_tuning
from tfrecords.labelled import row_files

COLUMNS = {
  "input_ids": fine_tuning.Column(),
  "choices": fine_tuning.Column("int32", (None, 2)),
  "score": fine_tuning.Column("float32", ()),
  "marks": fine_tuning.Column(shape=(3,)),
}


def row(length, score):
  ids = np.arange(1, length + 1)
  return {
    "input_ids": ids,
    "choices": np.stack([ids, -ids], axis=-1),
    "score": score,
    "marks": [length, 0, 1],
  }


def test_what_is_read_is_what_was_written(tmp_path):
  path = str(tmp_path / "records" / "train.tf_record")
  row_files.write(path, [row(3, 0.5), row(1, -2.0)], COLUMNS, {"a": 1}, {})
  rows = row_files.read(path, COLUMNS)
  assert len(rows) == 2
  assert rows.lengths.tolist() == [3, 1]
  assert rows["input_ids"][0].tolist() == [1, 2, 3]
  assert rows["choices"][0].tolist() == [[1, -1], [2, -2], [3, -3]]
  assert rows["choices"][-1].tolist() == [[1, -1]]
  assert rows["score"].tolist() == [0.5, -2.0]
  assert rows["score"].dtype == np.float32
  assert rows["marks"].tolist() == [[3, 0, 1], [1, 0, 1]]
  assert rows["input_ids"][0].dtype == np.int32


def test_rows_of_another_origin_and_damaged_ones_are_not_found(tmp_path):
  path = tmp_path / "train.tf_record"
  counts = collections.Counter({"texts cut": 2})
  row_files.write(str(path), [row(3, 0.5)], COLUMNS, {"a": 1}, counts)
  assert row_files.find(str(path), {"a": 1}) == {"texts cut": 2}
  assert row_files.find(str(path), {"a": 2}) is None
  path.write_bytes(path.read_bytes()[:-1])
  assert row_files.find(str(path), {"a": 1}) is None
  with pytest.raises(ValueError, match="train.tf_record is damaged"):
    row_files.read(str(path), COLUMNS)


def test_nothing_is_left_of_rows_that_fail_half_way(tmp_path):
  def rows():
    yield row(3, 0.5)
    raise ValueError("no label")

  with pytest.raises(ValueError, match="no label"):
    row_files.write(str(tmp_path / "t.tf_record"), rows(), COLUMNS, {}, {})
  assert list(tmp_path.iterdir()) == []
