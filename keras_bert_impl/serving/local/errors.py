"""Errors of requests, with status and message."""

import http
import re

import tensorflow as tf

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


class RequestError(Exception):
  """A request that cannot be served, with one line that says why.

  Args:
    message: str, for the client.
    status: int, of HTTP.
  """

  def __init__(self, message, status=http.HTTPStatus.BAD_REQUEST):
    super().__init__(message)
    self.status = status


def of_model(error):
  """Returns the RequestError of an exception of a running model.

  An exception of anything else is returned as it is.

  Args:
    error: `tf.errors.OpError`; or UnicodeDecodeError, which TensorFlow raises
      instead of one whose message quotes bytes that are no text.
  """
  if isinstance(error, UnicodeDecodeError):
    text, code = error.object.decode("utf-8", "replace"), _CODE_OF_NO_TEXT
  elif isinstance(error, tf.errors.OpError):
    text, code = error.message, error.error_code
  else:
    return error
  status = _HTTP_STATUSES.get(code, http.HTTPStatus.INTERNAL_SERVER_ERROR)
  return RequestError(f"The model failed: {_one_line(text)}", status)


def _one_line(text):
  """Returns the part of an error's message that is useful to a client."""
  if _NO_EXAMPLE in text:
    return "an example is not a serialized tf.Example."
  if found := _NO_FEATURE.search(text):
    return f"an example has no feature {found[1]}."
  if found := _ASSERTION.search(text):
    return " ".join(re.findall(r"\[(.*?)\]", found[1]))
  # The lines before tell where in the graph it happened, and so does this tail.
  lines = [line for line in text.splitlines() if not line.startswith("\t [[")]
  return lines[-1] if lines else "it does not say why."
