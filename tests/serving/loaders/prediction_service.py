"""TF Serving's gRPC service over SavedModels: only for tests of clients."""

import concurrent.futures
import contextlib

import grpc
import tensorflow as tf
from tensorflow_serving.apis import (
  classification_pb2,
  get_model_metadata_pb2,
  predict_pb2,
  prediction_service_pb2_grpc,
  regression_pb2,
)

from tests.serving import version_files


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
  """Predict, Classify, Regress and GetModelMetadata.

  Args:
    version_dirs: {name of a model: directory of its SavedModel}.
  """

  def __init__(self, version_dirs):
    self.version_dirs = version_dirs
    self.signatures = {
      name: tf.saved_model.load(str(version_dir)).signatures
      for name, version_dir in version_dirs.items()
    }

  def Predict(self, request, context):  # noqa: N802
    inputs = {k: tf.make_ndarray(v) for k, v in request.inputs.items()}
    outputs = self._run(request.model_spec, inputs)
    response = predict_pb2.PredictResponse(model_spec=request.model_spec)
    for name, value in outputs.items():
      response.outputs[name].CopyFrom(tf.make_tensor_proto(value))
    return response

  def Classify(self, request, context):  # noqa: N802
    outputs = self._run_on_examples(request)
    response = classification_pb2.ClassificationResponse()
    for labels, scores in zip(outputs["classes"], outputs["scores"]):
      classes = response.result.classifications.add().classes
      for label, score in zip(labels, scores):
        classes.add(label=label, score=score)
    return response

  def Regress(self, request, context):  # noqa: N802
    outputs = self._run_on_examples(request)
    response = regression_pb2.RegressionResponse()
    for [value] in outputs["outputs"]:
      response.result.regressions.add(value=value)
    return response

  def GetModelMetadata(self, request, context):  # noqa: N802
    version_dir = self.version_dirs[request.model_spec.name]
    signatures = get_model_metadata_pb2.SignatureDefMap(
      signature_def=version_files.meta_graph(version_dir).signature_def
    )
    response = get_model_metadata_pb2.GetModelMetadataResponse(
      model_spec=request.model_spec
    )
    response.metadata["signature_def"].Pack(signatures)
    return response

  def _run_on_examples(self, request):
    examples = request.input.example_list.examples
    serialized = [example.SerializeToString() for example in examples]
    return self._run(request.model_spec, {"inputs": serialized})

  def _run(self, model_spec, inputs):
    signature = self.signatures[model_spec.name][model_spec.signature_name]
    outputs = signature(**{k: tf.constant(v) for k, v in inputs.items()})
    return {name: value.numpy() for name, value in outputs.items()}


@contextlib.contextmanager
def serve(version_dirs):
  """Yields the address, host:port, of a service that ends with the context."""
  server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
  prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
    PredictionService(version_dirs), server
  )
  port = server.add_insecure_port("localhost:0")
  server.start()
  try:
    yield f"localhost:{port}"
  finally:
    server.stop(grace=None)
