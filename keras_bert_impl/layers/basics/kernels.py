"""Kernels: what a backend computes faster than `keras.ops` writes it.

On TensorFlow, where a step is not one XLA program:

- Matrix product, bias and GELU become one kernel of oneDNN, if the product is
  of two matrices, the bias is added by `tf.nn.bias_add`, and nothing else reads
  what lies between. So it is in inference.
- A gradient reads it. There GELU and its gradient are small functions compiled
  by XLA, in float32 inside; product and bias stay kernels of the library.
- In training XLA compiles the splitting of queries, keys and values into heads
  or blocks, with their rotation, and its gradient.
- LayerNorm becomes one kernel of oneDNN in inference, if it is written as the
  normalization of a batch. In training XLA compiles it and its gradient, too.
- Dropout is one, which reads 16 random bits of an element instead of a float.
- The cross-entropy of a whole vocabulary is a function compiled by XLA, which
  reads the logits three times instead of nine.
- Of attention, the product of queries and keys takes scale and mask along, if
  these come right before and after it and in its dtype.

A program of XLA takes a tenth of a second to compile. Of few numbers it is no
faster: then TensorFlow runs the same function op by op.

Exported models call layers without `training`: they hold nothing compiled by
XLA, which TF Serving would refuse.
"""

import functools

import keras
import numpy as np
from keras import ops

from keras_bert_impl.layers.basics import activations

_COMPILED = (
  *(activations.get(name) for name in ("gelu", "gelu_new")),
  *(activations.gated(name) for name in ("gelu", "gelu_new", "silu")),
)
NUM_DRAWS = 2**16  # values of the number that decides on an element
_FEWEST_CLASSES = 1024  # that are worth a program of XLA
_FEWEST_NUMBERS = 2**15  # of the largest argument of such a program


def _compile(function):
  """Returns a function of tensors as a program of XLA, on TensorFlow."""
  import tensorflow as tf

  program = tf.function(
    function, jit_compile=True, autograph=False, reduce_retracing=True
  )

  def call(*arguments):
    sizes = [x.shape.num_elements() for x in tf.nest.flatten(arguments)]
    is_small = None not in sizes and max(sizes) < _FEWEST_NUMBERS
    return (function if is_small else program)(*arguments)

  return call


def _differentiable(function):
  """Returns a function of tensors with a gradient of its own, on TensorFlow.

  `tf.custom_gradient` alone would register a gradient for good at every call in
  a graph, and each would keep that graph alive, with its model's weights. Here
  a call in a graph is one of a function that is traced once for each shape.

  Args:
    function: callable of tensors, as `tf.custom_gradient` has it. It must read
      nothing but its arguments.
  """
  import tensorflow as tf

  return tf.function(tf.custom_gradient(function), autograph=False)


def _wide(*tensors):
  return [ops.cast(tensor, "float32") for tensor in tensors]


def finish(x, bias, activation, training):
  """Returns `activation(x + bias)`, what follows a matrix product.

  Args:
    x: float [N, I].
    bias: [I], or None.
    activation: callable, or None; GELU and gated ones have a faster form.
    training: bool, whether there will be a gradient.
  """
  if keras.backend.backend() == "tensorflow":
    return _finish_on_tensorflow(x, bias, activation, training)
  x = x if bias is None else x + bias
  return x if activation is None else activation(x)


def _finish_on_tensorflow(x, bias, activation, training):
  import tensorflow as tf

  if training and activation in _COMPILED:
    # A variable would be one of the function that is differentiated.
    terms = [x] if bias is None else [x, tf.convert_to_tensor(bias)]
    return _compiled(activation, len(terms))(*terms)
  x = x if bias is None else tf.nn.bias_add(x, tf.convert_to_tensor(bias))
  return x if activation is None else activation(x)


def drop(x, numbers, rate):
  """Returns `x` with each element zero with probability `rate`, or scaled up.

  Args:
    x: float tensor.
    numbers: uint16 of the shape of `x`, each below NUM_DRAWS as likely.
    rate: float in [0, 1), rounded to one of NUM_DRAWS.
  """
  threshold = min(round(rate * NUM_DRAWS), NUM_DRAWS - 1)
  if keras.backend.backend() == "tensorflow":
    return _compiled_drop(threshold)(x, numbers)
  return _drop(x, numbers, threshold)


def _drop(x, numbers, threshold):
  scale = NUM_DRAWS / (NUM_DRAWS - threshold)
  is_kept = ops.cast(numbers, "int32") >= threshold
  return ops.where(is_kept, x * scale, ops.zeros((), x.dtype))


@functools.cache
def _compiled_drop(threshold):
  """Returns `_drop` and its gradient, which is the same, compiled by XLA."""

  @_compile
  def apply(x, numbers):
    return _drop(x, numbers, threshold)

  @_differentiable
  def compiled(x, numbers):
    return apply(x, numbers), lambda upstream: (apply(upstream, numbers), None)

  return compiled


