"""Asks SavedModels in a fresh process, with a session as TF Serving has it."""

import os
import pathlib
import pickle
import subprocess
import sys

import tensorflow as tf

ROOT = pathlib.Path(__file__).parents[3]


def run_module(name, *arguments):
  subprocess.run(
    [
      sys.executable,
      "-m",
      f"tests.serving.loaders.{name}",
      *map(str, arguments),
    ],
    check=True,
    cwd=ROOT,
    env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
  )


def save_tracking_the_model(encoder, path):
  """Exports as one would without the recipe: the negative control."""
  module = tf.Module()
  module.model = encoder
  spec = tf.TensorSpec([None, None], tf.int32)
  module.encode = tf.function(
    lambda input_ids, input_mask, segment_ids: encoder(
      {
        "input_ids": input_ids,
        "input_mask": input_mask,
        "segment_ids": segment_ids,
      }
    ),
    input_signature=[spec] * 3,
  )
  tf.saved_model.save(module, str(path), {"token_ids": module.encode})


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
