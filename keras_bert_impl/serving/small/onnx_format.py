"""Writes models as ONNX files, with tf2onnx.

The function is converted with its weights as inputs, which takes seconds for
models of any size; then these become constants.

Source: onnx/onnx, docs/Operators.md; microsoft/onnxruntime,
core/optimizer/layer_norm_fusion.cc and gelu_fusion.cc.
"""

import contextlib
import logging
import os
import tempfile

import numpy as np
import onnx
import tensorflow as tf
import tf2onnx
from onnxruntime import quantization

_OPSET = 18  # the last that tf2onnx knows
_AXIS, _LEAST = "last_axis", "least_size"  # Constants of `_scale_rows`.


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
  """Returns a model with int8 matrices, one scale for each output.

  Tables have a scale for each row.
  """
  _quantize_tables(model.graph)
  _scale_rows(model.graph)
  with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    quantization.quantize_dynamic(
      path,
      path,
      op_types_to_quantize=["MatMul"],
      per_channel=True,
      weight_type=quantization.QuantType.QInt8,
      extra_options={"MatMulConstBOnly": True},
    )
    return onnx.load(path)


def _quantize_tables(proto):
  """Makes int8 tables of those that an `onnx.GraphProto` gathers rows of."""
  weights = _matrices(proto)
  nodes, tables = [], {}
  for node in proto.node:
    name = node.input[0] if node.op_type == "Gather" else None
    if name not in weights:
      nodes.append(node)
      continue
    if name not in tables:
      values = onnx.numpy_helper.to_array(weights[name])
      scales = np.maximum(np.abs(values).max(axis=1, keepdims=True), 1e-30)
      scales = (scales / 127).astype(np.float32)
      found = {
        "int8": np.rint(values / scales).astype(np.int8),
        "scale": scales,
      }
      tables[name] = [f"{name}_{what}" for what in found]
      for what, array in found.items():
        array = onnx.numpy_helper.from_array(array, f"{name}_{what}")
        proto.initializer.append(array)
    row, scale, number = (f"{node.output[0]}_{k}" for k in ("row", "by", "as"))
    for table, output in zip(tables[name], (row, scale), strict=True):
      nodes.append(_node("Gather", [table, node.input[1]], output))
    nodes.append(_node("Cast", [row], number, to=onnx.TensorProto.FLOAT))
    nodes.append(_node("Mul", [number, scale], node.output[0]))
  _replace_nodes(proto, nodes)


def _scale_rows(proto):
  """Divides rows by their largest number where these differ most.

  ONNX Runtime has one scale for all numbers that a matrix is multiplied by.
  After activations single numbers are large, and those of other rows would be
  lost: that is before matrices with fewer columns than rows.
  """
  weights = {
    name: value
    for name, value in _matrices(proto).items()
    if value.dims[0] > value.dims[1]
  }
  nodes, scaled = [], {}
  for node in proto.node:
    if node.op_type != "MatMul" or node.input[1] not in weights:
      nodes.append(node)
      continue
    x, matrix = node.input
    if x not in scaled:
      size, row = f"{x}_largest", f"{x}_scaled"
      nodes += [
        _node("Abs", [x], f"{x}_abs"),
        _node("ReduceMax", [f"{x}_abs", _AXIS], f"{x}_max"),
        _node("Max", [f"{x}_max", _LEAST], size),
        _node("Div", [x, size], row),
      ]
      scaled[x] = row, size
    row, size = scaled[x]
    product = f"{node.output[0]}_scaled"
    nodes.append(_node("MatMul", [row, matrix], product))
    nodes.append(_node("Mul", [product, size], node.output[0]))
  for name, value in (
    (_AXIS, np.array([-1], np.int64)),
    (_LEAST, np.array(1e-30, np.float32)),
  ):
    proto.initializer.append(onnx.numpy_helper.from_array(value, name))
  _replace_nodes(proto, nodes)


def _node(op_type, inputs, output, **attributes):
  return onnx.helper.make_node(
    op_type, inputs, [output], name=output, **attributes
  )


def _matrices(proto):
  """Returns {name: initializer} of the float32 matrices of a graph."""
  return {
    value.name: value
    for value in proto.initializer
    if len(value.dims) == 2 and value.data_type == onnx.TensorProto.FLOAT
  }


def _replace_nodes(proto, nodes):
  """Gives a graph other nodes, and drops the initializers without use."""
  used = {name for node in nodes for name in node.input}
  used.update(value.name for value in proto.output)
  kept = [value for value in proto.initializer if value.name in used]
  del proto.node[:], proto.initializer[:]
  proto.node.extend(nodes)
  proto.initializer.extend(kept)


def convert(graph):
  """Returns the `onnx.ModelProto` of a `graphs.Graph`.

  Raises:
    ValueError: ONNX lacks an op of the model.
  """
  function = graph.trace_apart()
  with _silenced("tf2onnx"), _silenced("tensorflow"):
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


@contextlib.contextmanager
def _silenced(name):
  """Silences a logger, which tells of what is no fault, for a while."""
  logger = logging.getLogger(name)
  level = logger.level
  logger.setLevel(logging.CRITICAL)
  try:
    yield
  finally:
    logger.setLevel(level)


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