def arrange(function, tensors, others, training):
  """Returns `function(*tensors, *others)`.

  In training on TensorFlow, where shapes are known, XLA compiles the function
  and its gradient to one program each. These read and write each number once,
  where single ops do so several times.

  Args:
    function: callable, the same object in every call. It returns a tuple of
      tensors, and is linear in `tensors`.
    tensors: tuple of float tensors.
    others: tuple of tensors that get no gradient.
    training: bool, whether there will be a gradient.
  """
  on_tensorflow = keras.backend.backend() == "tensorflow"
  shapes = tuple(tuple(x.shape) for x in tensors)
  if not (training and on_tensorflow) or any(None in x for x in shapes):
    return function(*tensors, *others)
  compiled = _compiled_arrangement(function, shapes, len(others))
  return compiled(others, *tensors)


@functools.cache
def _compiled_arrangement(function, shapes, num_others):
  """Returns `arrange` for one function, callable (others, *tensors)."""
  del num_others  # Each number of them has programs of its own.
  import tensorflow as tf

  value = _compile(function)

  @_compile
  def gradient(others, *upstream):
    # The gradient of a linear function does not depend on `tensors`: zeros do,
    # and the true values need not be kept for it.
    tensors = [tf.zeros(shape, upstream[0].dtype) for shape in shapes]
    with tf.GradientTape() as tape:
      tape.watch(tensors)
      found = function(*tensors, *others)
    return tape.gradient(found, tensors, upstream)

  @_differentiable
  def compiled(others, *tensors):
    def slopes(*upstream):
      return [None] * len(others), gradient(others, *upstream)

    return value(*tensors, *others), slopes

  return compiled


def map_in_turn(function, inputs, dtype):
  """Returns `function` of each element of tensors, one after the other.

  Args:
    function: callable of a structure of tensors; returns a tensor of `dtype`.
    inputs: structure of tensors [S, ...].
    dtype: str, of the result.

  Returns:
    [S, ...].
  """
  if keras.backend.backend() != "tensorflow":
    return ops.map(function, inputs)
  import tensorflow as tf

  # keras.ops would work at ten at a time.
  return tf.map_fn(
    function, inputs, parallel_iterations=1, fn_output_signature=dtype
  )


def score_rows(x, table):
  """Returns `x` [N, E] times each row of `table` [V, E], [N, V]."""
  if keras.backend.backend() != "tensorflow":
    return ops.matmul(x, ops.transpose(table))
  import tensorflow as tf

  # Its gradients need no transposition of the table or the scores.
  return tf.matmul(x, table, transpose_b=True)


def layer_norm(x, gamma, beta, epsilon, training):
  """Returns `x` [..., H], each row normalized, times gamma [H] plus beta [H].

  The dtype is that of `x`. `beta` may be None. Returns None where `keras.ops`
  is as fast.
  """
  if keras.backend.backend() != "tensorflow":
    return None
  import tensorflow as tf

  beta = tf.zeros([x.shape[-1]]) if beta is None else beta
  if training:
    weights = map(tf.convert_to_tensor, (gamma, beta))
    rows = tf.reshape(x, [-1, x.shape[-1]])
    rows = _compiled_layer_norm(epsilon)(rows, *weights)
    return tf.reshape(rows, tf.shape(x))
  if tf.executing_eagerly() or None not in x.shape[:-1]:
    return None
  return _fused_layer_norm(x, gamma, beta, epsilon)


def _fused_layer_norm(x, gamma, beta, epsilon):
  """Returns `layer_norm` as TensorFlow finds it in a graph.

  It looks for the ops that Keras 2 wrote it with: a row is a channel of a batch
  normalization, whose scale 1 and offset 0 are tensors of a size that is not
  known before.
  """
  import tensorflow as tf

  shape = tf.shape(x)
  num_rows = tf.reduce_prod(shape[:-1])
  rows = tf.raw_ops.FusedBatchNormV3(
    x=tf.reshape(x, [1, num_rows, x.shape[-1], 1]),
    scale=tf.ones([num_rows]),
    offset=tf.zeros([num_rows]),
    mean=tf.constant([], tf.float32),
    variance=tf.constant([], tf.float32),
    epsilon=epsilon,
    data_format="NCHW",
    is_training=True,
  ).y
  rows = tf.reshape(rows, shape)
  return rows * tf.cast(gamma, x.dtype) + tf.cast(beta, x.dtype)


