import os

import pytest

from tests.tfrecords.reading.numbered_records import open_records, write
from tfrecords import manifest
from tfrecords.reading import changes, scan

TEXT = b"what is in a file of records"


def exchange(path):
  """Puts another file of the same size in its place, as `mv` does."""
  (path.parent / "new").write_bytes(TEXT[::-1])
  os.replace(path.parent / "new", path)


CHANGES = {
  "exchanged": exchange,
  "longer": lambda path: path.write_bytes(TEXT + b"more"),
  "cut": lambda path: path.write_bytes(TEXT[:5]),
}


@pytest.mark.parametrize("has_manifest", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_is_named(tmp_path, change, has_manifest):
  files = [str(tmp_path / name) for name in "ab"]
  for file in files:
    with open(file, "wb") as opened:
      opened.write(TEXT)
    os.utime(file, (1, 1))  # Clocks of files are coarse.
    if has_manifest:
      manifest.write(file, {}, {"num_records": 1})
  watch = changes.Watch({file: manifest.read(file) for file in files})
  watch.check()
  CHANGES[change](tmp_path / "b")
  with pytest.raises(ValueError, match=f"{files[1]} has been exchanged or wri"):
    watch.check()


def test_the_same_content_at_another_time_is_no_change(tmp_path):
  path = tmp_path / "records"
  path.write_bytes(TEXT)
  manifest.write(str(path), {}, {"num_records": 1})
  watch = changes.Watch({str(path): manifest.read(str(path))})
  os.utime(path, (1, 1))
  watch.check()
  # Bound by the content that the manifest had, whatever it says now.
  exchange(path)
  manifest.write(str(path), {}, {"num_records": 1})
  with pytest.raises(ValueError, match="exchanged"):
    watch.check()
  path.unlink()
  watch.check()  # Who reads it says so.


def test_a_damage_while_a_file_is_read_is_a_change(tmp_path):
  [path] = write(tmp_path, [3])
  records = open_records([path])
  with open(path, "ab") as file:
    file.write(b"more")
  with pytest.raises(ValueError, match="has been exchanged or written to"):
    with scan.errors_explained(records):
      raise scan.ERRORS[0](None, None, "truncated record")
