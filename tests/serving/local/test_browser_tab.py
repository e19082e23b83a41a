"""The tab that runs an ONNX file in the reader's browser."""

import numpy as np
import pytest

from keras_bert_impl.kinds import file_answers
from keras_bert_impl.serving.local import browser_tab, versions
from keras_bert_impl.serving.small import export
from tests import browser
from tests.serving import all_heads
from tests.serving.local import local_server, stand_ins

PACKAGES = ("onnxruntime-web", "@huggingface/tokenizers")


class Served(stand_ins.Served):
  """Serves a stand-in from a folder with some files."""

  def __init__(self, folder, file_format="onnx"):
    super().__init__("classification", {"format": file_format})
    self.folder = folder


@pytest.fixture
def npm(tmp_path):
  """A folder as npm leaves it."""
  for package in PACKAGES:
    (tmp_path / "npm/node_modules" / package).mkdir(parents=True)
  (tmp_path / "npm/node_modules/onnxruntime-web/a.mjs").write_text("let a;")
  return tmp_path / "npm"


@pytest.fixture
def client(npm, tmp_path):
  folder = tmp_path / "served/1"
  (folder / "inner").mkdir(parents=True)
  (folder / "model.onnx").write_bytes(b"onnx")
  (tmp_path / "served/secret").write_text("hidden")
  served = Served(folder)
  tab = browser_tab.BrowserTab(served, str(npm))
  with local_server.client(served, in_browser=tab) as client:
    yield client


def test_the_page_has_its_files_and_those_of_the_model(client):
  assert client.get("/model.json").json()["has_browser"] is True
  page = client.get("/browser/")
  assert page.headers["content-type"].startswith("text/html")
  assert "default-src 'none'" in page.headers["content-security-policy"]
  script = client.get("/browser/client.mjs")
  assert script.headers["content-type"].startswith("text/javascript")
  module = client.get("/browser/node_modules/onnxruntime-web/a.mjs")
  assert module.text == "let a;" and "javascript" in str(module.headers)
  assert client.get("/browser/model/model.onnx").content == b"onnx"


@pytest.mark.parametrize(
  "path",
  (
    "model/none",
    "model/inner",
    "model/..%2fsecret",
    "node_modules/..%2f..%2fserved/secret",
    "node_modules/none.mjs",
    "model/..",
  ),
)
def test_no_other_file_is_shown(client, path):
  response = client.get(f"/browser/{path}")
  assert "hidden" not in response.text
  # The client makes the last one the page.
  assert response.status_code == 404 or path == "model/.."


def test_without_packages_there_is_no_tab():
  with local_server.client(stand_ins.Served("classification")) as client:
    assert client.get("/browser/").status_code == 404
    assert client.get("/model.json").json()["has_browser"] is False


def test_faults_are_told(npm, tmp_path):
  with pytest.raises(ValueError, match="is for ONNX files"):
    browser_tab.BrowserTab(Served(tmp_path, "litert"), str(npm))
  (npm / "node_modules" / PACKAGES[1]).rmdir()
  with pytest.raises(ValueError, match="has no node_modules/@huggingface/tok"):
    browser_tab.BrowserTab(Served(tmp_path), str(npm))


@pytest.mark.slow
@browser.needed
def test_a_person_finds_the_tab_and_the_browser_answers(tmp_path):
  browser.install(tmp_path)
  head = all_heads.make("classification_of_pairs", tmp_path)
  export.export(head.servable, str(tmp_path / "made"), "onnx")
  served = versions.Versions(str(tmp_path / "made"), file_answers.load)
  tab = browser_tab.BrowserTab(served, str(tmp_path))
  shares = head.expected["serving_default"]["probabilities"][0]
  with (
    local_server.running(served, in_browser=tab) as url,
    browser.running(tmp_path / "profile") as driver,
  ):
    page = browser.Page(driver)
    driver.get(url)
    page.wait(lambda: page.find("#pages").is_displayed())
    assert not page.find("#attention-link").is_displayed()
    page.find("#browser-link").click()
    found = browser.shares_in_browser(page, next(iter(all_heads.PAIRS)))
    np.testing.assert_allclose(list(found.values()), shares, atol=1e-5)
    wrong = [
      log for log in driver.get_log("browser") if log["level"] == "SEVERE"
    ]
    assert not wrong
