"""What TF Serving asks of signatures and of the requests to warm up with.

Sources in tensorflow/serving: servables/tensorflow/classifier.cc and
regressor.cc; saved_model_warmup.cc.
"""

import pytest
import tensorflow as tf
from google.protobuf import text_format

from keras_bert_impl.serving import export
from tests.serving import all_heads, version_files
from tests.serving.loaders import sessions

model_server_config_pb2 = pytest.importorskip(
  "tensorflow_serving.config.model_server_config_pb2",
  reason="needs tensorflow-serving-api",
)


def signatures_of(version_dir):
  signatures = dict(version_files.meta_graph(version_dir).signature_def)
  # SavedModels of TensorFlow 2 start with it; nobody calls it.
  del signatures["__saved_model_init_op"]
  return signatures


def shapes(tensors):
  """Returns {name: (dtype, sizes)}, -1 for any size."""
  return {
    name: (tf.as_dtype(info.dtype), [d.size for d in info.tensor_shape.dim])
    for name, info in tensors.items()
  }


METHODS = {"classify": "classify", "regress": "regress"}


@pytest.mark.parametrize("name", all_heads.EXPORTED)
def test_every_signature_has_a_method_and_a_request_to_warm_up(exports, name):
  head, version_dir = exports[name]
  signatures = signatures_of(version_dir)
  assert set(signatures) == set(head.requests)
  for signature, definition in signatures.items():
    method = METHODS.get(signature, "predict")
    assert definition.method_name == f"tensorflow/serving/{method}"
    # Batches may have any size.
    for info in (*definition.inputs.values(), *definition.outputs.values()):
      assert info.tensor_shape.dim[0].size == -1
  logs = [
    version_files.request_of(log)
    for log in version_files.warmup_logs(version_dir)
  ]
  assert len(logs) == len(signatures)
  definitions = head.servable.definitions()
  for kind, request, inputs in logs:
    spec = request.model_spec
    signature = spec.signature_name
    assert kind == f"{METHODS.get(signature, 'predict')}_log"
    assert spec.name == name
    example = definitions[signature].example
    assert set(inputs) == set(example)
    for key, value in example.items():
      sent = [x.encode() if isinstance(x, str) else x for x in value.flat]
      assert inputs[key].ravel().tolist() == sent
    if name in all_heads.QUICK:
      answer = sessions.ask(version_dir, signature, inputs)
      assert set(answer) == set(signatures[signature].outputs)


@pytest.mark.parametrize(
  ("name", "signature", "outputs"),
  [
    (
      "classification_of_pairs",
      "classify",
      {"classes": (tf.string, [-1, 3]), "scores": (tf.float32, [-1, 3])},
    ),
    ("regression", "regress", {"outputs": (tf.float32, [-1, 1])}),
  ],
)
def test_classify_and_regress_have_the_inputs_and_outputs_of_tf_serving(
  exports, name, signature, outputs
):
  definition = signatures_of(exports[name].version_dir)[signature]
  assert shapes(definition.inputs) == {"inputs": (tf.string, [-1])}
  assert shapes(definition.outputs) == outputs


def test_any_name_is_one_that_tf_serving_reads(
  tmp_path, monkeypatch, without_saving
):
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
