"""Loads one version of a model: a SavedModel, or a file of LiteRT or ONNX."""

import json
import pathlib
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  Registers the ops of the tokenizers.
from google.protobuf import json_format

# TensorFlow has no public classes of what stands in these files.
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

_SERVE_TAG = "serve"
# Signatures of the loader itself, not of the model.
_OWN_SIGNATURES = ("__saved_model_init_op", "__saved_model_train_op")


class Signature(NamedTuple):
  """A function of a model.

  Attributes:
    inputs: {name: `tf.TensorSpec`}.
    outputs: {name: `tf.TensorSpec`}.
    function: the `tf.types.experimental.ConcreteFunction`.
  """

  inputs: dict
  outputs: dict
  function: Any

  def run(self, inputs):
    """Returns the outputs as {name: array} for the inputs as {name: array}.

    Raises:
      tf.errors.OpError: if the model fails.
    """
    tensors = {
      name: tf.constant(array, self.inputs[name].dtype)
      for name, array in inputs.items()
    }
    outputs = self.function(**tensors)
    return {
      # The string of a scalar comes as plain bytes.
      name: np.asarray(tensor.numpy(), tensor.dtype.as_numpy_dtype)
      for name, tensor in sorted(outputs.items())
    }


class LoadedModel(NamedTuple):
  """One version of a model.

  Attributes:
    version: int.
    signatures: {name: `Signature`}.
    signature_defs: {name: JSON object}, as TF Serving shows them.
    information: JSON object of assets.extra/model.json, empty without one.
  """

  version: int
  signatures: dict
  signature_defs: dict
  information: dict


def load(path, version, open_file=None):
  """Loads a version of a model.

  Args:
    path: str or Path, its directory.
    version: int.
    open_file: function of the directory of a file of LiteRT or ONNX, which
      returns the `tf.function`s of its signatures by name; None: there are
      SavedModels only.

  Returns:
    `LoadedModel`.

  Raises:
    ValueError: if it is no SavedModel that can be run; one line.
  """
  path = pathlib.Path(path)
  try:
    # First what takes no time.
    if open_file and (path / "model.json").exists():
      return _of_functions(path, version, open_file(str(path)))
    information = _information(path / "assets.extra" / "model.json")
    signature_defs = _signature_defs(path / "saved_model.pb")
    signatures = _signatures(tf.saved_model.load(str(path)))
    return LoadedModel(version, signatures, signature_defs, information)
  # A broken file shows itself in errors of many kinds.
  except Exception as error:
    reason = next(iter(str(error).splitlines()), type(error).__name__)
    raise ValueError(
      f"{path} is no model that can be served: {reason}"
    ) from error


def _of_functions(path, version, functions):
  """Returns the `LoadedModel` of a version with a LiteRT or ONNX file."""
  signatures = {
    name: Signature(
      {spec.name: spec for spec in function.input_signature},
      function.get_concrete_function().structured_outputs,
      function,
    )
    for name, function in functions.items()
  }
  return LoadedModel(
    version,
    signatures,
    {name: _shown(_definition(x)) for name, x in sorted(signatures.items())},
    _information(path / "model.json"),
  )


def _definition(signature):
  """Returns the SignatureDef of a `Signature`."""
  inputs, outputs = (
    {
      name: meta_graph_pb2.TensorInfo(
        name=f"{name}:0",
        dtype=tf.as_dtype(spec.dtype).as_datatype_enum,
        tensor_shape=spec.shape.as_proto(),
      )
      for name, spec in specs.items()
    }
    for specs in (signature.inputs, signature.outputs)
  )
  return meta_graph_pb2.SignatureDef(
    inputs=inputs,
    outputs=outputs,
    method_name=tf.saved_model.PREDICT_METHOD_NAME,
  )


def _signatures(loaded):
  signatures = {
    name: Signature(
      dict(sorted(function.structured_input_signature[1].items())),
      dict(sorted(function.structured_outputs.items())),
      function,
    )
    for name, function in loaded.signatures.items()
  }
  if not signatures:
    raise ValueError("it has no signatures.")
  return signatures


def _signature_defs(path):
  saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
  graph = next(
    graph
    for graph in saved.meta_graphs
    if _SERVE_TAG in graph.meta_info_def.tags
  )
  return {
    name: _shown(signature)
    for name, signature in sorted(graph.signature_def.items())
    if name not in _OWN_SIGNATURES
  }


def _shown(signature):
  """Returns a SignatureDef as a JSON object."""
  return json_format.MessageToDict(
    signature,
    preserving_proto_field_name=True,
    always_print_fields_with_no_presence=True,
  )


def _information(path):
  if not path.exists():
    return {}
  try:
    information = json.loads(path.read_text(encoding="utf-8"))
  except (ValueError, RecursionError) as error:
    raise ValueError(f"{path.name} is not JSON ({error}).") from error
  # The only part that the server itself reads.
  name = "model_name"
  if not isinstance(information, dict) or not isinstance(
    information.get(name, ""), str
  ):
    raise ValueError(f"{path.name} must be an object whose {name} is a text.")
  return information
