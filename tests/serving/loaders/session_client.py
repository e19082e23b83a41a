"""Loads SavedModels as TF Serving does, in a process that knows nothing else.

usage: python -m tests.serving.loaders.session_client REQUESTS RESPONSES

REQUESTS is a pickled list of (model directory, signature, {input: value}),
RESPONSES becomes a pickled list of {output: array}, or an error's text.
"""

import functools
import pickle
import sys

import tensorflow as tf
import tensorflow_text  # noqa: F401  Registers the ops of the tokenizer.


@functools.cache
def load(model_dir):
  """Returns a session with the model, and its signatures."""
  session = tf.compat.v1.Session(graph=tf.Graph())
  with session.graph.as_default():
    loaded = tf.compat.v1.saved_model.load(session, ["serve"], model_dir)
  return session, loaded.signature_def


def answer(model_dir, signature, inputs):
  try:
    session, signatures = load(model_dir)
    names = signatures[signature]
    return session.run(
      {key: info.name for key, info in names.outputs.items()},
      {names.inputs[key].name: value for key, value in inputs.items()},
    )
  except tf.errors.OpError as error:
    return error.message


def main(requests_path, responses_path):
  with open(requests_path, "rb") as file:
    requests = pickle.load(file)
  responses = [answer(*request) for request in requests]
  if "keras_bert_impl" in sys.modules:
    raise RuntimeError("This process must not know the library.")
  with open(responses_path, "wb") as file:
    pickle.dump(responses, file)


if __name__ == "__main__":
  main(*sys.argv[1:])
