"""An export behind the local server, asked as a client of TF Serving asks.

`test_page` asks the exports of all heads.
"""

import base64

import numpy as np
import pytest

from tests.serving import answers, local_server


@pytest.fixture(scope="module")
def served(exports):
  """(head, a client of its server)."""
  head, version_dir = exports["classification_of_pairs"]
  with local_server.application(version_dir.parent) as (asgi, _):
    yield head, local_server.client(asgi)


def to_json(value):
  """Returns an array as JSON, its strings as base64: some are no UTF-8."""
  if isinstance(value, (list, np.ndarray)):
    return [to_json(element) for element in value]
  if isinstance(value, bytes):
    return {"b64": base64.b64encode(value).decode()}
  return value.item()


def from_json(value, like):
  """Returns JSON lists as an array of the kind and shape of another one."""
  if like.dtype == object:
    flat = np.array(value, object).ravel()
    encoded = [text.encode() for text in flat]
    return np.array(encoded, object).reshape(like.shape)
  array = np.array(value)
  if array.size:
    assert array.dtype.kind == like.dtype.kind
  return array.astype(like.dtype)


def ask(client, method="predict", **body):
  response = client.post(f"/v1/models/toy:{method}", json=body)
  assert response.status_code == 200, response.text
  return response.json()


def columns(outputs, expected):
  if len(expected) == 1:
    outputs = dict.fromkeys(expected, outputs)
  assert set(outputs) == set(expected)
  return {
    name: from_json(outputs[name], value) for name, value in expected.items()
  }


def test_every_signature_answers_columns_as_the_eager_model_does(served):
  head, client = served
  assert set(head.requests) == set(head.expected)
  for signature, expected in head.expected.items():
    inputs = head.requests[signature]
    outputs = ask(
      client,
      signature_name=signature,
      inputs={name: to_json(value) for name, value in inputs.items()},
    )["outputs"]
    answers.check(columns(outputs, expected), expected)


def test_rows_are_answered_row_by_row(served):
  head, client = served
  expected = head.expected["serving_default"]
  inputs = head.requests["serving_default"]
  instances = [
    dict(zip(inputs, map(to_json, row))) for row in zip(*inputs.values())
  ]
  rows = ask(client, instances=instances)["predictions"]
  rows = {name: [row[name] for row in rows] for name in expected}
  answers.check(columns(rows, expected), expected)


def test_classify_keeps_its_contract(served):
  head, client = served
  texts = head.requests["serving_default"]
  examples = [
    dict(zip(texts, map(to_json, row))) for row in zip(*texts.values())
  ]
  expected = head.expected["classify"]
  results = ask(
    client, "classify", signature_name="classify", examples=examples
  )["results"]
  labels = [[label for label, _ in row] for row in results]
  scores = [[score for _, score in row] for row in results]
  both = {"classes": labels, "scores": scores}
  answers.check(columns(both, expected), expected)


def test_a_batch_of_zero_is_answered_with_nothing(served):
  head, client = served
  inputs = head.requests["serving_default"]
  outputs = ask(client, inputs={name: [] for name in inputs})["outputs"]
  assert list(outputs.values()) == [[]] * len(outputs)
