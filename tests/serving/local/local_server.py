"""The local server inside the process of a test."""

import contextlib
import threading

from starlette import testclient

from keras_bert_impl.serving.local import app, batching, server, versions

LIMITS = app.Limits(request_bytes=2**21, text_bytes=1000)


@contextlib.contextmanager
def application(model_dir, limits=LIMITS, draw_attention=None):
  """Yields (the ASGI application, its Versions) of a directory."""
  served = versions.Versions(str(model_dir))
  batcher = batching.Batcher(
    max_batch_size=8, timeout_seconds=0.001, max_queue=100
  )
  try:
    yield (
      app.create(served, batcher, "toy", limits, draw_attention=draw_attention),
      served,
    )
  finally:
    batcher.close()


def client(application, **options):
  return testclient.TestClient(
    application, base_url="http://127.0.0.1:8501", **options
  )


@contextlib.contextmanager
def running(model_dir, draw_attention=None, max_connections=500, seconds=30.0):
  """Yields the address of a server of a directory, on a port of its own."""
  with application(model_dir, draw_attention=draw_attention) as (asgi, _):
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
