"""What is in the files of an exported version."""

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

try:
  from tensorflow_serving.apis import prediction_log_pb2
except ImportError:  # Tests of its messages are skipped then.
  prediction_log_pb2 = None


def meta_graph(version_dir):
  """Returns the `MetaGraphDef` of a SavedModel."""
  content = (version_dir / "saved_model.pb").read_bytes()
  [found] = saved_model_pb2.SavedModel.FromString(content).meta_graphs
  return found


def warmup_logs(version_dir):
  """Returns the requests to warm up; none without tensorflow-serving-api."""
  if prediction_log_pb2 is None:
    return []
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
    serialized = [x.SerializeToString(deterministic=True) for x in examples]
    inputs = {"inputs": np.array(serialized, object)}
  return kind, request, inputs
