"""The local server inside the process of a test."""

import contextlib
import socket
import threading

import uvicorn
from starlette import testclient

from keras_bert_impl.serving.local import app, batching, versions

LIMITS = app.Limits(request_bytes=2**21, text_bytes=1000, request_seconds=30.0)


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
def running(model_dir, limits=LIMITS, draw_attention=None):
  """Yields the address of a server of a directory, on a port of its own."""
  with application(model_dir, limits, draw_attention) as (asgi, _):
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
      uvicorn.Config(asgi, lifespan="off", log_level="warning")
    )
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
      yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
      server.should_exit = True
      thread.join()
