"""Functions of a model that the server calls, whatever runs them."""

import abc
from typing import NamedTuple

import numpy as np

STRING = np.dtype(object)
_DTYPES = {
  "object": "DT_STRING",
  "bool": "DT_BOOL",
  "float16": "DT_HALF",
  "float32": "DT_FLOAT",
  "float64": "DT_DOUBLE",
}


class Spec(NamedTuple):
  """What an input or output is like.

  Attributes:
    dtype: numpy's; `STRING` of bytes.
    shape: tuple of int, or None for any size; None for any rank.
  """

  dtype: np.dtype
  shape: tuple | None

  def fits(self, shape):
    """Returns whether an array of a shape is one."""
    return self.shape is None or (
      len(shape) == len(self.shape)
      and all(a in (None, b) for a, b in zip(self.shape, shape, strict=True))
    )

  @property
  def has_batch_axis(self):
    """Whether the first axis is of any size."""
    return bool(self.shape) and self.shape[0] is None


class Signature(abc.ABC):
  """A function of a model. Abstract.

  Attributes:
    inputs: {name: `Spec`}.
    outputs: {name: `Spec`}.
  """

  inputs: dict
  outputs: dict

  @abc.abstractmethod
  def run(self, inputs):
    """Returns the outputs as {name: array} for the inputs as {name: array}.

    Raises:
      errors.RequestError: the model refuses them.
    """


class LoadedModel(NamedTuple):
  """One version of a model.

  Attributes:
    version: int.
    signatures: {name: `Signature`}.
    signature_defs: {name: JSON object}, as TF Serving shows them.
    information: JSON object of model.json, empty without one.
  """

  version: int
  signatures: dict
  signature_defs: dict
  information: dict


def definition(signature):
  """Returns the SignatureDef of a `Signature` as a JSON object."""
  return {
    "inputs": {name: _shown(name, x) for name, x in signature.inputs.items()},
    "outputs": {name: _shown(name, x) for name, x in signature.outputs.items()},
    "method_name": "tensorflow/serving/predict",
    "defaults": {},
  }


def _shown(name, spec):
  """Returns the TensorInfo of an input or output."""
  dtype = str(spec.dtype)
  return {
    "name": f"{name}:0",
    "dtype": _DTYPES.get(dtype, f"DT_{dtype.upper()}"),
    "tensor_shape": {
      "dim": [
        {"size": str(-1 if size is None else size), "name": ""}
        for size in spec.shape
      ],
      "unknown_rank": False,
    },
  }
