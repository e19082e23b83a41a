"""encode_corpus.py: workers, Beam, and what is killed."""

import json
import pathlib
import signal
import time

import psutil
import pytest

from tests import slow
from tests.official_tasks import scripts

pytestmark = pytest.mark.integration

STATIC = pathlib.Path(__file__).parents[1] / "data/static"
TWO_WORKERS = "--direct_num_workers=2 --direct_running_mode=multi_processing"
NUM_TEXTS = 600


@pytest.fixture(name="corpus", scope="module")
def fixture_corpus(tmp_path_factory):
  """A folder of BEIR."""
  folder = tmp_path_factory.mktemp("beir")
  words = "the cat sat on mat cats 고양이 . a dog ran".split()
  with open(folder / "corpus.jsonl", "w", encoding="utf-8") as file:
    for number in range(NUM_TEXTS):
      text = " ".join(words[number % 5 : 1 + number % 11]) or "mat"
      record = {"_id": f"d{number}", "title": "", "text": text}
      file.write(json.dumps(record) + "\n")
  return folder


def flags(corpus, folder, **values):
  return {
    "input_file": corpus,
    "checkpoint_dir": STATIC,
    "output_dir": folder,
    "shard_size": 10,
    "batch_size": 4,
  } | values


def contents(folder):
  return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(name="expected", scope="module")
def fixture_expected(corpus, tmp_path_factory):
  """The files of a run in one process."""
  folder = tmp_path_factory.mktemp("expected")
  status, out, err = scripts.run("encode_corpus", **flags(corpus, folder))
  assert status == 0, err
  assert f"{NUM_TEXTS} texts, 1 vectors of each, float32: about 0.0 MB" in err
  assert "static, 6, float32" in out and out.endswith("manifest.json\n")
  return contents(folder)


def test_two_workers_write_the_bytes_of_one(corpus, expected, tmp_path):
  values = flags(corpus, tmp_path, num_workers=2)
  status, _, err = scripts.run("encode_corpus", **values)
  assert status == 0, err
  assert contents(tmp_path) == expected
  # And nothing is written anew.
  status, _, err = scripts.run("encode_corpus", **values)
  assert status == 0, err
  assert contents(tmp_path) == expected


def test_two_workers_of_beam_write_the_bytes_of_one(corpus, expected, tmp_path):
  pytest.importorskip("apache_beam")
  values = {"runner": "DirectRunner", "pipeline_options": TWO_WORKERS}
  status, _, err = scripts.run(
    "encode_corpus", **flags(corpus, tmp_path, **values)
  )
  assert status == 0, err
  assert contents(tmp_path) == expected


@pytest.mark.parametrize("num_workers", slow.all_but((1,), (1, 2)))
def test_killed_and_continued_gives_the_same_bytes(
  corpus, expected, tmp_path, num_workers
):
  values = flags(corpus, tmp_path, num_workers=num_workers)
  for least in (1, 20):
    process = scripts.start("encode_corpus", is_fresh=True, **values)
    deadline = time.monotonic() + 300
    while len(list(tmp_path.glob("vectors-*.npy"))) < least:
      assert process.poll() is None and time.monotonic() < deadline
      time.sleep(0.002)
    main = psutil.Process(process.pid)
    family = [main, *main.children(recursive=True)]
    for member in family:
      member.send_signal(signal.SIGKILL)
    psutil.wait_procs(family, timeout=60)
    process.communicate()
    assert not (tmp_path / "manifest.json").exists()
  status, _, err = scripts.run("encode_corpus", **values)
  assert status == 0, err
  assert contents(tmp_path) == expected


def test_mistakes_are_told_in_one_line(corpus, tmp_path):
  wrong = tmp_path / "wrong.txt"
  wrong.write_text("one\n\nthree\n")
  scripts.check_mistakes(
    "encode_corpus",
    [
      ({"input_file": wrong}, "wrong.txt:2 has an empty text"),
      ({"input_file": "nowhere.txt"}, "nowhere.txt does not exist"),
      ({"checkpoint_dir": "nowhere"}, "nowhere"),
      ({"pool_factor": 2}, "pool_factor (2) must be left out"),
    ],
    lambda **values: flags(corpus, tmp_path / "out", **values),
  )
