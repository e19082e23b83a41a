"""Bodies of predict, classify and regress requests, and their answers.

Source: tensorflow/serving, g3doc/api_rest.md and util/json_tensor.cc.
"""

import json
from typing import Any, NamedTuple

import numpy as np

from keras_bert_impl.serving.local import errors, examples, tensor_json

_DEFAULT_SIGNATURE = "serving_default"
_EXAMPLES_INPUT = "inputs"


class Call(NamedTuple):
  """One run of a signature that a request asks for.

  Attributes:
    signature: `signatures.Signature`.
    inputs: {name: array}.
    answer: callable that makes the JSON object of the reply of {output name:
      array}.
  """

  signature: Any
  inputs: dict
  answer: Any


def read(method, body, signatures, max_text_bytes):
  """Reads the body of a request.

  Args:
    method: "predict", "classify" or "regress".
    body: bytes, JSON.
    signatures: {name: `signatures.Signature`} of the model.
    max_text_bytes: int, the longest string that is accepted.

  Returns:
    `Call`.

  Raises:
    RequestError: if the body is not what the API says.
  """
  request = _parse(body)
  name = request.get("signature_name", "")
  if not isinstance(name, str):
    raise errors.RequestError(
      f'"signature_name" must be a string, not {tensor_json.shown(name)}.'
    )
  # An empty name is the default's too, as in protocol buffers.
  name = name or _DEFAULT_SIGNATURE
  if name not in signatures:
    raise errors.RequestError(
      f"Serving signature name: {tensor_json.shown(name)} not found in "
      f"signature def; the model has {', '.join(sorted(signatures))}."
    )
  signature = signatures[name]
  if method == "predict":
    return _read_predict(request, signature, max_text_bytes)
  return _read_examples(method, request, name, signature, max_text_bytes)


def _parse(body):
  try:
    request = json.loads(body.decode("utf-8"))
  except UnicodeDecodeError as error:
    raise errors.RequestError(
      f"The request is not UTF-8: {error.reason} at byte {error.start}. Send "
      'bytes that are no text as {"b64": ...}.'
    ) from error
  except RecursionError as error:
    raise errors.RequestError("The request is nested too deeply.") from error
  except ValueError as error:
    raise errors.RequestError(f"JSON Parse error: {error}.") from error
  if not isinstance(request, dict):
    raise errors.RequestError(
      f"The request must be a JSON object, not {tensor_json.shown(request)}."
    )
  return request


def _read_predict(request, signature, max_text_bytes):
  is_row_form = "instances" in request
  if is_row_form == ("inputs" in request):
    raise errors.RequestError(
      'A predict request needs "instances" or "inputs", one of them.'
    )
  read_columns = _columns_of_rows if is_row_form else _columns
  values = read_columns(request, list(signature.inputs))
  inputs = {
    name: tensor_json.to_array(name, values[name], spec, max_text_bytes)
    for name, spec in signature.inputs.items()
  }
  return Call(signature, inputs, _predictions if is_row_form else _outputs)


def _columns_of_rows(request, names):
  """Returns {name: list of its values} of the row form."""
  rows = _list_of(request, "instances")
  if not _is_object(rows[0]):
    if any(_is_object(row) for row in rows):
      raise errors.RequestError('"instances" mixes values and objects.')
    return {_only_name(names, "instances"): rows}
  for index, row in enumerate(rows):
    if not _is_object(row) or set(row) != set(names):
      raise errors.RequestError(
        f'Element {index} of "instances", {tensor_json.shown(row)}, must be an '
        f"object with the keys {', '.join(names)}."
      )
  return {name: [row[name] for row in rows] for name in names}


def _columns(request, names):
  """Returns {name: value} of the column form."""
  inputs = request["inputs"]
  if not _is_object(inputs):
    return {_only_name(names, "inputs"): inputs}
  # Differs from TF Serving, which ignores inputs that it does not know.
  if set(inputs) != set(names):
    raise errors.RequestError(
      f'"inputs" must have the keys {", ".join(names)}, not '
      f"{tensor_json.shown(list(inputs))}."
    )
  return inputs


