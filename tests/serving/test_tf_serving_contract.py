"""What TF Serving asks of signatures and of the requests to warm up with.

Sources in tensorflow/serving: servables/tensorflow/classifier.cc and
regressor.cc; saved_model_warmup.cc.
"""

import os

import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2

from keras_bert_impl.serving import export
from tests.serving import all_heads, answers, warmup_logs

model_server_config_pb2 = pytest.importorskip(
  "tensorflow_serving.config.model_server_config_pb2",
  reason="needs tensorflow-serving-api",
)


def signatures_of(version_dir):
  content = (version_dir / "saved_model.pb").read_bytes()
  [meta_graph] = saved_model_pb2.SavedModel.FromString(content).meta_graphs
  signatures = dict(meta_graph.signature_def)
  # SavedModels of TensorFlow 2 start with it; nobody calls it.
  del signatures["__saved_model_init_op"]
  return signatures


def ranks(tensors):
  """Returns {name: (dtype, rank)}; no size of a shape is known."""
  return {
    name: (tf.as_dtype(info.dtype), len(info.tensor_shape.dim))
    for name, info in tensors.items()
  }


@pytest.mark.parametrize("name", all_heads.EXPORTED)
def test_every_signature_has_a_request_and_a_method(exports, name):
  head, version_dir = exports[name]
  signatures = signatures_of(version_dir)
  assert set(signatures) == set(head.requests)
  methods = {"classify": "classify", "regress": "regress"}
  for signature, definition in signatures.items():
    method = methods.get(signature, "predict")
    assert definition.method_name == f"tensorflow/serving/{method}"
    # Batches may have any size.
    for info in (*definition.inputs.values(), *definition.outputs.values()):
      assert info.tensor_shape.dim[0].size == -1


def test_classify_has_the_inputs_and_outputs_of_tf_serving(exports):
  version_dir = exports["classification_of_pairs"].version_dir
  definition = signatures_of(version_dir)["classify"]
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


@pytest.mark.parametrize("name", all_heads.EXPORTED)
def test_there_is_one_request_to_warm_up_each_signature(exports, asked, name):
  head, version_dir = exports[name]
  logs = [warmup_logs.request_of(log) for log in warmup_logs.read(version_dir)]
  kinds = {"classify": "classify_log", "regress": "regress_log"}
  assert {
    request.model_spec.signature_name: kind for kind, request, _ in logs
  } == {s: kinds.get(s, "predict_log") for s in head.requests}
  assert len(logs) == len(head.requests)
  assert {request.model_spec.name for _, request, _ in logs} == {name}
  for signature, definition in head.servable.definitions().items():
    inputs = {k: tf.constant(v) for k, v in definition.example.items()}
    expected = definition.function.python_function(**inputs)  # eagerly
    answers.check(
      asked(name)[signature, "warm-up"],
      {k: v.numpy() for k, v in expected.items()},
    )


def test_any_name_is_one_that_tf_serving_reads(tmp_path, monkeypatch):
  monkeypatch.setattr(tf.saved_model, "save", lambda _, p, **__: os.mkdir(p))
  monkeypatch.setattr(export, "_name_methods", lambda *_: None)
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
