"""The local server as a process of its own, as a user runs it."""

import concurrent.futures
import contextlib
import json
import resource
import signal
import socket
import sys
import threading
import time
import types
import urllib.error
import urllib.request

import pytest

from tests.official_tasks import scripts
from tests.serving.local import stand_ins

pytestmark = pytest.mark.integration

NUM_THREADS, NUM_REQUESTS = 32, 300
MAX_OPEN_FILES = 256
BODY = b'{"instances": ["a [MASK]"]}'


def limit_files():
  """Gives a process a low `ulimit -n`."""
  _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
  resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_OPEN_FILES, most))


class Server:
  """A running server at a free port."""

  def __init__(self, **flags):
    with socket.create_server(("127.0.0.1", 0)) as free:
      self.address = free.getsockname()
    self.url = "http://{}:{}".format(*self.address)
    self.process = scripts.start(
      "serve", before=limit_files, port=self.address[1], **flags
    )

  def wait_for_version(self, number):
    """Waits until a version is served, two minutes at most."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
      assert self.process.poll() is None, self.process.communicate()
      with contextlib.suppress(OSError):
        with urllib.request.urlopen(f"{self.url}/health", timeout=60) as reply:
          if json.load(reply)["version"] == number:
            return
      time.sleep(0.02)
    raise AssertionError(number)

  def predict(self, texts):
    """Returns the answers as [[(token, score) of each mask] of each text]."""
    reply = urllib.request.urlopen(
      f"{self.url}/v1/models/toy:predict",
      json.dumps({"instances": texts}).encode(),
      timeout=60,
    )
    # Without the padding to the most masks of the batch.
    return [
      list(zip(row["tokens"], row["scores"]))[: row["num_masks"]]
      for row in json.load(reply)["predictions"]
    ]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
  """A server whose every answer starts with the tag of its version."""
  folder = tmp_path_factory.mktemp("served")
  base = folder / "base"
  stand_ins.save(base / "1", "one:")
  stand_ins.save(folder / "next", "two:")
  server = Server(model_dir=base, model_name="toy", poll_seconds=0.1)
  server.wait_for_version(1)
  yield types.SimpleNamespace(folder=folder, base=base, server=server)
  server.process.kill()


def test_concurrent_clients_lose_nothing_and_get_their_own_answers(served):
  requests = [
    [f"text {i}" + " [MASK] and" * (i % 4)] * (1 + i % 3)
    for i in range(NUM_REQUESTS)
  ]
  # One after the other, a text at a time: nothing is joined.
  alone = {
    text: served.server.predict([text])[0]
    for text in sorted({request[0] for request in requests})[:50]
  }
  with concurrent.futures.ThreadPoolExecutor(NUM_THREADS) as threads:
    answers = list(threads.map(served.server.predict, requests))
  assert len(answers) == NUM_REQUESTS
  for request, answer in zip(requests, answers):
    masks = request[0].count("[MASK]")
    before = [request[0].partition(" [MASK]")[0], *["and"] * (masks - 1)]
    expected = [f"one:{text} " for text in before[:masks]]
    for row in answer:
      assert [tokens[0] for tokens, _ in row] == expected
      assert row == alone.get(request[0], row)
    assert len(answer) == len(request)


def test_a_new_version_is_taken_up_without_losing_a_request(served):
  stop = threading.Event()
  tags = []

  def ask():
    while not stop.is_set():
      [[(tokens, _)]] = served.server.predict(["x [MASK]"])
      tags.append(tokens[0].partition(":")[0])

  with concurrent.futures.ThreadPoolExecutor(4) as threads:
    clients = [threads.submit(ask) for _ in range(4)]
    try:
      (served.folder / "next").rename(served.base / "2")
      served.server.wait_for_version(2)
      seen = len(tags)
      while len(tags) < seen + 40 and not any(c.done() for c in clients):
        time.sleep(0.01)
    finally:
      stop.set()
    for client in clients:
      client.result()  # raises if a request failed
  assert tags[0] == "one"
  assert set(tags) == {"one", "two"}
  assert tags[-4:] == ["two"] * 4


def test_sigterm_answers_what_has_begun_and_ends_in_order(served):
  process = served.server.process
  with socket.create_connection(served.server.address, 60) as client:
    client.sendall(head_of_request(len(BODY)) + BODY[:10])
    time.sleep(0.5)  # until the server has read it
    process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    client.sendall(BODY[10:])
    answer = client.makefile("rb").read()
  assert answer.startswith(b"HTTP/1.1 200")
  assert b'"two:a "' in answer
  _, log = process.communicate(60)
  assert process.returncode == 0
  assert "for development. For production use TensorFlow Serving" in log
  # Nothing of all that went before is told but what it serves.
  lines = [line for line in log.splitlines() if " of " in line]
  assert ["Version" in line for line in lines] == [True, True]
  assert "Traceback" not in log


def head_of_request(length):
  return (
    "POST /v1/models/toy:predict HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    f"Content-Length: {length}\r\n\r\n"
  ).encode()


def test_what_cannot_be_served_is_one_line(tmp_path):
  (tmp_path / "empty").mkdir()
  (tmp_path / "broken" / "1").mkdir(parents=True)
  with socket.create_server(("127.0.0.1", 0)) as taken:
    port = taken.getsockname()[1]
    outcomes = scripts.run_each(
      "serve",
      [
        dict(model_dir=tmp_path / "nowhere", port=0),
        dict(model_dir=tmp_path / "empty", port=0),
        dict(model_dir=tmp_path / "broken", port=0),
        dict(model_dir=tmp_path, port=0, max_queue=0),
        dict(model_dir=tmp_path, port=port),
        dict(model_dir=tmp_path, host="no.such.host.invalid"),
      ],
    )
  expected = (
    "nowhere is not a directory",
    "empty holds no version of a model",
    "1 is no model that can be served",
    "max_queue (0) must be in [1, 1000000]",
    f"Cannot listen at 127.0.0.1:{port}",
    "Cannot listen at no.such.host.invalid:8501",
  )
  for (status, err), message in zip(outcomes, expected, strict=True):
    assert status == 1
    assert message in scripts.error_line(err)


def hide_uvicorn():
  """Makes uvicorn a package that is not installed."""
  sys.modules["uvicorn"] = None


def test_without_the_packages_it_says_how_to_install_them(tmp_path):
  process = scripts.start("serve", before=hide_uvicorn, model_dir=tmp_path)
  _, err = process.communicate(120)
  assert process.returncode == 1
  assert scripts.error_line(err) == (
    "Error: serve.py needs uvicorn: pip install 'keras-bert-impl[serving]'"
  )
