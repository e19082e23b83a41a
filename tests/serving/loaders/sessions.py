"""SavedModels in a session, as TF Serving has them."""

import functools

import tensorflow as tf
import tensorflow_text  # noqa: F401  Registers the ops of the tokenizer.


@functools.cache
def _load(version_dir):
  """Returns a session with the model, and its signatures."""
  session = tf.compat.v1.Session(graph=tf.Graph())
  with session.graph.as_default():
    loaded = tf.compat.v1.saved_model.load(session, ["serve"], str(version_dir))
  return session, loaded.signature_def


def ask(version_dir, signature, inputs):
  """Returns {output: array} for {input: value}."""
  session, signatures = _load(version_dir)
  names = signatures[signature]
  return session.run(
    {key: info.name for key, info in names.outputs.items()},
    {names.inputs[key].name: value for key, value in inputs.items()},
  )
