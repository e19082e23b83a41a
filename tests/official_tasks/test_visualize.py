"""visualize.py: all runs of it in one process."""

import base64
import json
import re
import zlib

import pytest

from tests.model_folders import runs
from tests.official_tasks import scripts

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  """A folder with that of a run that has learnt classes."""
  folder = tmp_path_factory.mktemp("visualize")
  runs.write(folder / "run", "bilstm", configuration={"task_name": "mrpc"})
  return folder


@pytest.fixture(scope="module")
def outcomes(folder):
  """What each run said."""
  usual = {
    "checkpoint_dir": folder / "run",
    "text": "고양이 본다",
    "output_file": folder / "no.html",
  }
  runs = {
    "pair": {"text_pair": "a dog .", "output_file": folder / "pair.html"},
    "word": {"layers": "1,last"},
    "twice": {"layers": "1,-1"},
    "missing": {"checkpoint_dir": folder / "none"},
  }
  found = scripts.run_each("visualize", [usual | run for run in runs.values()])
  return dict(zip(runs, found))


def content(path):
  html = path.read_text(encoding="utf-8")
  [stored] = re.findall('id="content">([^<]*)<', html)
  return json.loads(zlib.decompress(base64.b64decode(stored)))


def test_the_page_of_a_run_has_its_text_and_prediction(folder, outcomes):
  assert outcomes["pair"][0] == 0, outcomes["pair"][1]
  found = content(folder / "pair.html")
  texts = [text for text, _, _ in found["tokens"]]
  assert texts == "[CLS] 고양이 본다 [SEP] a dog . [SEP]".split()
  [[label, place, saliency]] = found["predictions"]
  assert re.fullmatch(r"(not_)?equivalent \(\d\d\.\d%\)", label)
  assert place is None and len(saliency) == len(texts)
  assert found["name"] == "run"
  assert not (folder / "no.html").exists()


@pytest.mark.parametrize(
  "name, error",
  [
    ("word", r"layers \(1,last\) must be numbers"),
    ("twice", r"layers \(1, -1\) must be different layers"),
    ("missing", "none"),
  ],
)
def test_a_mistake_gets_one_line(outcomes, name, error):
  status, err = outcomes[name]
  assert status == 1
  assert re.search(error, scripts.error_line(err))
