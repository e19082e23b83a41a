"""Connections of the local server, which no client can use up.

uvicorn waits without an end for the headers of a request, for the rest of a
body that nobody reads, and for a client to read its answer; its
`limit_concurrency` refuses good clients while bad ones keep their connections.
"""

import collections
import functools
import http
import json
import resource

import h11
from uvicorn.protocols.http import h11_impl

# Open files that are left to the model and to sockets that are just accepted.
_FILES_LEFT = 256

# States in which h11 lets a server answer: nothing begun, or no answer yet.
_UNANSWERED = (h11.IDLE, h11.SEND_RESPONSE)


def protocol(max_connections, max_seconds):
  """Returns the maker of a protocol for each connection, as uvicorn wants it.

  Args:
    max_connections: int, the most open connections; fewer where the limit of
      open files (`ulimit -n`) is low.
    max_seconds: float, how long a request may take to arrive, and a client to
      read on in its answer.
  """
  files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
  if files != resource.RLIM_INFINITY:
    max_connections = min(max_connections, files - min(_FILES_LEFT, files // 2))
  return functools.partial(
    _Connection,
    awaited=collections.OrderedDict(),
    max_connections=max_connections,
    max_seconds=max_seconds,
  )


class _Connection(h11_impl.H11Protocol):
  """A connection that ends if its client keeps the server waiting too long.

  The server waits for a client until its request has arrived as a whole, and
  again once it is answered. While it waits the connection may end: after
  `max_seconds`, or when another one comes, all places are taken and this one
  has been waited for longest. A client that asks without a pause is always
  answered so, however many do not.

  Args:
    awaited: `collections.OrderedDict` whose keys are the connections that the
      server waits for, the one waited for longest first.
    max_connections: int.
    max_seconds: float.
  """

  def __init__(self, *args, awaited, max_connections, max_seconds, **options):
    super().__init__(*args, **options)
    self._awaited = awaited
    self._max_connections = max_connections
    self._max_seconds = max_seconds
    self._unsent = 0  # bytes of the answer, when the wait began
    self._timer = None

  def connection_made(self, transport):
    """Takes a place, if need be from the connection waited for longest."""
    super().connection_made(transport)
    self._wait()
    if len(self.connections) > self._max_connections:
      next(iter(self._awaited))._refuse(
        http.HTTPStatus.SERVICE_UNAVAILABLE,
        f"The server has no more than {self._max_connections} connections "
        "(--max_connections).",
      )

  def data_received(self, data):
    """Reads on in a request."""
    super().data_received(data)
    self._note_arrival()

  def on_response_complete(self):
    """Waits for the client to read the answer and to ask again."""
    super().on_response_complete()
    self._wait()
    self._note_arrival()  # The next request may have come before.

  def connection_lost(self, error):
    """Gives the place back."""
    self._stop_waiting()
    super().connection_lost(error)

  def _note_arrival(self):
    cycle = self.cycle
    if cycle and not cycle.more_body and not cycle.response_complete:
      self._stop_waiting()

  def _wait(self):
    self._stop_waiting()
    self._awaited[self] = None
    self._unsent = self.transport.get_write_buffer_size()
    self._timer = self.loop.call_later(self._max_seconds, self._give_up)

  def _stop_waiting(self):
    self._awaited.pop(self, None)
    if self._timer:
      self._timer.cancel()

  def _give_up(self):
    """Ends the wait, unless the client has read on in its answer."""
    if 0 < self.transport.get_write_buffer_size() < self._unsent:
      self._wait()
    elif self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]:
      self.transport.abort()  # Nothing was asked.
    else:
      self._refuse(
        http.HTTPStatus.REQUEST_TIMEOUT,
        f"The request has not arrived within {self._max_seconds:g} seconds "
        "(--max_request_seconds).",
      )

  def _refuse(self, status, message):
    """Ends the connection; says why, if that can still be an answer."""
    self._stop_waiting()
    if self.cycle:
      self.cycle.disconnected = True  # Nobody reads what else it answers.
    unsent = self.transport.get_write_buffer_size()
    if unsent or self.conn.our_state not in _UNANSWERED:
      self.transport.abort()
      return
    body = json.dumps({"error": message}).encode()
    headers = [
      ("Content-Type", "application/json"),
      ("Content-Length", str(len(body))),
      ("Connection", "close"),
    ]
    for event in (
      h11.Response(status_code=status, headers=headers, reason=status.phrase),
      h11.Data(data=body),
      h11.EndOfMessage(),
    ):
      self.transport.write(self.conn.send(event))
    self.transport.close()
