"""Converts JSON values to arrays and back, as TF Serving's REST API.

Source: tensorflow/serving, g3doc/api_rest.md and util/json_tensor.cc.
"""

import base64
import binascii
import json
import math

import ml_dtypes
import numpy as np

from keras_bert_impl.serving.local import errors, signatures

_BASE64_KEY = "b64"
_BYTES_SUFFIX = "_bytes"
_SHOWN_CHARACTERS = 60


def to_array(name, value, spec, max_text_bytes):
  """Converts a JSON value to the array of one input.

  Args:
    name: str, the input's, for messages.
    value: JSON value: a scalar, {"b64": str}, or lists of them.
    spec: `signatures.Spec` that the array must fit.
    max_text_bytes: int, the longest string that is accepted.

  Returns:
    Array of spec's dtype; object array of bytes for strings.

  Raises:
    RequestError: if the value does not fit, or its lists are of mixed lengths.
  """
  # Lists that numpy cannot make an axis of stay as values.
  array = np.array(value, object)
  if not spec.fits(array.shape):
    raise errors.RequestError(
      f'Input "{name}" must have the shape {_shown_shape(spec.shape)}, where '
      f"-1 is any size, and not {_shown_shape(array.shape)}."
    )
  values = array.ravel().tolist()
  if any(isinstance(value, list) for value in values):
    raise errors.RequestError(
      f'Input "{name}" must have lists of one length and depth.'
    )
  if spec.dtype == signatures.STRING:
    values = [to_bytes(name, value, max_text_bytes) for value in values]
    return np.array(values, object).reshape(array.shape)
  for value in values:
    if not _fits(value, spec.dtype):
      raise errors.RequestError(
        f'Input "{name}": {shown(value)} is no {spec.dtype.name}.'
      )
  return np.array(values, spec.dtype).reshape(array.shape)


def to_bytes(name, value, max_bytes=math.inf):
  """Returns the bytes of a JSON string, in UTF-8, or of a {"b64": str}.

  Args:
    name: str, of its input or feature, for messages.
    value: JSON value.
    max_bytes: int, the longest string that is accepted.

  Raises:
    RequestError: if it is neither, no valid one, or too long.
  """
  text = _decoded(name, value)
  if len(text) > max_bytes:
    raise errors.RequestError(
      f'"{name}": a string of {len(text)} bytes is longer than the '
      f"{max_bytes} that this server takes (--max_text_bytes)."
    )
  return text


def _decoded(name, value):
  if is_base64(value):
    try:
      return base64.b64decode(value[_BASE64_KEY], validate=True)
    except (ValueError, binascii.Error) as error:
      raise errors.RequestError(
        f'"{name}": {shown(value)} is not valid base64: {error}.'
      ) from error
  if not isinstance(value, str):
    raise errors.RequestError(f'"{name}": {shown(value)} is not a string.')
  try:
    return value.encode("utf-8")
  except UnicodeEncodeError as error:
    raise errors.RequestError(
      f'"{name}": {shown(value)} holds half of a surrogate pair, which is no '
      "character."
    ) from error


def is_base64(value):
  """Returns whether a JSON value is {"b64": str}."""
  return (
    isinstance(value, dict)
    and list(value) == [_BASE64_KEY]
    and isinstance(value[_BASE64_KEY], str)
  )


def to_json(name, array):
  """Converts the array of one output to a JSON value: lists, or a scalar.

  A string is given as {"b64": str} if the output is named *_bytes.
  Differs from TF Serving: so is any string that is not UTF-8, of which TF
  Serving makes invalid JSON.

  Args:
    name: str, the output's.
    array: numeric array, or object array of bytes.
  """
  if array.dtype.kind in "OS":
    is_binary = name.endswith(_BYTES_SUFFIX)
    texts = [_text_json(text, is_binary) for text in array.ravel().tolist()]
    return np.array(texts, object).reshape(array.shape).tolist()
  if array.dtype.kind in "biu" or array.dtype == np.float64:
    return array.tolist()
  return _short_doubles(array.astype(np.float32)).tolist()


def shown(value):
  """Returns the beginning of a JSON value, for a message of one line."""
  text = json.dumps(value, ensure_ascii=False)
  # Halves of surrogate pairs are no text.
  text = text.encode("utf-8", "backslashreplace").decode("utf-8")
  if len(text) <= _SHOWN_CHARACTERS:
    return text
  return f"{text[:_SHOWN_CHARACTERS]}..."


def _shown_shape(shape):
  return str([-1 if size is None else size for size in shape])


def _fits(value, dtype):
  """Returns whether a JSON value is one of a dtype that is no string."""
  if dtype.kind == "b" or isinstance(value, bool):
    return dtype.kind == "b" and isinstance(value, bool)
  if dtype.kind in "iu":
    limits = np.iinfo(dtype)
    return isinstance(value, int) and limits.min <= value <= limits.max
  # An integer may be above every float.
  return isinstance(value, (int, float)) and not (
    float(ml_dtypes.finfo(dtype).max) < abs(value) < math.inf
  )


def _text_json(text, is_binary):
  if not is_binary:
    try:
      return text.decode("utf-8")
    except UnicodeDecodeError:
      pass
  return {_BASE64_KEY: base64.b64encode(text).decode("ascii")}


def _short_doubles(values):
  """Returns doubles that are written with few digits, for float32 values.

  Six significant digits where they already tell the float32, else nine, which
  always do; below 1e-14 and above 1e27 powers of ten are inexact and more may
  be written.
  Source: json_tensor.cc, WriteDecimal.

  Args:
    values: float32, any shape.

  Returns:
    float64 of the same shape.
  """
  exact = values.astype(np.float64)
  is_number = np.isfinite(exact) & (exact != 0)
  magnitudes = np.abs(np.where(is_number, exact, 1.0))
  exponents = np.floor(np.log10(magnitudes))

  def rounded(digits):
    powers = digits - 1 - exponents
    # Those of negative numbers are inexact.
    up, down = (10.0 ** np.maximum(power, 0) for power in (powers, -powers))
    scaled = np.where(is_number, exact, 1.0) * up / down
    return np.round(scaled) * down / up

  short, long = rounded(6), rounded(9)
  with np.errstate(over="ignore"):  # rounded beyond the largest float32
    is_told = short.astype(np.float32) == values
  return np.where(is_number, np.where(is_told, short, long), exact)
