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
    stand_ins.save("fill_mask", folder / tag, tag=f"{tag}:")
  return folder


def filled(client):
  body = {"instances": ["a [MASK]"]}
  response = client.post("/v1/models/toy:predict", json=body)
  return response.json()["predictions"][0]["tokens"][0][0]


def test_the_highest_version_is_served_and_a_later_one_taken_up(
  models, tmp_path
):
  shutil.copytree(models / "one", tmp_path / "9")
  shutil.copytree(models / "two", tmp_path / "1")
  with local_server.application(tmp_path) as (asgi, served):
    client = local_server.client(asgi)
    assert filled(client) == "one:a "
    shutil.copytree(models / "two", tmp_path / "10")
    served.refresh()
    assert filled(client) == "two:a "
    states = client.get("/v1/models/toy").json()["model_version_status"]
    assert [(one["version"], one["state"]) for one in states] == [
      ("10", "AVAILABLE"),
      ("9", "END"),
    ]
    # Gone back to, by taking the new one away.
    shutil.rmtree(tmp_path / "10")
    served.refresh()
    assert filled(client) == "one:a "


def test_a_request_is_answered_by_the_version_it_came_for(models, tmp_path):
  shutil.copytree(models / "one", tmp_path / "1")
  served = versions.Versions(tmp_path)
  signature = served.current.signatures["serving_default"]
  shutil.rmtree(tmp_path / "1")
  shutil.copytree(models / "two", tmp_path / "2")
  served.refresh()
  outputs = signature.run({"text": [b"a [MASK]"]})
  assert outputs["tokens"][0, 0, 0] == b"one:a "


def test_a_broken_version_is_passed_over_until_it_is_whole(models, tmp_path):
  shutil.copytree(models / "one", tmp_path / "1")
  with local_server.application(tmp_path) as (asgi, served):
    client = local_server.client(asgi)
    (tmp_path / "2").mkdir()
    (tmp_path / "2" / "saved_model.pb").write_bytes(b"half a file")
    served.refresh()
    served.refresh()
    assert filled(client) == "one:a "
    status = client.get("/v1/models/toy/versions/2").json()
    (status,) = status["model_version_status"]
    assert (status["state"], status["status"]["error_code"]) == (
      "END",
      "UNKNOWN",
    )
    assert str(tmp_path / "2") in status["status"]["error_message"]
    shutil.copytree(models / "two", tmp_path / "2", dirs_exist_ok=True)
    served.refresh()
    assert filled(client) == "two:a "


def test_at_the_start_too_a_broken_version_is_passed_over(models, tmp_path):
  shutil.copytree(models / "one", tmp_path / "1")
  (tmp_path / "3").mkdir()
  (tmp_path / "tmp-4").mkdir()
  assert versions.Versions(tmp_path).current.version == 1


def test_a_directory_without_a_model_is_refused_in_words(models, tmp_path):
  with pytest.raises(FileNotFoundError, match="nowhere is not a directory"):
    versions.Versions(tmp_path / "nowhere")
  with pytest.raises(ValueError, match="holds no version"):
    versions.Versions(tmp_path)
  with pytest.raises(ValueError, match="itself one version.*models"):
    versions.Versions(models / "one")
  (tmp_path / "1").mkdir()
  with pytest.raises(ValueError, match="1 is not a SavedModel") as caught:
    versions.Versions(tmp_path)
  assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
  "content",
  ["[]", "[" * 50_000 + "]" * 50_000, '{"model_name": 1}', "{", b"\xff"],
  ids=["list", "deep", "number", "half", "not UTF-8"],
)
def test_a_damaged_description_is_one_line(models, tmp_path, content):
  shutil.copytree(models / "one", tmp_path / "1")
  description = tmp_path / "1" / "assets.extra" / "model.json"
  description.parent.mkdir(exist_ok=True)
  description.write_bytes(
    content if isinstance(content, bytes) else content.encode()
  )
  with pytest.raises(ValueError, match="model.json") as caught:
    versions.Versions(tmp_path)
  assert "\n" not in str(caught.value)
