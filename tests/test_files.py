"""Whatever is wrong with a file is told in one line that names it."""

import os

import pytest

from keras_bert_impl import files


def write(folder, content):
  path = folder / "file.json"
  path.write_bytes(content if isinstance(content, bytes) else content.encode())
  return path


@pytest.mark.parametrize(
  "content, message",
  [
    ("", "file.json is not JSON"),
    ('{"a": 1,\n"b"\n}', "file.json:3 is not JSON .Expecting"),
    (b'{\n"\xff": 1}', "file.json:2 is not UTF-8"),
    ("[1]", r"file.json must be an object, not \[1\]"),
    ("null", "file.json must be an object, not None"),
    ("[" * 5000 + "]" * 5000, "file.json is not usable: .* 100 deep"),
    ('{"a":' * 200 + "1" + "}" * 200, "file.json is not usable: .* 100 deep"),
    ('{"a": 1, "b": 2, "a": 3}', "file.json is not usable: .*'a' twice"),
    ('{"a":\n"x\\ud800"}', r"file.json:2 holds half a character.*ud8"),
    ('{"\\uDFFF": 1}', "file.json holds half a character"),
    ('{"a": "1"}', "a in .*file.json must be an integer, not '1'"),
    ('{"a": true}', "a in .*file.json must be an integer, not True"),
    ('{"a": ' + "9" * 5000 + "}", "file.json is not usable"),
  ],
)
def test_json_that_cannot_be_used_is_refused(tmp_path, content, message):
  path = write(tmp_path, content)
  with pytest.raises(ValueError, match=message) as error:
    files.read_json(path, types={"a": int})
  assert "\n" not in str(error.value)


@pytest.mark.parametrize(
  "content, expected",
  [
    ("\ufeff{}", {}),
    ('{"a": 3, "other": "x"}', {"a": 3, "other": "x"}),
    (r'{"b": "\ud83d\ude00"}', {"b": "\U0001f600"}),
    (r'{"b": "\\ud800"}', {"b": r"\ud800"}),
  ],
)
def test_json_is_read(tmp_path, content, expected):
  path = write(tmp_path, content)
  assert files.read_json(path, types={"a": int}) == expected
  assert files.find_json(path) == expected


def test_a_missing_file_is_none_or_an_error_with_its_name(tmp_path):
  assert files.find_json(tmp_path / "absent.json") is None
  with pytest.raises(FileNotFoundError, match="Task .*absent.json"):
    files.read_json(tmp_path / "absent.json", name="Task")


def test_an_opened_folder_is_read_once_and_a_new_one_sees_changes(tmp_path):
  path = write(tmp_path, '{"a": 1}')
  folder = files.Folder(tmp_path)
  assert folder.is_there
  assert folder.names == ["file.json"]
  assert folder.find_json("absent.json") is None
  assert folder.read_json("file.json", types={"a": int}) == {"a": 1}
  path.unlink()
  (tmp_path / "b").touch()
  assert folder.names == ["file.json"]
  assert folder.find_json("file.json") == {"a": 1}
  # What it must be is asked anew.
  with pytest.raises(ValueError, match="a in .*file.json must be a text"):
    folder.find_json("file.json", types={"a": str})
  again = files.Folder(folder)
  assert again.names == ["b"]
  assert again.find_json("file.json") is None


def test_a_file_or_nothing_is_a_folder_that_is_not_there(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  path = str(write(tmp_path, "{}"))
  for each in ("", "absent", path):
    folder = files.Folder(each)
    assert not folder.is_there
    assert folder.names == []
    assert folder.find_json("config.json") is None
  folder = files.Folder(tmp_path)
  assert folder.of_file(path) is folder
  assert folder.of_file("model/a").path == "model"
  # A file beside us keeps its name.
  assert files.Folder("file.json").parent.join("file.json") == "file.json"
  assert files.Folder("file.json").parent.names == ["file.json"]


def test_fields_have_a_type_and_may_have_a_default():
  values = {"a": 1, "b": 2.5}
  assert files.field(values, "a", float, "there") == 1
  assert files.field(values, "c", str, "there", default=None) is None
  with pytest.raises(ValueError, match="there has no 'c', but 'a', 'b'"):
    files.field(values, "c", str, "there")
  with pytest.raises(ValueError, match="b in there must be a text or null"):
    files.field(values, "b", (str, type(None)), "there")
  with pytest.raises(ValueError, match="there must be an object, not 3"):
    files.field(3, "a", int, "there")


def test_that_a_file_can_be_written_is_known_before(tmp_path):
  files.check_writable(tmp_path / "new" / "file")
  assert [*tmp_path.iterdir()] == []
  (tmp_path / "file").touch()
  files.check_writable(tmp_path / "file")
  with pytest.raises(OSError, match="file/x cannot be written: Not a dir"):
    files.check_writable(tmp_path / "file" / "x")
  with pytest.raises(ValueError, match="is a folder"):
    files.check_writable(tmp_path)


def test_a_name_that_is_no_utf_8_is_refused_by_name(tmp_path):
  os.mknod(os.fsencode(tmp_path) + b"/\xff.txt")
  for name in (tmp_path, f"{tmp_path}/*.txt"):
    with pytest.raises(ValueError, match=r"udcff.txt' is not UTF-8: rename"):
      files.matches(str(name))
