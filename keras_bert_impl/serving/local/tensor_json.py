"""Converts JSON values to arrays and back, as TF Serving's REST API.

Source: tensorflow/serving, g3doc/api_rest.md and util/json_tensor.cc.
"""

import base64
import binascii
import json
import math

import numpy as np
import tensorflow as tf

from keras_bert_impl.serving.local import errors

_BASE64_KEY = "b64"
_BYTES_SUFFIX = "_bytes"
_SHOWN_CHARACTERS = 60


def to_array(name, value, spec, max_text_bytes):
  """Converts a JSON value to the array of one input.

  Args:
    name: str, the input's, for messages.
    value: JSON value: a scalar, {"b64": str}, or lists of them.
    spec: `tf.TensorSpec` that the array must fit.
    max_text_bytes: int, the longest string that is accepted.

  Returns:
    Array of spec's dtype; object array of bytes for strings.

  Raises:
    RequestError: if the value does not fit, or its lists are of mixed lengths.
  """
  shape = _shape(value)
  if not spec.shape.is_compatible_with(shape):
    raise errors.RequestError(
      f'Input "{name}" must have the shape {_shown_shape(spec.shape)}, where '
      f"-1 is any size, and not {_shown_shape(shape)}."
    )
  leaves = []
  _collect(name, value, shape, leaves)
  convert = _converter(spec.dtype)
  values = [convert(name, leaf, spec.dtype) for leaf in leaves]
  if spec.dtype == tf.string:
    for text in values:
      check_text(name, text, max_text_bytes)
    array = np.empty(len(values), object)
    array[:] = values
  else:
    array = np.array(values, spec.dtype.as_numpy_dtype)
  return array.reshape(shape)


def to_bytes(name, value):
  """Returns the bytes of a JSON string, in UTF-8, or of a {"b64": str}.

  Raises:
    RequestError: if it is neither, or no valid one.
  """
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


def check_text(name, text, max_text_bytes):
  """Refuses a string that is too long.

  Args:
    name: str, of its input or feature.
    text: bytes.
    max_text_bytes: int.

  Raises:
    RequestError: if it is.
  """
  if len(text) > max_text_bytes:
    raise errors.RequestError(
      f'"{name}": a string of {len(text)} bytes is longer than the '
      f"{max_text_bytes} that this server takes (--max_text_bytes)."
    )


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
    return _nested(texts, array.shape)
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


def _shape(value):
  """Returns the shape of nested lists, by the first element of each."""
  shape = []
  while isinstance(value, list):
    shape.append(len(value))
    if not value:
      break
    value = value[0]
  return shape


def _collect(name, value, shape, leaves):
  """Appends the values of nested lists of this shape, in order."""
  if not shape:
    if isinstance(value, list):
      raise _mixed_lengths(name)
    leaves.append(value)
    return
  if not isinstance(value, list) or len(value) != shape[0]:
    raise _mixed_lengths(name)
  for element in value:
    _collect(name, element, shape[1:], leaves)


def _mixed_lengths(name):
  return errors.RequestError(
    f'Input "{name}" must have lists of one length and depth.'
  )


def _shown_shape(shape):
  if isinstance(shape, tf.TensorShape):
    shape = shape.as_list()
  return str([-1 if size is None else size for size in shape])


def _converter(dtype):
  if dtype == tf.string:
    return lambda name, value, unused_dtype: to_bytes(name, value)
  if dtype == tf.bool:
    return _to_bool
  return _to_integer if dtype.is_integer else _to_float


def _to_bool(name, value, dtype):
  if not isinstance(value, bool):
    raise _wrong_type(name, value, dtype)
  return value


def _to_integer(name, value, dtype):
  is_integer = isinstance(value, int) and not isinstance(value, bool)
  if not is_integer or not dtype.min <= value <= dtype.max:
    raise _wrong_type(name, value, dtype)
  return value


def _to_float(name, value, dtype):
  if isinstance(value, bool) or not isinstance(value, (int, float)):
    raise _wrong_type(name, value, dtype)
  # An integer may be above every float.
  if float(dtype.max) < abs(value) < math.inf:
    raise _wrong_type(name, value, dtype)
  return value


def _wrong_type(name, value, dtype):
  return errors.RequestError(
    f'Input "{name}": {shown(value)} is no {dtype.name}.'
  )


def _text_json(text, is_binary):
  if not is_binary:
    try:
      return text.decode("utf-8")
    except UnicodeDecodeError:
      pass
  return {_BASE64_KEY: base64.b64encode(text).decode("ascii")}


def _nested(values, shape):
  """Nests a flat list into lists of this shape."""
  if not shape:
    return values[0]
  stride = math.prod(shape[1:])
  return [
    _nested(values[row * stride : (row + 1) * stride], shape[1:])
    for row in range(shape[0])
  ]


def _short_doubles(values):
  """Returns doubles that are written with few digits, for float32 values.

  Six significant digits where they already tell the float32, else nine, which
  always do; below 1e-17 powers of ten are inexact and more may be written.
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
    scales = 10.0 ** (digits - 1 - exponents)
    return np.round(np.where(is_number, exact, 1.0) * scales) / scales

  short, long = rounded(6), rounded(9)
  with np.errstate(over="ignore"):  # rounded beyond the largest float32
    is_told = short.astype(np.float32) == values
  return np.where(is_number, np.where(is_told, short, long), exact)
