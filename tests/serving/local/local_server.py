"""The local server inside the process of a test."""

import contextlib
import threading

from starlette import testclient

from keras_bert_impl.serving.local import app, batching, server

LIMITS = app.Limits(request_bytes=2**21, text_bytes=1000)


@contextlib.contextmanager
def application(served, **tabs):
  """Yields the ASGI application of `versions.Versions` or a stand-in."""
  batcher = batching.Batcher(
    max_batch_size=8, timeout_seconds=0.001, max_queue=100
  )
  try:
    yield app.create(served, batcher, "toy", LIMITS, **tabs)
  finally:
    batcher.close()


@contextlib.contextmanager
def client(served, **options):
  """Yields a client of an `application`."""
  with application(served, **options) as asgi:
    yield testclient.TestClient(asgi, base_url="http://127.0.0.1:8501")


@contextlib.contextmanager
def running(
  served, draw_attention=None, max_connections=500, seconds=30.0, **tabs
):
  """Yields the address of a server, on a port of its own."""
  with application(served, draw_attention=draw_attention, **tabs) as asgi:
    listener = server.bind("127.0.0.1", 0)
    running_server = server.create(asgi, max_connections, seconds)
    thread = threading.Thread(
      target=running_server.run, kwargs={"sockets": [listener]}
    )
    thread.start()
    try:
      yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
      running_server.should_exit = True
      thread.join()
