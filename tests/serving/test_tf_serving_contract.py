"""What TF Serving asks of signatures and of the requests to warm up with.

Sources in tensorflow/serving: servables/tensorflow/classifier.cc and
regressor.cc; saved_model_warmup.cc.
"""

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2

from keras_bert_impl.serving import export
from tests.serving import all_heads, answers, test_export

prediction_log_pb2 = pytest.importorskip(
  "tensorflow_serving.apis.prediction_log_pb2",
  reason="needs tensorflow-serving-api",
)
model_server_config_pb2 = pytest.importorskip(
  "tensorflow_serving.config.model_server_config_pb2",
  reason="needs tensorflow-serving-api",
)

CLASSIFICATIONS = ("classification", "classification_of_pairs")


def signatures_of(version_dir):
  content = (version_dir / "saved_model.pb").read_bytes()
  [meta_graph] = saved_model_pb2.SavedModel.FromString(content).meta_graphs
  signatures = dict(meta_graph.signature_def)
  # What SavedModels of TensorFlow 2 start with, no one's to call.
  del signatures["__saved_model_init_op"]
  return signatures


def ranks(tensors):
  """Returns {name: (dtype, rank)}; no size of a shape is known."""
  return {
    name: (tf.as_dtype(info.dtype), len(info.tensor_shape.dim))
    for name, info in tensors.items()
  }


@pytest.mark.parametrize("name", all_heads.NAMES)
def test_every_signature_has_a_request_and_a_method(exports, name):
  head, version_dir = exports[name]
  signatures = signatures_of(version_dir)
  assert set(signatures) == set(head.requests)
  methods = {"classify": "classify", "regress": "regress"}
  for signature, definition in signatures.items():
    method = methods.get(signature, "predict")
    assert definition.method_name == f"tensorflow/serving/{method}"


@pytest.mark.parametrize("name", all_heads.NAMES)
def test_batches_may_have_any_size(exports, name):
  for definition in signatures_of(exports[name].version_dir).values():
    for info in (*definition.inputs.values(), *definition.outputs.values()):
      assert info.tensor_shape.dim[0].size == -1


@pytest.mark.parametrize("name", CLASSIFICATIONS)
def test_classify_has_the_inputs_and_outputs_of_tf_serving(exports, name):
  definition = signatures_of(exports[name].version_dir)["classify"]
  assert ranks(definition.inputs) == {"inputs": (tf.string, 1)}
  assert ranks(definition.outputs) == {
    "classes": (tf.string, 2),
    "scores": (tf.float32, 2),
  }


def test_regress_has_the_inputs_and_outputs_of_tf_serving(exports):
  definition = signatures_of(exports["regression"].version_dir)["regress"]
  assert ranks(definition.inputs) == {"inputs": (tf.string, 1)}
  assert ranks(definition.outputs) == {"outputs": (tf.float32, 2)}
  assert definition.outputs["outputs"].tensor_shape.dim[1].size == 1


def warmup_logs(version_dir):
  path = version_dir / "assets.extra/tf_serving_warmup_requests"
  return [
    prediction_log_pb2.PredictionLog.FromString(record.numpy())
    for record in tf.data.TFRecordDataset(str(path))
  ]


def request_of(log):
  """Returns (kind of log, request, {input: array})."""
  kind = log.WhichOneof("log_type")
  request = getattr(log, kind).request
  if kind == "predict_log":
    inputs = {k: tf.make_ndarray(v) for k, v in request.inputs.items()}
  else:
    examples = request.input.example_list.examples
    serialized = [example.SerializeToString() for example in examples]
    inputs = {"inputs": np.array(serialized, object)}
  return kind, request, inputs


@pytest.fixture(scope="module")
def replayed(exports, tmp_path_factory):
  """{(name of a head, signature): answer} to the requests to warm up with."""
  requests = {}
  for name, (_, version_dir) in exports.items():
    for log in warmup_logs(version_dir):
      _, request, inputs = request_of(log)
      signature = request.model_spec.signature_name
      requests[name, signature] = (str(version_dir), signature, inputs)
  return test_export.ask(tmp_path_factory.mktemp("replayed"), requests)


@pytest.mark.parametrize("name", all_heads.NAMES)
def test_there_is_one_request_to_warm_up_each_signature(exports, name):
  head, version_dir = exports[name]
  logs = [request_of(log) for log in warmup_logs(version_dir)]
  kinds = {"classify": "classify_log", "regress": "regress_log"}
  assert {
    request.model_spec.signature_name: kind for kind, request, _ in logs
  } == {s: kinds.get(s, "predict_log") for s in head.requests}
  assert len(logs) == len(head.requests)
  assert {request.model_spec.name for _, request, _ in logs} == {name}


@pytest.mark.parametrize("name", all_heads.NAMES)
def test_requests_to_warm_up_are_answered(replayed, exports, name):
  servable = exports[name].head.servable
  for signature, definition in servable.definitions().items():
    inputs = {k: tf.constant(v) for k, v in definition.example.items()}
    expected = definition.function.python_function(**inputs)  # eagerly
    answers.check(
      replayed[name, signature], {k: v.numpy() for k, v in expected.items()}
    )


def test_any_name_is_one_that_tf_serving_reads(tmp_path, monkeypatch):
  folder = tmp_path / "모델 \U0001f600"
  folder.mkdir()
  monkeypatch.chdir(folder)
  export.export(all_heads.make("regression", tmp_path).servable, ".")
  config = text_format.Parse(
    (folder / "models.config").read_text(encoding="utf-8"),
    model_server_config_pb2.ModelServerConfig(),
  )
  [model] = config.model_config_list.config
  assert model.name == folder.name
  assert model.base_path == f"/models/{folder.name}"
