"""A client of TF Serving's gRPC interface, with tensorflow-serving-api.

The messages and the stub are those of TF Serving, the service is one of these
tests.
"""

import numpy as np
import pytest
import tensorflow as tf

from tests.serving import all_heads, answers

grpc = pytest.importorskip("grpc", reason="needs grpcio")
pytest.importorskip(
  "tensorflow_serving.apis", reason="needs tensorflow-serving-api"
)

from tensorflow_serving.apis import (  # noqa: E402
  classification_pb2,
  get_model_metadata_pb2,
  predict_pb2,
  prediction_service_pb2_grpc,
  regression_pb2,
)

from tests.serving import prediction_service  # noqa: E402

# Large enough that nothing but a hang takes longer.
TIMEOUT = 60


@pytest.fixture(scope="module")
def stub(exports):
  version_dirs = {name: export.version_dir for name, export in exports.items()}
  with prediction_service.serve(version_dirs) as address:
    with grpc.insecure_channel(address) as channel:
      yield prediction_service_pb2_grpc.PredictionServiceStub(channel)


def predict(stub, name, signature, inputs):
  request = predict_pb2.PredictRequest()
  request.model_spec.name = name
  request.model_spec.signature_name = signature
  for key, value in inputs.items():
    request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
  response = stub.Predict(request, TIMEOUT)
  return {key: tf.make_ndarray(v) for key, v in response.outputs.items()}


def with_examples(request, name, signature, serialized):
  """Returns a request of Classify or Regress for serialized tf.Examples."""
  request.model_spec.name = name
  request.model_spec.signature_name = signature
  for content in serialized:
    request.input.example_list.examples.add().ParseFromString(content)
  return request


@pytest.mark.parametrize("name", all_heads.NAMES)
def test_a_prediction_comes_back_as_the_eager_model_makes_it(
  stub, exports, name
):
  head = exports[name].head
  inputs = head.requests["serving_default"]
  answer = predict(stub, name, "serving_default", inputs)
  answers.check(answer, head.expected["serving_default"])


@pytest.mark.parametrize("name", ["classification", "classification_of_pairs"])
def test_classify_gives_each_example_its_classes(stub, exports, name):
  head = exports[name].head
  request = with_examples(
    classification_pb2.ClassificationRequest(),
    name,
    "classify",
    head.requests["classify"]["inputs"],
  )
  classifications = stub.Classify(request, TIMEOUT).result.classifications
  expected = head.expected["classify"]
  labels = [[c.label.encode() for c in row.classes] for row in classifications]
  scores = [[c.score for c in row.classes] for row in classifications]
  assert labels == expected["classes"].tolist()
  np.testing.assert_allclose(scores, expected["scores"], atol=1e-5)


def test_regress_gives_each_example_its_value(stub, exports):
  head = exports["regression"].head
  request = with_examples(
    regression_pb2.RegressionRequest(),
    "regression",
    "regress",
    head.requests["regress"]["inputs"],
  )
  regressions = stub.Regress(request, TIMEOUT).result.regressions
  expected = head.expected["regress"]["outputs"][:, 0]
  values = [regression.value for regression in regressions]
  np.testing.assert_allclose(values, expected, atol=1e-5)


@pytest.mark.parametrize("name", all_heads.NAMES)
def test_metadata_names_every_signature(stub, exports, name):
  request = get_model_metadata_pb2.GetModelMetadataRequest()
  request.model_spec.name = name
  request.metadata_field.append("signature_def")
  response = stub.GetModelMetadata(request, TIMEOUT)
  signatures = get_model_metadata_pb2.SignatureDefMap()
  assert response.metadata["signature_def"].Unpack(signatures)
  requests = exports[name].head.requests
  assert set(requests) <= set(signatures.signature_def)
  for signature, inputs in requests.items():
    assert set(signatures.signature_def[signature].inputs) == set(inputs)


def test_an_unknown_model_or_signature_is_an_error(stub):
  with pytest.raises(grpc.RpcError) as error:
    predict(stub, "nobody", "serving_default", {})
  assert error.value.code() == grpc.StatusCode.NOT_FOUND
  with pytest.raises(grpc.RpcError) as error:
    predict(stub, "encoder", "guess", {})
  assert error.value.code() == grpc.StatusCode.FAILED_PRECONDITION
