"""Servables of LiteRT and ONNX files: raw texts in, as of SavedModels."""

import inspect
import re
import types

import keras
import tensorflow as tf
import tensorflow_text  # noqa: F401  Registers the ops of the tokenizers.

from keras_bert_impl import configs, features, heads, kinds, tokenizers
from keras_bert_impl.serving import servables
from keras_bert_impl.serving.small import runtimes

_EXCEPTION = re.compile(r"^[\w.]+: .+", re.MULTILINE)


class FileModel:
  """A model in a file, in the place of a Keras model.

  Args:
    runtime: `runtimes.Runtime`.

  Attributes:
    config: `configs.EncoderConfig` of the model.
    input: tuple of str.
    output: {name: `tf.TensorSpec`}.
    weights: empty list.
    compute_dtype: "float32".
  """

  weights = ()
  compute_dtype = "float32"
  encoder = types.SimpleNamespace(output={})

  def __init__(self, runtime):
    about = runtime.description
    self.config = configs.EncoderConfig.from_dict(about["config"])
    self.input = tuple(value["name"] for value in about["inputs"])
    self.include_prompt = "pooling_mask" not in self.input
    self.pooling = (about.get("pooling"),)
    # Of all layers after the pooling, what tells whether vectors have length 1.
    self.final_layers = [keras.layers.UnitNormalization()] * bool(
      about.get("normalize")
    )
    self.output = {
      value["name"]: tf.TensorSpec(
        [n if isinstance(n, int) else None for n in value["shape"]],
        value["dtype"],
      )
      for value in about["outputs"]
    }
    self._runtime = runtime

  def __call__(self, rows, training=False):
    """Returns {output: tensor} of rows of ids."""
    specs = list(self.output.values())

    def run(*inputs):
      found = self._runtime(dict(zip(self.input, inputs, strict=True)))
      return [found[name] for name in self.output]

    # As of the model, where a client has none.
    rows = {features.POOLING_MASK: rows[features.INPUT_MASK]} | rows
    inputs = [rows[name] for name in self.input]
    found = tf.numpy_function(run, inputs, [spec.dtype for spec in specs])
    for tensor, spec in zip(found, specs, strict=True):
      tensor.set_shape(spec.shape)
    return dict(zip(self.output, found, strict=True))


def load(folder):
  """Returns the `Servable` of an exported file.

  Raises:
    FileNotFoundError: a file is missing.
    ValueError: what runs it is not installed, no strings can be served, or it
      cannot answer.
  """
  runtime = runtimes.Runtime(folder)
  about = runtime.description
  head = about["head"]
  make = kinds.servables().get(head)
  is_static = about["texts"]["framing"] == ["A"]
  if make is None or is_static or make.float_inputs:
    named = "static vectors" if is_static else f"the head {head}"
    raise ValueError(
      f"{folder} has {named}, which only clients read: export a SavedModel to"
      " serve it."
    )
  takes = inspect.signature(make).parameters
  known = about["texts"] | about
  names = {*make.options, *make.recorded, *takes} & known.keys()
  given = {name: known[name] for name in names}
  longest = given.pop("max_seq_length")
  if head == heads.ENCODER:
    del given["pooling"]
  fixed = runtime.axes["input_ids"][-1]
  if isinstance(fixed, int):
    longest = min(longest, fixed)
  servable = make(FileModel(runtime), tokenizers.load(folder), longest, **given)
  _answer_one(servable)
  return servable


def _answer_one(servable):
  """Raises ValueError unless a file answers a row: that of its example.

  A file that is damaged, or another model's, opens like any other.
  """
  signature = servable.definitions()[servables.SERVING_DEFAULT]
  inputs = {name: tf.constant(x) for name, x in signature.example.items()}
  try:
    signature.function(**inputs)
  except tf.errors.OpError as error:
    # The exception of what runs the file is a line among those of TensorFlow.
    found = _EXCEPTION.search(error.message) or [error.message]
    raise ValueError(f"it cannot answer a row: {found[0]}") from error
