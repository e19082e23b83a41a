"""An export behind the local server, asked as a client of TF Serving asks.

`test_rest` asks for all that the server knows, and `test_page` all heads.
"""

import pytest

from keras_bert_impl.serving.local import versions
from tests.serving import bad_requests
from tests.serving.local import local_server


@pytest.fixture(scope="module")
def client(exports):
  served = versions.Versions(
    exports["classification_of_pairs"].version_dir.parent
  )
  with local_server.client(served) as client:
    yield client


def test_the_metadata_are_the_signatures(client):
  content = client.get("/v1/models/toy/metadata").json()
  assert content["model_spec"] == {
    "name": "toy",
    "signature_name": "",
    "version": "1",
  }
  signatures = content["metadata"]["signature_def"]["signature_def"]
  assert list(signatures) == [
    "classify",
    "serving_default",
    "tf_example",
    "token_ids",
  ]
  inputs = signatures["serving_default"]["inputs"]
  assert set(inputs) == {"text", "text_pair"}
  assert inputs["text"]["dtype"] == "DT_STRING"
  assert inputs["text"]["tensor_shape"] == {
    "dim": [{"size": "-1", "name": ""}],
    "unknown_rank": False,
  }
  method = signatures["serving_default"]["method_name"]
  assert method == "tensorflow/serving/predict"


def test_ids_that_have_no_row_are_refused_in_one_line(exports, client):
  head = exports["classification_of_pairs"].head
  for inputs, message in bad_requests.of_ids(head):
    rows = {name: value.tolist() for name, value in inputs.items()}
    body = {"signature_name": "token_ids", "inputs": rows}
    response = client.post("/v1/models/toy:predict", json=body)
    assert response.status_code == 400
    assert response.json()["error"].startswith("The model failed: ")
    assert message in response.json()["error"]
