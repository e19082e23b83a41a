"""Asks SavedModels in a fresh process, with a session as TF Serving has it.

usage: python -m tests.serving.loaders.session_client REQUESTS RESPONSES

REQUESTS is a pickled list of (model directory, signature, {input: value}),
RESPONSES becomes a pickled list of {output: array}, or an error's text. The
process knows nothing but TensorFlow and the ops of the tokenizer.
"""

import functools
import os
import pathlib
import pickle
import subprocess
import sys

import tensorflow as tf

ROOT = pathlib.Path(__file__).parents[3]


def ask(folder, requests):
  """Returns {key: answer} of requests to SavedModels, from a fresh process.

  Args:
    folder: `pathlib.Path` for files in between.
    requests: {key: (version directory, signature, {input: value})}.
  """
  (folder / "requests").write_bytes(pickle.dumps(list(requests.values())))
  run_module("session_client", folder / "requests", folder / "responses")
  responses = pickle.loads((folder / "responses").read_bytes())
  return dict(zip(requests, responses, strict=True))


def run_module(name, *arguments):
  """Runs a module of this package in a process without a GPU."""
  module = f"tests.serving.loaders.{name}"
  subprocess.run(
    [sys.executable, "-m", module, *map(str, arguments)],
    check=True,
    cwd=ROOT,
    env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
  )


@functools.cache
def _load(model_dir):
  """Returns a session with the model, and its signatures."""
  session = tf.compat.v1.Session(graph=tf.Graph())
  with session.graph.as_default():
    loaded = tf.compat.v1.saved_model.load(session, ["serve"], model_dir)
  return session, loaded.signature_def


def _answer(model_dir, signature, inputs):
  try:
    session, signatures = _load(model_dir)
    names = signatures[signature]
    return session.run(
      {key: info.name for key, info in names.outputs.items()},
      {names.inputs[key].name: value for key, value in inputs.items()},
    )
  except tf.errors.OpError as error:
    return error.message


def main(requests_path, responses_path):
  import tensorflow_text  # noqa: F401  Registers the ops of the tokenizer.

  requests = pickle.loads(pathlib.Path(requests_path).read_bytes())
  responses = [_answer(*request) for request in requests]
  if "keras_bert_impl" in sys.modules:
    raise RuntimeError("This process must not know the library.")
  pathlib.Path(responses_path).write_bytes(pickle.dumps(responses))


if __name__ == "__main__":
  main(*sys.argv[1:])
