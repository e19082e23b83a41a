"""Measures the local server: start, memory, and requests of a text each.

  python benchmarks/local_server_benchmark.py --model_dir=served/vectors \
    --texts=sentences.txt --checkout=before=/path/to/worktree

Starts `serve.py` of this checkout and of every other one, all on one model, and
lets 1, 8 and 32 connections that stay open ask for one text at a time. The
servers take turns of `--requests` requests, `--rounds` each. Printed are the
CPU seconds and the wall clock from the start of a server to its first answer,
its resident memory after all, and for each number of connections the least CPU
ms that a server took for a request, and the most requests/s. CPU ms are those
of all its threads, which other work on the machine changes little.
"""

import argparse
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import threading
import time

_ROOT = pathlib.Path(__file__).parents[1]
_CONNECTIONS = (1, 8, 32)
_TICK = os.sysconf("SC_CLK_TCK")


class _Server:
  """A server in a process of its own, and what it takes."""

  def __init__(self, checkout, model_dir, flags):
    with socket.socket() as taken:
      taken.bind(("127.0.0.1", 0))
      self.port = taken.getsockname()[1]
    start = time.monotonic()
    self._process = subprocess.Popen(
      [
        sys.executable,
        f"{checkout}/official_tasks/serve.py",
        f"--model_dir={model_dir}",
        f"--port={self.port}",
        "--quiet",
        *flags,
      ],
      env=os.environ | {"PYTHONPATH": str(checkout)},
    )
    self._name = self._wait()
    self.ask(self._connect(), self.request("The first text."))
    self.start_seconds = time.monotonic() - start
    self.start_cpu = self.cpu_seconds()

  def _wait(self):
    """Returns the name of the model, once it is served."""
    while self._process.poll() is None:
      try:
        health = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        return json.loads(self.ask(self._connect(), health))["model"]
      except OSError:
        time.sleep(0.005)
    raise SystemExit("The server ended.")

  def _connect(self):
    connection = socket.create_connection(("127.0.0.1", self.port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection

  def request(self, text):
    """Returns the request of a text, bytes."""
    body = json.dumps({"inputs": {"text": [text]}})
    return (
      f"POST /v1/models/{self._name}:predict HTTP/1.1\r\nHost: localhost\r\n"
      f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode("ascii")

  @staticmethod
  def ask(connection, request):
    """Returns the body of the answer, bytes.

    The clients run beside the server: they do no more than they have to.
    """
    connection.sendall(request)
    received, missing = b"", None
    while missing is None or missing > 0:
      received += connection.recv(1 << 16)
      head, end, body = received.partition(b"\r\n\r\n")
      if end:
        [size] = re.findall(rb"content-length: (\d+)", head.lower())
        missing = int(size) - len(body)
    return body

  def cpu_seconds(self):
    """Returns the CPU seconds of the process so far."""
    path = pathlib.Path(f"/proc/{self._process.pid}/stat")
    fields = path.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK

  def memory(self):
    """Returns the resident and the highest resident memory, MB."""
    text = pathlib.Path(f"/proc/{self._process.pid}/status").read_text()
    lines = dict(line.split(":", 1) for line in text.splitlines())
    return [int(lines[name].split()[0]) / 1000 for name in ("VmRSS", "VmHWM")]

  def answer_all(self, texts, num_connections):
    """Returns CPU ms of a request, and requests/s, of texts asked at once."""
    connections = [self._connect() for _ in range(num_connections)]
    remaining = iter([*map(self.request, texts)])
    lock = threading.Lock()

    def work(connection):
      while True:
        with lock:
          request = next(remaining, None)
        if request is None:
          return
        self.ask(connection, request)

    threads = [threading.Thread(target=work, args=[c]) for c in connections]
    before, start = self.cpu_seconds(), time.monotonic()
    for thread in threads:
      thread.start()
    for thread in threads:
      thread.join()
    seconds = time.monotonic() - start
    cpu = self.cpu_seconds() - before
    for connection in connections:
      connection.close()
    return 1e3 * cpu / len(texts), len(texts) / seconds

  def stop(self):
    self._process.terminate()
    self._process.wait()


def main():
  """Prints the tables."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument("--model_dir", required=True)
  parser.add_argument("--texts", required=True, help="a text on each line")
  parser.add_argument(
    "--checkout", action="append", default=[], metavar="NAME=FOLDER"
  )
  parser.add_argument("--requests", type=int, default=400)
  parser.add_argument("--rounds", type=int, default=5)
  arguments, flags = parser.parse_known_args()
  lines = pathlib.Path(arguments.texts).read_text("utf-8").splitlines()
  lines = [line for line in lines if line.strip()][: arguments.requests]
  checkouts = {"now": _ROOT}
  checkouts |= dict(pair.split("=", 1) for pair in arguments.checkout)
  servers = {
    name: _Server(folder, arguments.model_dir, flags)
    for name, folder in checkouts.items()
  }
  print(f"{'':10} start s  CPU s")
  for name, server in servers.items():
    print(f"{name:10} {server.start_seconds:7.2f} {server.start_cpu:6.2f}")
  print(f"{'':10} connections  CPU ms/request  requests/s")
  for count in _CONNECTIONS:
    found = {name: [] for name in servers}
    for _ in range(arguments.rounds):
      for name, server in servers.items():
        found[name].append(server.answer_all(lines, count))
    for name, pairs in found.items():
      cpu, rates = zip(*pairs)
      print(
        f"{name:10} {count:11} {min(cpu):15.2f} {max(rates):11.0f}", flush=True
      )
  for name, server in servers.items():
    now, most = server.memory()
    print(f"{name:10} RSS {now:.0f} MB, most {most:.0f}")
    server.stop()


if __name__ == "__main__":
  main()
