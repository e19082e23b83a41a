"""Dropout whose mask is a pure function of a seed and of the layer.

So a block can be computed again for its gradient (rematerialization): it draws
the same mask twice.
"""

import collections
import contextlib
import dataclasses
import functools
import threading
import zlib
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_bert_impl import calls
from keras_bert_impl.layers.basics import kernels


@dataclasses.dataclass
class _Source:
  """Random state of the layers that are called inside `random_seed`.

  Attributes:
    seed: int32 tensor [2].
    numbers: callable, see `random_seed`.
    num_draws: collections.Counter, how often each path has drawn.
  """

  seed: Any
  numbers: Callable
  num_draws: collections.Counter


# MirroredStrategy runs each replica in a thread of its own.
class _Context(threading.local):
  source = None
  rematerializes = False


_context = _Context()


@contextlib.contextmanager
@calls.checked
def random_seed(seed, numbers=kernels.random_numbers):
  """Makes every layer called inside draw its random numbers from `seed`.

  The training loop enters it while it traces its step, with a seed computed
  from (run seed, step). So no random state has to be saved, and a resumed run
  draws the same numbers as an uninterrupted one.

  Args:
    seed: int32 tensor [2], or anything convertible to it.
    numbers: callable (shape, seed, dtype), a pure function, that draws in place
      of `keras.random.uniform`: float32 in [0, 1), or any uint16.
  """
  seed = ops.convert_to_tensor(seed, dtype="int32")
  with _drawing(_Source(seed, numbers, collections.Counter())):
    yield


@contextlib.contextmanager
def _drawing(source):
  """Makes layers draw from `source`, which counts their draws."""
  previous = _context.source
  _context.source = source
  try:
    yield
  finally:
    _context.source = previous


@contextlib.contextmanager
@calls.checked
def rematerialize(is_on=True):
  """Makes every transformer block trained inside keep only its inputs.

  Everything between its inputs and its output is computed again for the
  gradient: up to a third more work, for a fraction of the memory. The model
  does not change: variables, checkpoints and results are the same. It needs
  `random_seed`, or the second dropout masks would differ from the first.

  Args:
    is_on: bool; False changes nothing.
  """
  previous = _context.rematerializes
  _context.rematerializes = is_on
  try:
    yield
  finally:
    _context.rematerializes = previous


def rematerialized(call):
  """Decorates a method of a layer: inside `rematerialize` it is computed twice.

  Args:
    call: method (self, *tensors, training=False). A gradient reaches the float
      tensors among its arguments, and the variables it reads, but nothing else.

  Raises:
    ValueError: when called inside `rematerialize`, outside `random_seed`.
  """

  @functools.wraps(call)
  def wrapper(layer, *args, training=False, **kwargs):
    if not (training and _context.rematerializes):
      return call(layer, *args, training=training, **kwargs)
    return _computed_again(call, layer, args, kwargs)

  return wrapper


def _computed_again(call, layer, args, kwargs):
  """Returns the result of `call`, computed again for the gradient."""
  given = (args, kwargs)
  # On torch, Keras' map_structure and flatten differ in their order.
  flat = keras.tree.flatten(given)
  floats = [x for x in flat if _is_float(x)]

  def compute(*floats):
    left = iter(floats)
    args, kwargs = keras.tree.pack_sequence_as(
      given, [next(left) if _is_float(x) else x for x in flat]
    )
    return call(layer, *args, training=True, **kwargs)

  return keras.remat(_repeatable(compute))(*floats)


def _is_float(x):
  return keras.ops.is_tensor(x) and keras.backend.is_float_dtype(x.dtype)


def _repeatable(function):
  """Returns `function`, changed so that all its calls draw the same numbers.

  A block that is computed again for its gradient needs the dropout masks of
  its first call, wherever the gradient is taken.

  Args:
    function: callable in which layers draw.

  Raises:
    ValueError: outside of `random_seed`.
  """
  source = _context.source
  if source is None:
    raise ValueError(
      "rematerialize() must be used inside of random_seed(): dropout would draw"
      " other masks for the gradient than for the output."
    )
  num_draws = source.num_draws.copy()

  def repeat(*arguments):
    repeated = dataclasses.replace(source, num_draws=num_draws.copy())
    with _drawing(repeated):
      result = function(*arguments)
    source.num_draws |= repeated.num_draws  # The maximum: each counts once.
    return result

  return repeat


def draw(layer, shape, dtype="float32"):
  """Returns uniform random numbers of `shape` for a layer.

  Args:
    layer: `keras.layers.Layer` with a `seed_generator`, which is used outside
      `random_seed`. If it draws several times, as in a block that ALBERT's
      layers share, it gets different numbers each time.
    shape: tuple of int or int scalar tensors; its first axis is the batch.
    dtype: "float32", numbers in [0, 1), or "uint16", all numbers.
  """
  numbers, seed = _next_draw(layer)
  return numbers(shape, seed, dtype)


def _next_draw(layer):
  """Returns the pure function and the seed of a layer's next numbers."""
  source = _context.source
  if source is None:
    return kernels.random_numbers, layer.seed_generator.next()
  count = source.num_draws[layer.path]
  source.num_draws[layer.path] += 1
  name = f"{layer.path}:{count}" if count else layer.path
  # Unlike hash(), crc32 is the same in every process.
  key = ops.array([zlib.crc32(name.encode()) & 0x7FFFFFFF, 0], "int32")
  has_rows = getattr(layer, "has_rows", True)
  numbers = source.numbers if has_rows else kernels.random_numbers
  return numbers, ops.bitwise_xor(source.seed, key)


def keep(inputs, number=None):
  """Returns `inputs`: the dropout of a call that drops nothing."""
  del number
  return inputs


@keras.saving.register_keras_serializable(package="keras_bert_impl")
@functools.partial(calls.check_methods, names=("__init__",))
class Dropout(keras.layers.Layer):
  """Zeroes each element with probability `rate` and scales up the others.

  Inside `random_seed(seed)` the mask depends on `seed`, on the layer's path in
  its model and on how often it was called before, and on nothing else. Outside,
  for instance in `Model.fit`, it depends on a `keras.random.SeedGenerator` of
  the layer.

  Args:
    rate: float in [0, 1), in steps of 2^-16.
    has_rows: bool, whether the first axis is the batch. False for tensors that
      all rows share, such as a table: then all parts of a batch, and all
      replicas, draw the same mask.
    **kwargs: of `keras.layers.Layer`.

  Raises:
    ValueError: `rate` outside [0, 1).
  """

  supports_masking = True

  def __init__(self, rate: float, has_rows: bool = True, **kwargs):
    super().__init__(**kwargs)
    self.rate = rate
    self.has_rows = has_rows

  def build(self, input_shape):
    """Creates the weights."""
    if self.rate:
      self.seed_generator = keras.random.SeedGenerator(name="seed_generator")

  def call(self, inputs, training=False):
    """Returns a float tensor of the shape of `inputs`."""
    return self.drawn(training)(inputs)

  def drawn(self, training):
    """Returns the dropout of one call, callable (inputs, number=None).

    It may be called later, again, and with parts of the inputs, which are
    numbered from 0. It is `keep` where nothing is dropped.
    """
    if not training or not self.rate:
      return keep
    return functools.partial(kernels.drop, self.rate, *_next_draw(self))

  def compute_output_shape(self, input_shape):
    """Returns the shape of `call`."""
    return input_shape

  def get_config(self):
    """Returns the arguments of the constructor."""
    config = {"rate": self.rate, "has_rows": self.has_rows}
    return {**super().get_config(), **config}
