"""Writes models as ONNX files, with tf2onnx.

The function is converted with its weights as inputs, which takes seconds for
models of any size; then these become constants.

Source: onnx/onnx, docs/Operators.md; microsoft/onnxruntime,
core/optimizer/layer_norm_fusion.cc and gelu_fusion.cc.
"""

import logging
import os
import tempfile

import numpy as np
import onnx
import tensorflow as tf
import tf2onnx
from onnxruntime import quantization

_OPSET = 18  # the last that tf2onnx knows


def content(graph, weights_dtype="float32"):
  """Returns the content of an .onnx file, bytes.

  Args:
    graph: `graphs.Graph`.
    weights_dtype: "float32"; "float16", cast to float32 when they are read; or
      "int8", of matrices and of what they are multiplied by.
  """
  if weights_dtype == "float16":
    halves = [tf.Variable(tf.cast(w, weights_dtype)) for w in graph.weights]
    graph = graph._replace(weights=halves)
  model = convert(graph)
  if weights_dtype == "int8":
    model = _quantize(model)
  return model.SerializeToString()


def _quantize(model):
  """Returns a model with int8 matrices, one scale for each output."""
  with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    quantization.quantize_dynamic(
      path,
      path,
      op_types_to_quantize=["MatMul", "Gather"],
      per_channel=True,
      weight_type=quantization.QuantType.QInt8,
      extra_options={"MatMulConstBOnly": True},
    )
    return onnx.load(path)


def convert(graph):
  """Returns the `onnx.ModelProto` of a `graphs.Graph`.

  Raises:
    ValueError: ONNX lacks an op of the model.
  """
  function = graph.trace_apart()
  logging.getLogger("tf2onnx").setLevel(logging.CRITICAL)
  model, _ = tf2onnx.convert.from_function(
    function,
    function.input_signature,
    opset=_OPSET,
    custom_op_handlers={name: (handle, []) for name, handle in _OPS.items()},
  )
  _hold_weights(model.graph, graph)
  for value in model.graph.input:
    for size, axis in zip(
      value.type.tensor_type.shape.dim, graph.axes[value.name], strict=True
    ):
      if not size.dim_value:
        size.dim_param = axis
  try:
    onnx.checker.check_model(model)
  except onnx.checker.ValidationError as error:
    first = str(error).splitlines()[0]
    raise ValueError(f"ONNX cannot hold this model: {first}") from error
  return model


def _hold_weights(proto, graph):
  """Makes constants of the inputs of an `onnx.GraphProto` that are weights."""
  used = {name for node in proto.node for name in node.input}
  inputs = {value.name: value for value in proto.input}
  del proto.input[:]
  proto.input.extend(inputs[name] for name in graph.inputs)
  for number, weight in enumerate(graph.weights):
    name = f"weight_{number}"
    if name in used:
      proto.initializer.append(
        onnx.numpy_helper.from_array(weight.numpy(), name)
      )


def _square(graph, node, name, arguments):
  """Converts a square to what ONNX Runtime knows LayerNorm by."""
  del name, arguments
  _replace(graph, node, "Pow", node.input[0], _number(graph, 2))


def _erfc(graph, node, name, arguments):
  """Converts erfc(-x), which ONNX lacks, to 1 + erf(x).

  That of GELU becomes 1 + erf(x / sqrt(2)), which ONNX Runtime knows it by.
  """
  del name, arguments
  product = node.inputs[0]
  sources = product.inputs if product.type == "Mul" else []
  signs = [source for source in sources if source.type == "Neg"]
  factors = [s.get_tensor_value() for s in sources if s.is_const()]
  if signs and factors and np.isclose(factors[0], np.sqrt(0.5)):
    inputs = [signs[0].input[0], _number(graph, np.sqrt(2))]
    x = graph.make_node("Div", inputs).output[0]
  else:
    x = graph.make_node("Neg", [node.input[0]]).output[0]
  erf = graph.make_node("Erf", [x]).output[0]
  _replace(graph, node, "Add", erf, _number(graph, 1))


def _log1p(graph, node, name, arguments):
  """Converts log(1 + x), which is one op in TensorFlow alone."""
  del name, arguments
  inputs = [node.input[0], _number(graph, 1)]
  _replace(graph, node, "Log", graph.make_node("Add", inputs).output[0])


# Ops that tf2onnx lacks, or writes in a form that is not fused.
_OPS = {"Erfc": _erfc, "Log1p": _log1p, "Square": _square}


def _number(graph, value):
  """Returns the name of a new constant."""
  name = tf2onnx.utils.make_name("number")
  return graph.make_const(name, np.array(value, np.float32)).output[0]


def _replace(graph, node, op_type, *inputs):
  """Puts another node in the place of `node`."""
  output = node.output[0]
  kept = {
    "name": node.name,
    "outputs": node.output,
    "shapes": [graph.get_shape(output)],
    "dtypes": [graph.get_dtype(output)],
  }
  graph.remove_node(node.name)
  graph.make_node(op_type, inputs, **kept)
