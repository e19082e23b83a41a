"""Clients of the local server that keep it waiting."""

import contextlib
import select
import socket
import threading
import time
import urllib.parse
import urllib.request

import pytest

from tests.serving.local import local_server, stand_ins

MAX_CONNECTIONS = 8
PREDICT = "/v1/models/toy:predict"
BODY = b'{"instances": ["four"]}'
POST = f"POST {PREDICT} HTTP/1.1\r\nHost: localhost\r\n".encode()
# Bytes that clients send before they send no more.
BEGINNINGS = {
  "nothing": b"",
  "half a head": b"POST /v1/mod",
  "half a body": POST + b"Content-Length: 99\r\n\r\n{",
  "a head without the body": (
    b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n"
  ),
  "no HTTP": b"\x00 no HTTP\r\n\r\n",
}
REQUEST = POST + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
LONG_ANSWER = 20_000_000


def running(draw=None, **limits):
  return local_server.running(stand_ins.Served("regression"), draw, **limits)


@contextlib.contextmanager
def connected(url, beginning, number=1):
  """Yields connections over which `beginning` has been sent."""
  address = urllib.parse.urlsplit(url)
  with contextlib.ExitStack() as stack:
    clients = []
    for _ in range(number):
      client = stack.enter_context(
        socket.create_connection((address.hostname, address.port), 20)
      )
      client.sendall(beginning)
      clients.append(client)
    yield clients


def is_answered(url):
  with urllib.request.urlopen(url + PREDICT, BODY, timeout=20) as reply:
    return reply.read() == b'{"predictions": [4.0]}'


def read_to_end(client):
  """Returns what the server sends until it ends the connection."""
  received = b""
  with contextlib.suppress(ConnectionResetError):
    while chunk := client.recv(2**20):
      received += chunk
  return received


def form(text):
  body = f"text={text}".encode()
  return (
    b"POST /attention HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Length: %d\r\n\r\n" % len(body) + body
  )


@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=BEGINNINGS)
def test_clients_that_keep_it_waiting_do_not_keep_others_out(beginning, caplog):
  with (
    running(max_connections=MAX_CONNECTIONS) as url,
    connected(url, beginning, 5 * MAX_CONNECTIONS) as clients,
  ):
    for _ in range(3):
      assert is_answered(url)
    ended, _, _ = select.select(clients, [], [], 1)
    assert len(ended) >= 4 * MAX_CONNECTIONS
  assert caplog.messages == []


def test_clients_that_may_ask_again_do_not_keep_others_out():
  with (
    running(max_connections=MAX_CONNECTIONS) as url,
    contextlib.ExitStack() as stack,
  ):
    for _ in range(5 * MAX_CONNECTIONS):
      [client] = stack.enter_context(connected(url, REQUEST))
      assert client.recv(20).startswith(b"HTTP/1.1 200 ")


def test_a_request_that_does_not_arrive_is_given_up():
  # Another one sends a byte now and then, which is no request either.
  replies = {
    "nothing": b"",
    "half a head": b"HTTP/1.1 408 ",
    "half a body": b"HTTP/1.1 408 ",
    "a head without the body": b"HTTP/1.1 200 ",
  }
  with running(seconds=0.3) as url, contextlib.ExitStack() as stack:
    for name, reply in replies.items():
      [client] = stack.enter_context(connected(url, BEGINNINGS[name]))
      received = read_to_end(client)
      assert received.startswith(reply), name
      if b"408" in reply:
        reason = b"not arrived within 0.3 seconds (--max_request_seconds)"
        assert reason in received
    [client] = stack.enter_context(connected(url, b"G"))
    started = time.monotonic()
    while not select.select([client], [], [], 0.05)[0]:
      client.sendall(b"E")
      assert time.monotonic() < started + 10
    assert read_to_end(client).startswith(b"HTTP/1.1 408 ")


@contextlib.contextmanager
def asked(**limits):
  """Yields (url, a client that waits for an answer, what lets it come)."""
  begun, go_on = threading.Event(), threading.Event()

  def draw(*unused_texts):
    begun.set()
    assert go_on.wait(20)
    return "drawn"

  with running(draw, **limits) as url, connected(url, form("a")) as [client]:
    assert begun.wait(20)
    yield url, client, go_on


def test_a_client_that_waits_for_its_answer_is_not_ended():
  limits = {"max_connections": MAX_CONNECTIONS, "seconds": 0.2}
  with asked(**limits) as (url, patient, go_on):
    with connected(url, b"G", 5 * MAX_CONNECTIONS) as impatient:
      assert impatient[-1].recv(20)  # The others have been read, too.
    go_on.set()
    assert patient.recv(20).startswith(b"HTTP/1.1 200 ")


def test_where_everybody_waits_for_an_answer_another_one_is_told():
  with asked(max_connections=1) as (url, _, go_on):
    with connected(url, b"") as [late]:
      reply = read_to_end(late)
    go_on.set()
  assert reply.startswith(b"HTTP/1.1 503 ")
  assert b"no more than 1 connections (--max_connections)" in reply


def test_an_answer_is_given_up_if_nobody_reads_it_and_else_given_in_full():
  with running(lambda *_: "a" * LONG_ANSWER, seconds=0.3) as url:
    with connected(url, form("a"), 2) as [idle, slow]:
      received = 0
      for _ in range(8):
        time.sleep(0.1)
        received += len(slow.recv(2_000_000, socket.MSG_WAITALL))
      received += len(read_to_end(slow))
      assert received > LONG_ANSWER
      assert len(read_to_end(idle)) < LONG_ANSWER


def test_a_client_that_leaves_is_no_failure(caplog):
  with running() as url:
    with connected(url, BEGINNINGS["half a body"]):
      pass
    assert is_answered(url)
  assert caplog.messages == []