def _list_of(request, key):
  """Returns the elements of a part of a request."""
  elements = request.get(key)
  if not isinstance(elements, list) or not elements:
    raise errors.RequestError(f'"{key}" must be a list that is not empty.')
  return elements


def _is_object(value):
  return isinstance(value, dict) and not tensor_json.is_base64(value)


def _only_name(names, key):
  if len(names) > 1:
    raise errors.RequestError(
      f'"{key}" holds plain values, but the signature has several inputs: give '
      f"objects with the keys {', '.join(names)}."
    )
  return names[0]


def _outputs(outputs):
  columns = {
    name: tensor_json.to_json(name, array) for name, array in outputs.items()
  }
  # One output goes without its name.
  return {"outputs": columns if len(columns) > 1 else [*columns.values()][0]}


def _predictions(outputs):
  columns = _outputs(outputs)["outputs"]
  if len(outputs) == 1:
    return {"predictions": columns}
  rows = zip(*columns.values(), strict=True)
  return {"predictions": [dict(zip(columns, row, strict=True)) for row in rows]}


def _classifications(outputs):
  shape = outputs.get("classes", outputs.get("scores")).shape
  blanks = {
    "classes": np.full(shape, b"", object),
    "scores": np.zeros(shape, np.float32),
  }
  columns = [
    tensor_json.to_json(name, outputs.get(name, blank))
    for name, blank in blanks.items()
  ]
  rows = zip(*columns, strict=True)
  return {"results": [[*map(list, zip(*row, strict=True))] for row in rows]}


def _regressions(outputs):
  values = outputs["outputs"].reshape(-1)
  return {"results": tensor_json.to_json("outputs", values)}


def _read_examples(method, request, name, signature, max_text_bytes):
  """Returns the `Call` of classify or regress, of serialized tf.Examples."""
  outputs, answer = _OF_EXAMPLES[method]
  if not {*outputs} & {*signature.outputs}:
    listed = " or ".join(f'"{output}"' for output in outputs)
    raise errors.RequestError(
      f"Signature {name} does not {method}: it has no output {listed}. Name "
      'one that does as "signature_name".'
    )
  if list(signature.inputs) != [_EXAMPLES_INPUT]:
    raise errors.RequestError(
      f"Signature {name} takes no tf.Examples: its one input must be named "
      f"{_EXAMPLES_INPUT}; it has {', '.join(signature.inputs)}."
    )
  context = request.get("context", {})
  serialized = [
    _serialized(context, features, max_text_bytes)
    for features in _list_of(request, "examples")
  ]
  inputs = {_EXAMPLES_INPUT: np.array(serialized, object)}
  return Call(signature, inputs, answer)


def _serialized(context, features, max_text_bytes):
  """Returns the tf.Example of features and of those of a context, bytes."""
  for part in (context, features):
    if not isinstance(part, dict):
      raise errors.RequestError(
        f"An example must be a JSON object, not {tensor_json.shown(part)}."
      )
  example = examples.Example()
  # A feature of the example stands before the same one of the context.
  for key, value in (context | features).items():
    tensor_json.to_bytes("key", key)  # Refuses what is no text.
    values = value if isinstance(value, list) else [value]
    _fill(example.features.feature[key], key, values, max_text_bytes)
  return example.SerializeToString(deterministic=True)


def _fill(feature, key, values, max_text_bytes):
  """Adds JSON values of one kind to a feature."""
  if all(isinstance(value, int) for value in values):  # bool is one of them
    try:
      feature.int64_list.value.extend(map(int, values))
    except ValueError as error:
      raise errors.RequestError(f'Feature "{key}": {error}.') from error
  elif all(isinstance(value, float) for value in values):
    feature.float_list.value.extend(values)
  else:
    feature.bytes_list.value.extend(
      tensor_json.to_bytes(key, value, max_text_bytes) for value in values
    )


# {method: (outputs, one of which it needs; what makes the reply)}.
_OF_EXAMPLES = {
  "classify": (("classes", "scores"), _classifications),
  "regress": (("outputs",), _regressions),
}
