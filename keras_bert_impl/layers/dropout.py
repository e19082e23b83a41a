"""Dropout whose mask is a pure function of a seed and of the layer."""

import contextlib
import threading
import zlib

import keras
from keras import ops

# MirroredStrategy runs each replica in a thread of its own.
_context = threading.local()


@contextlib.contextmanager
def random_seed(seed):
  """Makes every `Dropout` called inside draw its mask from `seed`.

  The training loop enters it while it traces its step, with a seed computed
  from (run seed, step, micro-batch, replica): then nothing about randomness
  needs saving, and a resumed run draws what the uninterrupted one would have.

  Args:
    seed: int32 tensor [2], or anything convertible to it.
  """
  previous = getattr(_context, "seed", None)
  _context.seed = ops.convert_to_tensor(seed, dtype="int32")
  try:
    yield
  finally:
    _context.seed = previous


class _GivenSeed(keras.random.SeedGenerator):
  """Hands `keras.random` a seed tensor instead of a variable's next state."""

  def __init__(self, seed):
    # Without super().__init__, which would create the state variable.
    self._seed = seed

  def next(self, ordered=True):
    del ordered  # There is only one.
    return self._seed


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class Dropout(keras.layers.Layer):
  """Zeroes each element with probability `rate` and scales up the others.

  Inside `random_seed(seed)` the mask depends on `seed` and on the layer's path
  in its model, and on nothing else. Outside, for instance in `Model.fit`, it
  depends on a `keras.random.SeedGenerator` of the layer.

  Args:
    rate: float in [0, 1).
    **kwargs: of `keras.layers.Layer`.

  Raises:
    ValueError: `rate` outside [0, 1).
  """

  def __init__(self, rate, **kwargs):
    super().__init__(**kwargs)
    if not 0.0 <= rate < 1.0:
      raise ValueError(f"rate ({rate}) of {self.name} must be in [0, 1).")
    self.rate = rate

  def build(self, input_shape):
    """Creates the weights."""
    # Unlike hash(), crc32 is the same in every process.
    self._layer_key = zlib.crc32(self.path.encode()) & 0x7FFFFFFF
    if self.rate:
      self.seed_generator = keras.random.SeedGenerator(name="seed_generator")

  def call(self, inputs, training=False):
    """Returns a float tensor of the shape of `inputs`."""
    if not training or not self.rate:
      return inputs
    uniform = keras.random.uniform(
      ops.shape(inputs), dtype="float32", seed=self._seed()
    )
    keep = ops.cast(uniform >= self.rate, inputs.dtype)
    return inputs * (keep * (1.0 / (1.0 - self.rate)))

  def _seed(self):
    seed = getattr(_context, "seed", None)
    if seed is None:
      return self.seed_generator
    seed = ops.bitwise_xor(seed, ops.array([self._layer_key, 0], "int32"))
    # JAX takes its keys unsigned, TensorFlow signed.
    is_jax = keras.backend.backend() == "jax"
    return _GivenSeed(ops.cast(seed, "uint32" if is_jax else "int32"))

  def compute_output_shape(self, input_shape):
    """Returns the shape of `call`."""
    return input_shape

  def get_config(self):
    """Returns the arguments of the constructor."""
    return {**super().get_config(), "rate": self.rate}
