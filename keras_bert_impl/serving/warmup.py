"""Warm-up requests, which TF Serving replays when it has loaded a model.

The first request to a graph is slow, so it should not come from a client. The
requests are `tensorflow.serving.PredictionLog` messages in a TFRecord, written
here by field numbers, so that an export does not need tensorflow-serving-api.

Source: tensorflow/serving, apis/prediction_log.proto, predict.proto,
classification.proto, regression.proto, input.proto and model.proto.
"""

import tensorflow as tf

from keras_bert_impl.serving import servables

FILE_NAME = "tf_serving_warmup_requests"

# Fields of the messages.
_LOG_OF_CLASSIFY, _LOG_OF_REGRESS, _LOG_OF_PREDICT = 2, 3, 6  # PredictionLog
_LOGGED_REQUEST = 1  # PredictLog, ClassifyLog, RegressLog
_MODEL_SPEC, _INPUTS = 1, 2  # all requests
_MODEL_NAME, _SIGNATURE_NAME = 1, 3  # ModelSpec
_KEY, _VALUE = 1, 2  # an entry of a map
_EXAMPLE_LIST, _EXAMPLES = 1, 1  # Input, ExampleList


def write(path, model_name, example_inputs):
  """Writes a warm-up request for each signature.

  Args:
    path: str, ending in `FILE_NAME`.
    model_name: str.
    example_inputs: {signature: {input: array}}, as of `servables.Servable`.
  """
  with tf.io.TFRecordWriter(path) as file:
    for signature, inputs in example_inputs.items():
      file.write(_prediction_log(model_name, signature, inputs))


def _prediction_log(model_name, signature, inputs):
  spec = _field(_MODEL_NAME, model_name.encode("utf-8")) + _field(
    _SIGNATURE_NAME, signature.encode("utf-8")
  )
  content = {
    servables.CLASSIFY: (_LOG_OF_CLASSIFY, _example_list),
    servables.REGRESS: (_LOG_OF_REGRESS, _example_list),
  }
  kind, fields = content.get(signature, (_LOG_OF_PREDICT, _tensors))
  request = _field(_MODEL_SPEC, spec) + fields(inputs)
  return _field(kind, _field(_LOGGED_REQUEST, request))


def _tensors(inputs):
  """Returns the inputs of a PredictRequest."""
  return b"".join(
    _field(
      _INPUTS,
      _field(_KEY, name.encode("utf-8"))
      + _field(_VALUE, tf.make_tensor_proto(value).SerializeToString()),
    )
    for name, value in inputs.items()
  )


def _example_list(inputs):
  """Returns the input of a ClassificationRequest or RegressionRequest."""
  [examples] = inputs.values()
  content = b"".join(_field(_EXAMPLES, example) for example in examples)
  return _field(_INPUTS, _field(_EXAMPLE_LIST, content))


def _field(number, content):
  """Returns a field that holds bytes, a string or a message."""
  return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value):
  digits = []
  while value > 0x7F:
    digits.append(value & 0x7F | 0x80)
    value >>= 7
  return bytes([*digits, value])
