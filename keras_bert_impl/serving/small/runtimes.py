"""Runs exported LiteRT and ONNX files on arrays."""

import importlib.util
import os

import numpy as np

from keras_bert_impl import choices, files

DESCRIPTION_NAME = "model.json"
PACKAGES = {
  choices.LITERT: ("ai_edge_litert",),
  choices.ONNX: ("onnxruntime",),
}


class Runtime:
  """A model in a file, as a function of arrays.

  Args:
    folder: str, version of an export.
    num_threads: int; None for as many as the library takes.

  Attributes:
    description: the content of model.json.

  Raises:
    FileNotFoundError: a file is missing.
    ValueError: the package that runs it is not installed.
  """

  def __init__(self, folder, num_threads=None):
    path = os.path.join(folder, DESCRIPTION_NAME)
    self.description = files.read_json(path)
    self.axes = {
      value["name"]: value["shape"]
      for part in ("inputs", "outputs")
      for value in self.description[part]
    }
    file_format = self.description["format"]
    check_packages(PACKAGES[file_format], file_format)
    path = files.beside(path, files.field(self.description, "file", str, path))
    files.check_exists(path)
    open_file = _onnx if file_format == choices.ONNX else _litert
    self._run = open_file(path, num_threads)

  def __call__(self, inputs):
    """Returns {output: array} for {input: int32 [B, ...]}."""
    names = [value["name"] for value in self.description["inputs"]]
    inputs = {name: np.asarray(inputs[name], np.int32) for name in names}
    fixed = self.axes["input_ids"][-1]
    if not isinstance(fixed, int):
      return self._run(inputs)
    return self._in_rows(inputs, fixed)

  def _in_rows(self, inputs, length):
    """Runs a file that takes one row of a fixed length."""
    num_tokens = inputs["input_ids"].shape[-1]
    if num_tokens > length:
      raise ValueError(
        f"A row has {num_tokens} tokens, but the file takes {length}: export it"
        " with a larger fixed_length."
      )
    padding = [[0, 0], [0, length - num_tokens]]
    found = [
      self._run({name: np.pad(x, padding) for name, x in row.items()})
      for row in _rows(inputs)
    ]
    joined = {
      name: np.concatenate([outputs[name] for outputs in found])
      for name in found[0]
    }
    return {
      name: x[:, :num_tokens] if "length" in self.axes[name] else x
      for name, x in joined.items()
    }


def check_packages(packages, extra):
  """Raises ValueError unless packages of an extra are installed."""
  missing = [p for p in packages if importlib.util.find_spec(p) is None]
  if missing:
    raise ValueError(
      f"The format {extra} needs {', '.join(missing)}: pip install"
      f" 'keras-bert-impl[{extra}]'"
    )


def _rows(inputs):
  """Yields {name: [1, L]} of the rows of inputs."""
  for index in range(len(inputs["input_ids"])):
    yield {name: x[index : index + 1] for name, x in inputs.items()}


def _onnx(path, num_threads):
  """Returns a function of {input: array}, by ONNX Runtime."""
  import onnxruntime

  options = onnxruntime.SessionOptions()
  options.intra_op_num_threads = num_threads or 0
  session = onnxruntime.InferenceSession(
    path, options, providers=["CPUExecutionProvider"]
  )
  names = [output.name for output in session.get_outputs()]
  return lambda inputs: dict(
    zip(names, session.run(names, inputs), strict=True)
  )


def _litert(path, num_threads):
  """Returns a function of {input: array}, by LiteRT."""
  # An interpreter is of one thread at a time: as many as there are at once.
  idle = [_Interpreter(path, num_threads)]

  def run(inputs):
    try:
      one = idle.pop()
    except IndexError:
      one = _Interpreter(path, num_threads)
    try:
      return one(inputs)
    finally:
      idle.append(one)

  return run


class _Interpreter:
  """LiteRT's interpreter of a file, as a function of {input: array}."""

  def __init__(self, path, num_threads):
    from ai_edge_litert import interpreter

    self._interpreter = interpreter.Interpreter(path, num_threads=num_threads)
    runner = self._interpreter.get_signature_runner()
    self._inputs, self._outputs = (
      {name: value["index"] for name, value in details.items()}
      for details in (runner.get_input_details(), runner.get_output_details())
    )
    self._shapes = {}

  def __call__(self, inputs):
    shapes = {name: x.shape for name, x in inputs.items()}
    if self._shapes != shapes:
      for name, shape in shapes.items():
        self._interpreter.resize_tensor_input(self._inputs[name], shape)
      self._interpreter.allocate_tensors()
      self._shapes = shapes
    for name, x in inputs.items():
      self._interpreter.set_tensor(self._inputs[name], x)
    self._interpreter.invoke()
    return {
      name: self._interpreter.get_tensor(place)
      for name, place in self._outputs.items()
    }
