"""Serves an exported model on this machine, for development.

    python official_tasks/serve.py --model_dir=base/

The server has the REST API of TensorFlow Serving, so that client code works
with both, and a page to try the model out. Use TensorFlow Serving itself in
production: this server has no authentication, no encryption and no gRPC.

--model_dir is the --export_dir of official_tasks/export_saved_model.py. The
highest version in it is served, and a later one replaces it when it appears.
With --checkpoint_dir the page has a tab of attention, as of visualize.py; with
--npm_dir one that runs an ONNX file in the browser.

With TF_NUM_INTRAOP_THREADS=1 in the environment an op uses one thread, which
takes less of the CPU where most requests hold one short text.
"""

import contextlib
import dataclasses
import importlib.util
import os
import pathlib

from absl import logging
from etils import epy

from keras_bert_impl import options
from keras_bert_impl.command_line import program, startup

with epy.lazy_imports():
  from keras_bert_impl.kinds import file_answers
  from keras_bert_impl.model_folders import model_files
  from keras_bert_impl.serving.local import (
    app,
    batching,
    browser_tab,
    server,
    versions,
  )
  from keras_bert_impl.visualization import viewing

_DEFAULT_MODEL_NAME = "model"  # as the Docker image of TensorFlow Serving
_SIZES = "[1, 2147483647]"
_MOST_THREADS = 4


@dataclasses.dataclass(frozen=True)
class ServerConfig:
  """Model, address and limits of the server."""

  model_dir: str = options.required("Folder of the versions of a model.")
  checkpoint_dir: str | None = options.common(
    None,
    "Checkpoint that was exported, for the page's tab of attention, which a"
    " SavedModel does not have; default: no such tab.",
  )
  npm_dir: str | None = options.field(
    None,
    "Folder in which npm has installed onnxruntime-web and"
    " @huggingface/tokenizers, for the page's tab that runs an ONNX file in the"
    " reader's browser; default: no such tab.",
  )
  model_name: str | None = options.common(
    None,
    "Name of the model in URLs; default: the name it was exported with, or "
    f"{_DEFAULT_MODEL_NAME!r}.",
    forbidden=options.URL_SEPARATORS,
  )
  host: str = options.common(
    "127.0.0.1", "Address to listen on; 0.0.0.0 accepts other machines."
  )
  port: int = options.common(
    8501, "Port of the REST API; 0 for any free port.", interval="[0, 65535]"
  )
  allowed_hosts: str = options.field(
    "",
    "Host names of this machine, comma-separated; needed only if clients use a "
    "name instead of an address.",
  )
  max_batch_size: int = options.field(
    32,
    "Maximum rows of concurrent requests per batch.",
    interval=options.BATCH_SIZES,
  )
  batch_timeout_ms: float = options.field(
    0.0,
    "Milliseconds that a request waits for others to share its batch, besides"
    " the time in which the model is busy.",
    interval="[0, 60000]",
  )
  num_batch_threads: int | None = options.field(
    None,
    "Batches that run at once. Default: of LiteRT and ONNX files as many as"
    f" there are processors, at most {_MOST_THREADS}; of SavedModels, whose ops"
    " have threads themselves, 1.",
    interval="[1, 1024]",
  )
  max_queue: int = options.field(
    1000,
    "Maximum number of waiting requests; more get status 503.",
    interval="[1, 1000000]",
  )
  max_request_bytes: int = options.field(
    4 * 2**20,
    "Maximum size of a request; larger ones get status 413.",
    interval=_SIZES,
  )
  max_text_bytes: int = options.field(
    100_000,
    "Maximum size of a string in a request; longer ones get status 400.",
    interval=_SIZES,
  )
  max_request_seconds: float = options.field(
    30.0,
    "Maximum seconds for a request to arrive; slower ones get status 408.",
    interval="(0, 86400]",
  )
  max_connections: int = options.field(
    1000,
    "Maximum number of open connections, and at most 256 fewer than the files "
    "that the process may open (ulimit -n). One more takes the place of the "
    "one that has kept the server waiting longest.",
    interval="[1, 1000000]",
  )
  poll_seconds: float = options.field(
    2.0,
    "Seconds between checks of --model_dir for a new version.",
    interval="[0.01, 86400]",
  )


program.define_flags(ServerConfig)


def serve(config):
  """Serves until the process gets SIGINT or SIGTERM.

  Args:
    config: `ServerConfig`.

  Raises:
    OSError: if the directory is missing or the address cannot be taken.
    ValueError: if the directory holds no model that loads, or starlette and
      uvicorn are not installed.
  """
  has_graph = any(pathlib.Path(config.model_dir).glob("*/saved_model.pb"))
  _check_packages(*["tensorflow"] * has_graph, "starlette", "uvicorn")
  if has_graph:
    startup.import_quietly("tensorflow")
  num_threads = 1 if has_graph else min(os.cpu_count() or 1, _MOST_THREADS)
  with server.bind(config.host, config.port) as listener:
    served = versions.Versions(config.model_dir, file_answers.load)
    batcher = batching.Batcher(
      config.max_batch_size,
      config.batch_timeout_ms / 1000,
      config.max_queue,
      config.num_batch_threads or num_threads,
    )
    try:
      served.watch(config.poll_seconds)
      name = (
        config.model_name
        or served.current.information.get("model_name")
        or _DEFAULT_MODEL_NAME
      )
      application = app.create(
        served,
        batcher,
        name,
        app.Limits(config.max_request_bytes, config.max_text_bytes),
        [config.host, *program.split_names(config.allowed_hosts)],
        _draw_attention(config.checkpoint_dir),
        config.npm_dir and browser_tab.BrowserTab(served, config.npm_dir),
      )
      server.announce(name, served.current.version, listener)
      server.create(
        application, config.max_connections, config.max_request_seconds
      ).run(sockets=[listener])
    finally:
      served.stop()
      batcher.close()


def main():
  """Serves the model of the flags."""
  # uvicorn ends in order on either signal and then raises it again.
  with contextlib.suppress(KeyboardInterrupt):
    serve(program.from_flags(ServerConfig))
  logging.info("The server has ended.")


def _draw_attention(checkpoint_dir):
  """Returns the function behind the tab of attention; None: no checkpoint."""
  if not checkpoint_dir:
    return None
  viewer = viewing.open_viewer(model_files.ModelFilesConfig(), checkpoint_dir)
  return lambda *texts: viewer.view(*texts).html


def _check_packages(*names):
  """Raises ValueError unless packages are installed."""
  missing = [name for name in names if importlib.util.find_spec(name) is None]
  if missing:
    raise ValueError(
      f"serve.py needs {' and '.join(missing)}: pip install"
      " 'keras-bert-impl[serving]'"
    )


if __name__ == "__main__":
  program.run(main, imports=())
