"""SavedModels: their functions, by TensorFlow."""

import http
import re

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  Registers the ops of the tokenizers.
from google.protobuf import json_format

# TensorFlow has no public class of what stands in this file.
from tensorflow.core.protobuf import saved_model_pb2

from keras_bert_impl.serving.local import errors, signatures

_SERVE_TAG = "serve"
# Signatures of the loader itself, not of the model.
_OWN_SIGNATURES = ("__saved_model_init_op", "__saved_model_train_op")

# Statuses of TF Serving, model_servers/http_server.cc; any other code is 500.
_HTTP_STATUSES = {
  tf.errors.INVALID_ARGUMENT: http.HTTPStatus.BAD_REQUEST,
  tf.errors.FAILED_PRECONDITION: http.HTTPStatus.BAD_REQUEST,
  tf.errors.OUT_OF_RANGE: http.HTTPStatus.BAD_REQUEST,
  tf.errors.NOT_FOUND: http.HTTPStatus.NOT_FOUND,
  tf.errors.RESOURCE_EXHAUSTED: http.HTTPStatus.TOO_MANY_REQUESTS,
  tf.errors.UNIMPLEMENTED: http.HTTPStatus.NOT_IMPLEMENTED,
  tf.errors.UNAVAILABLE: http.HTTPStatus.SERVICE_UNAVAILABLE,
}
# Bytes that are no text come from a client, and a refusal quotes them.
_CODE_OF_NO_TEXT = tf.errors.INVALID_ARGUMENT

# Messages of an assertion in the graph, and of the parser of examples.
_ASSERTION = re.compile(r"assertion failed: ((?:\[.*?\] ?)+)")
_NO_FEATURE = re.compile(
  r"Feature: (\S+) .* is required but could not be found"
)
_NO_EXAMPLE = "Could not parse example input"


class Signature(signatures.Signature):
  """A function of TensorFlow.

  Args:
    inputs: {name: `tf.TensorSpec`}.
    outputs: the same.
    function: of tensors by name, to {name: tensor}.
  """

  def __init__(self, inputs, outputs, function):
    self.inputs, self.outputs = map(_specs, (inputs, outputs))
    self.function = function
    self._dtypes = {name: spec.dtype for name, spec in inputs.items()}

  def run(self, inputs):
    """Returns the outputs; see `signatures.Signature`."""
    try:
      outputs = self.function(
        **{
          name: tf.constant(array, self._dtypes[name])
          for name, array in inputs.items()
        }
      )
      return {
        # The string of a scalar comes as plain bytes.
        name: np.asarray(tensor.numpy(), tensor.dtype.as_numpy_dtype)
        for name, tensor in sorted(outputs.items())
      }
    except (tf.errors.OpError, UnicodeDecodeError) as error:
      raise refusal(error) from error


def _specs(of_tensors):
  """Returns {name: `signatures.Spec`} of `tf.TensorSpec`s."""
  return {
    name: signatures.Spec(
      np.dtype(spec.dtype.as_numpy_dtype),
      None if spec.shape.rank is None else tuple(spec.shape.as_list()),
    )
    for name, spec in of_tensors.items()
  }


def refusal(error):
  """Returns the RequestError of an exception of a running model.

  Args:
    error: `tf.errors.OpError`; or UnicodeDecodeError, which TensorFlow raises
      instead of one whose message quotes bytes that are no text.
  """
  if isinstance(error, UnicodeDecodeError):
    text, code = error.object.decode("utf-8", "replace"), _CODE_OF_NO_TEXT
  else:
    text, code = error.message, error.error_code
  status = _HTTP_STATUSES.get(code, http.HTTPStatus.INTERNAL_SERVER_ERROR)
  return errors.of_model(_one_line(text), status)


def _one_line(text):
  """Returns the part of an error's message that is useful to a client."""
  if _NO_EXAMPLE in text:
    return errors.NO_EXAMPLE
  if found := _NO_FEATURE.search(text):
    return errors.no_feature(found[1])
  if found := _ASSERTION.search(text):
    return " ".join(re.findall(r"\[(.*?)\]", found[1]))
  # The lines before tell where in the graph it happened, and so does this tail.
  lines = [line for line in text.splitlines() if not line.startswith("\t [[")]
  return lines[-1] if lines else "it does not say why."


def load(path):
  """Returns {name: `Signature`} and {name: SignatureDef} of a SavedModel.

  Args:
    path: Path, its directory.
  """
  shown = _signature_defs(path / "saved_model.pb")  # First what takes no time.
  return _signatures(tf.saved_model.load(str(path))), shown


def of_functions(functions):
  """Returns {name: `Signature`} of `tf.function`s by name."""
  return {
    name: Signature(
      {spec.name: spec for spec in function.input_signature},
      function.get_concrete_function().structured_outputs,
      function,
    )
    for name, function in functions.items()
  }


def _signatures(loaded):
  found = {
    name: Signature(
      dict(sorted(function.structured_input_signature[1].items())),
      dict(sorted(function.structured_outputs.items())),
      function,
    )
    for name, function in loaded.signatures.items()
  }
  if not found:
    raise ValueError("it has no signatures.")
  return found


def _signature_defs(path):
  saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
  graph = next(
    graph
    for graph in saved.meta_graphs
    if _SERVE_TAG in graph.meta_info_def.tags
  )
  return {
    name: json_format.MessageToDict(
      signature,
      preserving_proto_field_name=True,
      always_print_fields_with_no_presence=True,
    )
    for name, signature in sorted(graph.signature_def.items())
    if name not in _OWN_SIGNATURES
  }
