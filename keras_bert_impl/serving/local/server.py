"""The address and the process of the local server."""

import ipaddress
import socket

import uvicorn
from absl import logging

from keras_bert_impl.serving.local import connections

_SHUTDOWN_SECONDS = 30

# asyncio accepts as many before it tells of the first one, and runs out of
# descriptors where they are more than are left.
_ACCEPTED_AT_ONCE = 32


class _Listener(socket.socket):
  """A socket that lets many wait, however few are accepted at once."""

  def listen(self, unused_backlog=0):
    """Listens with the longest queue; asyncio has one number for both."""
    super().listen(socket.SOMAXCONN)


def bind(host, port):
  """Returns a socket that listens at an address; taken before a model loads.

  Raises:
    OSError: the address is not this machine's, or taken.
  """
  try:
    family, kind, protocol, _, address = socket.getaddrinfo(
      host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = _Listener(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(address)
    # Listening keeps another server, which is loading too, from the address.
    listener.listen()
  except OSError as error:
    raise OSError(
      f"Cannot listen at {host}:{port}: {error.strerror}. Choose another "
      "--host or --port, or end what listens there."
    ) from error
  return listener


def announce(name, version, listener):
  """Logs where a model is served."""
  host, port = listener.getsockname()[:2]
  shown = f"[{host}]" if ":" in host else host
  url = f"http://{shown}:{port}"
  logging.info(
    "Serving %s, version %d, at %s/v1/models/%s and a page to try it at %s/ "
    "(Ctrl-C ends).",
    name,
    version,
    url,
    name,
    url,
  )
  logging.info(
    "This server is for development. For production use TensorFlow Serving, "
    "which answers at the same paths."
  )
  if not ipaddress.ip_address(host.partition("%")[0]).is_loopback:
    logging.warning(
      "Other machines can reach this server; it asks nobody who they are."
    )


def create(application, max_connections, max_seconds):
  """Returns the server of an application.

  Args:
    application: ASGI application.
    max_connections: int, the most open connections. Another one takes the
      place of the one whose request the server has waited for longest.
    max_seconds: float, how long a request may take to arrive.

  Returns:
    `uvicorn.Server`; `run(sockets=[listener])` serves until the process gets
    SIGINT or SIGTERM.
  """
  return uvicorn.Server(
    uvicorn.Config(
      application,
      # The same, whichever other packages are installed.
      loop="asyncio",
      http=connections.protocol(max_connections, max_seconds),
      backlog=_ACCEPTED_AT_ONCE,
      lifespan="off",
      ws="none",
      # The log is that of the script. A warning is of a client's fault, and
      # the client has been told.
      log_config=None,
      log_level="error",
      access_log=False,
      server_header=False,
      timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
  )
