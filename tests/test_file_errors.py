import errno
import os

import pytest
import tensorflow as tf

from keras_bert_impl import file_errors

TOO_LONG = "x" * 300


def os_error(act):
  with pytest.raises(OSError) as raised:
    act()
  return raised.value


def tf_error(act):
  with pytest.raises(tf.errors.OpError) as raised:
    act()
  return raised.value


@pytest.mark.parametrize(
  "name, reason, remedy",
  [
    ("file/x", "Not a directory", "a part of the path is a file"),
    ("absent/x", "No such file or directory", "check the path"),
    (TOO_LONG, "File name too long", "choose a shorter name"),
    ("folder", "Is a directory", "it is a folder: name a file"),
  ],
)
def test_python_and_tensorflow_get_the_same_line(
  tmp_path, name, reason, remedy
):
  (tmp_path / "file").touch()
  (tmp_path / "folder").mkdir()
  path = f"{tmp_path}/{name}"
  for error in (
    os_error(lambda: open(path, "wb")),
    tf_error(lambda: tf.io.gfile.GFile(path, "rb").read()),
  ):
    line = file_errors.explained(error)
    assert line.startswith(f"{path} cannot be "), line
    assert f" ({reason}): {remedy}" in line and line.endswith(".")
    assert file_errors.reason(error) == reason


def test_an_error_inside_of_an_op_is_one_too(tmp_path):
  path = f"{tmp_path}/absent"
  error = tf_error(lambda: list(tf.data.TFRecordDataset(path)))
  assert file_errors.explained(error) == (
    f"{path} cannot be found (No such file or directory): check the path."
  )


def test_temporary_names_are_not_shown():
  for name in ("out.tmp-12", "out.tempstate123"):
    error = OSError(errno.ENOSPC, "No space left on device", name)
    assert file_errors.explained(error).startswith("out cannot be written (No")
  half, random = "tmp-12-" + 4 * "0123cdef", 4 * "89abcdef"
  for name in ("out.tmp-12/weights", f"out/{half}/weights.tmp{random}"):
    error = OSError(errno.EFBIG, os.strerror(errno.EFBIG), name)
    assert file_errors.explained(error).startswith("out/weights cannot be writ")


def test_a_line_of_our_own_takes_the_remedy_of_the_error():
  error = OSError(errno.EFBIG, os.strerror(errno.EFBIG))
  assert file_errors.remedy(error).startswith("raise the limit of file sizes")
  assert file_errors.remedy(OSError("another")) == "fix the cause"


@pytest.mark.parametrize(
  "error",
  [
    ValueError("size (3) must be even."),
    OSError("a line of our own."),
    tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor"),
    ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
  ],
)
def test_other_errors_are_left_as_they_are(error):
  assert file_errors.explained(error) is None
