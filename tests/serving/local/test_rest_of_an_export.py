"""An export behind the local server, asked as a client of TF Serving asks.

`test_rest` asks for all that the server knows, and `test_page` all heads.
"""

import base64

import numpy as np

from tests.serving import answers
from tests.serving.local import local_server


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


def test_every_signature_answers_columns_as_the_eager_model_does(exports):
  head, version_dir = exports["classification_of_pairs"]
  with local_server.application(version_dir.parent) as (asgi, _):
    client = local_server.client(asgi)
    for signature, expected in head.expected.items():
      inputs = head.requests[signature]
      body = {
        "signature_name": signature,
        "inputs": {name: to_json(value) for name, value in inputs.items()},
      }
      response = client.post("/v1/models/toy:predict", json=body)
      assert response.status_code == 200, response.text
      outputs = response.json()["outputs"]
      if len(expected) == 1:
        outputs = dict.fromkeys(expected, outputs)
      found = {
        name: from_json(outputs[name], value)
        for name, value in expected.items()
      }
      assert set(outputs) == set(found)
      answers.check(found, expected)