@functools.cache
def _compiled_layer_norm(epsilon):
  """Returns `layer_norm` of [N, H] and its gradient, compiled by XLA."""
  import tensorflow as tf

  def mean(x):
    return tf.reduce_mean(x, axis=-1, keepdims=True)

  def normalize(x):
    center = mean(x)
    scale = tf.math.rsqrt(mean(tf.square(x - center)) + epsilon)
    return (x - center) * scale, scale

  @_compile
  def value(x, gamma, beta):
    x_, gamma_, beta_ = _wide(x, gamma, beta)
    return tf.cast(normalize(x_)[0] * gamma_ + beta_, x.dtype)

  @_compile
  def gradient(x, gamma, upstream):
    x_, gamma_, upstream_ = _wide(x, gamma, upstream)
    # Again, so that the gradient has one of its own.
    normal, scale = normalize(x_)
    slope = upstream_ * gamma_
    slope = scale * (slope - mean(slope) - normal * mean(slope * normal))
    return [
      tf.cast(slope, x.dtype),
      tf.cast(tf.reduce_sum(upstream_ * normal, axis=0), gamma.dtype),
      tf.cast(tf.reduce_sum(upstream_, axis=0), gamma.dtype),
    ]

  @_differentiable
  def compiled(x, gamma, beta):
    return value(x, gamma, beta), functools.partial(gradient, x, gamma)

  return compiled


@functools.cache
def _compiled(activation, num_terms):
  """Returns `activation` of a sum and its gradient, compiled by XLA.

  Args:
    activation: callable.
    num_terms: int, 2 for a function of (x, bias), 1 for one of (x).
  """
  del num_terms  # Each has functions of its own.
  import tensorflow as tf

  @_compile
  def value(*terms):
    return tf.cast(activation(sum(_wide(*terms))), terms[0].dtype)

  @_compile
  def gradient(*terms_and_upstream):
    *terms, upstream = _wide(*terms_and_upstream)
    with tf.GradientTape() as tape:
      tape.watch(terms)
      y = activation(sum(terms))
    slopes = tape.gradient(y, terms, upstream)
    return [tf.cast(slope, terms_and_upstream[0].dtype) for slope in slopes]

  @_differentiable
  def compiled(*terms):
    return value(*terms), functools.partial(gradient, *terms)

  return compiled


def cross_entropy(logits, labels):
  """Returns the cross-entropy of each label in nats, float32 [...].

  Args:
    logits: float32 [..., C].
    labels: int [...], in [0, C); others give NaN or an error.
  """
  if not _is_vocabulary(logits):
    return ops.sparse_categorical_crossentropy(labels, logits, from_logits=True)
  return _by_rows(_cross_entropy()[0], logits, labels)


def is_predicted(logits, labels):
  """Returns whether each label is the first one with the largest logit.

  Args:
    logits: float32 [..., C].
    labels: int [...], in [0, C).
  """
  if not _is_vocabulary(logits):
    predicted = ops.cast(ops.argmax(logits, axis=-1), "int32")
    return ops.equal(predicted, ops.cast(labels, "int32"))
  return _by_rows(_cross_entropy()[1], logits, labels)


def _is_vocabulary(logits):
  on_tensorflow = keras.backend.backend() == "tensorflow"
  return on_tensorflow and (logits.shape[-1] or 0) >= _FEWEST_CLASSES


def _by_rows(function, logits, labels):
  """Applies a function of [N, C] and [N] to logits and labels of any rank."""
  rows = ops.reshape(logits, (-1, logits.shape[-1]))
  found = function(rows, ops.reshape(labels, (-1,)))
  return ops.reshape(found, ops.shape(labels))


@functools.cache
def _cross_entropy():
  """Returns `cross_entropy` and `is_predicted` of rows, compiled by XLA."""
  import tensorflow as tf

  def place(logits):
    return tf.range(logits.shape[-1])[tf.newaxis]

  @_compile
  def value(logits, labels):
    largest = tf.reduce_max(logits, axis=-1, keepdims=True)
    total = tf.reduce_sum(tf.exp(logits - largest), axis=-1)
    log_total = tf.math.log(total) + largest[:, 0]
    found = log_total - tf.gather(logits, labels, batch_dims=1)
    is_class = (labels >= 0) & (labels < logits.shape[-1])
    # XLA would read the nearest class.
    return tf.where(is_class, found, np.nan), log_total

  @_compile
  def gradient(logits, labels, log_total, upstream):
    probs = tf.exp(logits - log_total[:, tf.newaxis])
    is_label = tf.equal(place(logits), labels[:, tf.newaxis])
    slope = tf.where(is_label, probs - 1.0, probs)
    return slope * upstream[:, tf.newaxis], None

  @_differentiable
  def losses(logits, labels):
    labels = tf.cast(labels, tf.int32)
    found, log_total = value(logits, labels)
    return found, functools.partial(gradient, logits, labels, log_total)

  @_compile
  def are_predicted(logits, labels):
    labels = tf.cast(labels, tf.int32)
    own = tf.gather(logits, labels, batch_dims=1)[:, tf.newaxis]
    is_before = place(logits) < labels[:, tf.newaxis]
    is_better = (logits > own) | ((logits == own) & is_before)
    return tf.logical_not(tf.reduce_any(is_better, axis=-1))

  return losses, are_predicted
