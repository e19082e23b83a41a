"""The address and the process of the local server."""

import ipaddress
import socket

from absl import logging

_SHUTDOWN_SECONDS = 30


def bind(host, port):
  """Returns a socket that listens at an address; taken before a model loads.

  Raises:
    OSError: the address is not this machine's, or taken.
  """
  try:
    family, kind, protocol, _, address = socket.getaddrinfo(
      host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(address)
    # Only this keeps another server, which is loading too, from the address.
    listener.listen(socket.SOMAXCONN)
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


def run(application, listener):
  """Serves until the process gets SIGINT or SIGTERM."""
  import uvicorn  # an extra

  server = uvicorn.Server(
    uvicorn.Config(
      application,
      lifespan="off",
      ws="none",
      log_level="warning",
      server_header=False,
      timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
  )
  server.run(sockets=[listener])
