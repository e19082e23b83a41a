"""The local server as a process of its own, as a user runs it."""

import concurrent.futures
import contextlib
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import types
import urllib.error
import urllib.request

import pytest

from tests.official_tasks import scripts
from tests.serving import stand_ins

NUM_THREADS, NUM_REQUESTS = 32, 1000
MAX_OPEN_FILES = 256


class Server:
  """A running server and what it has logged."""

  def __init__(self, **flags):
    self.process = scripts.start(
      "serve", is_fresh=True, host="127.0.0.1", port=0, **flags
    )
    self.log = []
    threading.Thread(target=self._read, daemon=True).start()
    self.url = self.wait_for(r"at (http://[\d.:]+)/v1").group(1)

  def _read(self):
    for line in self.process.stderr:
      self.log.append(line)

  def wait_for(self, pattern):
    """Returns the match of a line of the log, now or within two minutes."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
      for line in list(self.log):
        if match := re.search(pattern, line):
          return match
      assert self.process.poll() is None, self.log
      time.sleep(0.02)
    raise AssertionError((pattern, self.log))

  @property
  def address(self):
    host, port = self.url.removeprefix("http://").split(":")
    return host, int(port)

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
  stand_ins.save("fill_mask", base / "1", tag="one:")
  stand_ins.save("fill_mask", folder / "next", tag="two:")
  with few_files():
    server = Server(model_dir=base, model_name="toy", poll_seconds=0.1)
  yield types.SimpleNamespace(folder=folder, base=base, server=server)
  server.process.kill()
  server.process.wait()


@contextlib.contextmanager
def few_files():
  """Context in which a process starts with a low `ulimit -n`."""
  before = resource.getrlimit(resource.RLIMIT_NOFILE)
  resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_OPEN_FILES, before[1]))
  try:
    yield
  finally:
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def requests_of_mixed_lengths():
  return [
    [f"text {i}" + " [MASK] and" * (i % 4)] * (1 + i % 3)
    for i in range(NUM_REQUESTS)
  ]


def test_it_says_that_it_is_for_development(served):
  served.server.wait_for("for development.*production use TensorFlow Serving")


def test_concurrent_clients_lose_nothing_and_get_their_own_answers(served):
  requests = requests_of_mixed_lengths()
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
    (served.folder / "next").rename(served.base / "2")
    served.server.wait_for("Version 2 ")
    seen = len(tags)
    while len(tags) < seen + 40:
      time.sleep(0.01)
    stop.set()
    for client in clients:
      client.result()  # raises if a request failed
  assert tags[0] == "one"
  assert set(tags) == {"one", "two"}
  assert tags[-4:] == ["two"] * 4


def test_a_broken_version_is_logged_and_the_old_one_goes_on(served):
  (served.base / "7").mkdir()
  (served.base / "7" / "saved_model.pb").write_bytes(b"no model")
  served.server.wait_for("7 is not a SavedModel that can be served")
  assert served.server.predict(["x [MASK]"])[0][0][0][0] == "two:x "


def test_what_is_no_request_does_no_harm(served):
  with socket.create_connection(served.server.address, 20) as client:
    client.sendall(b"\x00\xff no HTTP\r\n\r\n")
    assert b"400" in client.recv(1000)
  for length in (b"-1", b"x"):
    with socket.create_connection(served.server.address, 20) as client:
      client.sendall(
        b"POST /v1/models/toy:predict HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        b"Content-Length: " + length + b"\r\n\r\n"
      )
      assert b"400" in client.recv(1000)
  # Somebody who asks and goes.
  with socket.create_connection(served.server.address, 20) as client:
    client.sendall(head_of_request(len(BODY)) + BODY)
  with pytest.raises(urllib.error.HTTPError, match="413"):
    served.server.predict(["x" * 5_000_000])
  assert len(served.server.predict(["x [MASK]"])) == 1


def test_more_half_sent_requests_than_files_keep_nobody_out(served):
  logged = len(served.server.log)
  with contextlib.ExitStack() as stack:
    for _ in range(2 * MAX_OPEN_FILES):
      client = socket.create_connection(served.server.address, 20)
      stack.enter_context(client).sendall(b"POST /v1/mod")
    assert len(served.server.predict(["x [MASK]"])) == 1
  assert served.server.log[logged:] == []


def test_a_port_in_use_is_one_line(served):
  _, port = served.server.address
  status, _, err = scripts.run("serve", model_dir=served.base, port=port)
  assert status == 1
  error = scripts.error_line(err)
  assert f"Cannot listen at 127.0.0.1:{port}" in error
  assert "--port" in error


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
  assert process.wait(60) == 0
  assert "Traceback" not in "".join(served.server.log)


BODY = b'{"instances": ["a [MASK]"]}'


def head_of_request(length):
  return (
    b"POST /v1/models/toy:predict HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Content-Length: %d\r\n\r\n" % length
  )


def test_a_directory_that_holds_no_model_is_one_line(tmp_path):
  (tmp_path / "empty").mkdir()
  (tmp_path / "broken" / "1").mkdir(parents=True)
  outcomes = scripts.run_each(
    "serve",
    [
      dict(model_dir=tmp_path / name, port=0)
      for name in ("nowhere", "empty", "broken")
    ]
    + [
      dict(model_dir=tmp_path, port=0, max_queue=0),
      dict(model_dir=tmp_path, host="no.such.host.invalid"),
    ],
  )
  expected = (
    "nowhere is not a directory",
    "empty holds no version of a model",
    "1 is not a SavedModel that can be served",
    "max_queue (0) must be in [1, 1000000]",
    "Cannot listen at no.such.host.invalid:8501",
  )
  for (status, err), message in zip(outcomes, expected, strict=True):
    assert status == 1
    assert message in scripts.error_line(err)


def test_without_the_packages_it_says_how_to_install_them(tmp_path):
  script = scripts.ROOT / "official_tasks" / "serve.py"
  program = (
    "import runpy, sys; sys.modules['uvicorn'] = None; "
    f"sys.argv = ['serve.py', '--model_dir={tmp_path}']; "
    f"runpy.run_path({str(script)!r}, run_name='__main__')"
  )
  process = subprocess.run(
    [sys.executable, "-c", program],
    capture_output=True,
    text=True,
    env={**os.environ, "PYTHONPATH": str(scripts.ROOT)},
    timeout=120,
  )
  assert process.returncode == 1
  assert scripts.error_line(process.stderr) == (
    "Error: serve.py needs uvicorn: pip install 'keras-bert-impl[serving]'"
  )
