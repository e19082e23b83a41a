"""What is answered to a request that cannot be served."""

import http
import re

import tensorflow as tf

# As in TF Serving, model_servers/http_server.cc; any other code is 500.
_HTTP_STATUSES = {
  tf.errors.INVALID_ARGUMENT: http.HTTPStatus.BAD_REQUEST,
  tf.errors.FAILED_PRECONDITION: http.HTTPStatus.BAD_REQUEST,
  tf.errors.OUT_OF_RANGE: http.HTTPStatus.BAD_REQUEST,
  tf.errors.NOT_FOUND: http.HTTPStatus.NOT_FOUND,
  tf.errors.RESOURCE_EXHAUSTED: http.HTTPStatus.TOO_MANY_REQUESTS,
  tf.errors.UNIMPLEMENTED: http.HTTPStatus.NOT_IMPLEMENTED,
  tf.errors.UNAVAILABLE: http.HTTPStatus.SERVICE_UNAVAILABLE,
}


# What is said by an assertion in the graph, and by the parser of examples.
_ASSERTION = re.compile(r"assertion failed: \[(.*?)\] \[")
_NO_FEATURE = re.compile(
  r"Feature: (\S+) .* is required but could not be found"
)


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
  """Returns the RequestError of what a model raised while it ran.

  Args:
    error: `tf.errors.OpError`.
  """
  # The lines before tell where in the graph it happened, and so does this tail.
  lines = [
    line for line in error.message.splitlines() if not line.startswith("\t [[")
  ]
  message = lines[-1] if lines else type(error).__name__
  if found := _ASSERTION.search(message):
    message = found[1]
  elif found := _NO_FEATURE.search(message):
    message = f"an example has no feature {found[1]}."
  status = _HTTP_STATUSES.get(
    error.error_code, http.HTTPStatus.INTERNAL_SERVER_ERROR
  )
  return RequestError(f"The model failed: {message}", status)
