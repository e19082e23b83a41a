"""Errors of requests, with status and message."""

import http

NO_EXAMPLE = "an example is not a serialized tf.Example."


class RequestError(Exception):
  """A request that cannot be served, with one line that says why.

  Args:
    message: str, for the client.
    status: int, of HTTP.
  """

  def __init__(self, message, status=http.HTTPStatus.BAD_REQUEST):
    super().__init__(message)
    self.status = status


def of_model(reason, status=http.HTTPStatus.BAD_REQUEST):
  """Returns the RequestError of a model that refuses a request.

  Args:
    reason: str, one line.
    status: int, of HTTP.
  """
  return RequestError(f"The model failed: {reason}", status)


def no_feature(name):
  """Returns the reason of examples without a feature."""
  return f"an example has no feature {name}."
