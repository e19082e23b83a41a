"""Which version the local server serves."""

import shutil

import pytest

from keras_bert_impl.serving.local import versions
from tests.serving.local import local_server, stand_ins


@pytest.fixture(scope="module")
def models(tmp_path_factory):
  """Two models to be copied, which fill a mask with their tag."""
  folder = tmp_path_factory.mktemp("models")
  for tag in ("one", "two"):
    stand_ins.save(folder / tag, f"{tag}:")
  return folder


@pytest.fixture
def folder(models, tmp_path):
  """A folder of versions, the first of them the model "one"."""
  shutil.copytree(models / "one", tmp_path / "1")
  return tmp_path


def filled(signature):
  outputs = signature.run({"text": [b"a [MASK]"]})
  return outputs["tokens"][0, 0, 0].decode()


def answer(served):
  return filled(served.current.signatures["serving_default"])


def test_the_highest_version_is_served_and_a_later_one_taken_up(models, folder):
  shutil.copytree(models / "two", folder / "0")
  served = versions.Versions(folder)
  before = served.current.signatures["serving_default"]
  assert answer(served) == "one:a "
  shutil.copytree(models / "two", folder / "10")
  served.refresh()
  assert answer(served) == "two:a "
  assert [*served.states.items()] == [(10, ("AVAILABLE", "")), (1, ("END", ""))]
  # Gone back to, by taking the new one away.
  shutil.rmtree(folder / "10")
  served.refresh()
  assert answer(served) == "one:a "
  # A request is answered by the version that it came for.
  assert filled(before) == "one:a "


def test_a_broken_version_is_passed_over_until_it_is_whole(models, folder):
  for name in ("2", "tmp-4"):
    (folder / name).mkdir()
  (folder / "2" / "saved_model.pb").write_bytes(b"half a file")
  served = versions.Versions(folder)
  served.refresh()
  assert served.current.version == 1
  with local_server.client(served) as client:
    status = client.get("/v1/models/toy/versions/2").json()
  (status,) = status["model_version_status"]
  assert (status["state"], status["status"]["error_code"]) == (
    "END",
    "UNKNOWN",
  )
  assert str(folder / "2") in status["status"]["error_message"]
  shutil.copytree(models / "two", folder / "2", dirs_exist_ok=True)
  served.refresh()
  assert answer(served) == "two:a "


def test_a_link_that_leads_nowhere_stops_no_version(models, folder):
  (folder / "1" / "link").symlink_to("/nowhere")
  served = versions.Versions(folder)
  assert answer(served) == "one:a "
  shutil.copytree(models / "two", folder / "2")
  link = folder / "2" / "saved_model.pb"
  link.rename(folder / "kept")
  link.symlink_to(folder / "moved")
  served.refresh()
  assert answer(served) == "one:a "
  (folder / "kept").rename(folder / "moved")  # Now it leads somewhere.
  served.refresh()
  assert answer(served) == "two:a "


def test_a_directory_without_a_model_is_refused_in_words(models, tmp_path):
  with pytest.raises(FileNotFoundError, match="nowhere is not a directory"):
    versions.Versions(tmp_path / "nowhere")
  with pytest.raises(ValueError, match="holds no version"):
    versions.Versions(tmp_path)
  with pytest.raises(ValueError, match="itself one version.*models"):
    versions.Versions(models / "one")
  (tmp_path / "1").mkdir()
  with pytest.raises(ValueError, match="1 is no model that can") as caught:
    versions.Versions(tmp_path)
  assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
  "content",
  [b"[]", b"[" * 50_000 + b"]" * 50_000, b'{"model_name": 1}', b"{", b"\xff"],
  ids=["list", "deep", "number", "half", "not UTF-8"],
)
def test_a_damaged_description_is_one_line(tmp_path, content):
  description = tmp_path / "1/assets.extra/model.json"
  description.parent.mkdir(parents=True)
  description.write_bytes(content)
  with pytest.raises(ValueError, match="model.json") as caught:
    versions.Versions(tmp_path)
  assert "\n" not in str(caught.value)
