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

import contextlib
import contextvars
import functools
import math
import os

import keras
import numpy as np
from etils import epy
from keras import ops

# Other backends need none.
with epy.lazy_imports():
  import tensorflow as tf

NUM_DRAWS = 2**16  # values of the number that decides on an element
# Times the number of a part of a draw; odd, so that no two have the same.
_PART_KEY = 0x1E3779B1
_FEWEST_CLASSES = 1024  # that are worth a program of XLA
_FEWEST_NUMBERS = 2**15  # of the largest argument of such a program
# With 1, oneDNN keeps the weights of products in the order that suits the
# processor, from their first call on, whatever the variables become. It is read
# once per process.
_FROZEN_WEIGHTS = "TF_ONEDNN_ASSUME_FROZEN_WEIGHTS"
_PORTABLE = contextvars.ContextVar("portable", default=False)


@contextlib.contextmanager
def portable():
  """Has graphs of inference traced with ops that other formats have, too."""
  token = _PORTABLE.set(True)
  try:
    yield
  finally:
    _PORTABLE.reset(token)


def is_portable():
  """Whether a graph is traced with ops that other formats have."""
  return _PORTABLE.get()


def activation(name):
  """Returns the activation function that a configuration calls `name`.

  "gelu" is the exact (erf) form, "gelu_new" that with tanh; None and all that
  are not below are Keras' own. Source: Hendrycks and Gimpel 2016;
  google-research/albert; for the others transformers, activations.py.
  """
  return _ACTIVATIONS.get(name) or keras.activations.get(name)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
def gelu_new(x):
  """GELU approximated by tanh, as in GPT and ALBERT."""
  return ops.gelu(x, approximate=True)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
def gelu_10(x):
  """GELU in [-10, 10], for weights of 8 bits; Wu et al. 2020."""
  return ops.clip(ops.gelu(x, approximate=False), -10, 10)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
def quick_gelu(x):
  """GELU approximated by the logistic function, as in CLIP."""
  return x * ops.sigmoid(1.702 * x)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
def relu2(x):
  """ReLU, squared; So et al. 2021 (Primer)."""
  return ops.square(ops.relu(x))


_ACTIVATIONS = {f.__name__: f for f in (gelu_new, gelu_10, quick_gelu, relu2)}


@functools.cache
def gated(name):
  """Returns the gated form of an activation, such as GeGLU of "gelu".

  It applies the activation to the first half of its input and multiplies by the
  second half.

  Args:
    name: str or None, as for `activation`.

  Returns:
    callable, [..., 2 I] -> [..., I]; the same object for the same name, by
    which `finish` knows it.

  Source: Shazeer 2020 (GLU variants).
  """
  function = activation(name)

  def apply(x):
    inner, gate = ops.split(x, 2, axis=-1)
    return function(inner) * gate

  return apply


# Activations that have programs of XLA, as the same objects.
_COMPILED = (
  *map(activation, ("gelu", "gelu_new")),
  *map(gated, ("gelu", "gelu_new", "silu")),
)


def _run(function, options, *tensors):
  """Returns `function(*options, *tensors)`, of many numbers by XLA."""
  largest = 0
  for tensor in tensors:
    size = tensor.shape.num_elements()
    largest = max(largest, math.inf if size is None else size)
  if largest < _FEWEST_NUMBERS:
    return function(*options, *tensors)
  return _program(function, options, _shapes(tensors))(*tensors)


def _shapes(tensors):
  """Returns the key by which a function is traced for its own shapes alone.

  One traced before for unknown sizes would be taken for known ones, too: what
  else ran in the process would change the last bits.
  """
  return tuple(tensor.shape for tensor in tensors)


@functools.cache
def _program(function, options, shapes):
  """Returns a function of tensors, after options, as a program of XLA."""
  bound = functools.partial(function, *options)
  bound.__name__ = function.__name__  # By which a profiler knows the program.
  return tf.function(bound, jit_compile=True, autograph=False)


def _with_gradient(function, options, *tensors):
  """Returns the value of `function(*options, *tensors)`, with its own gradient.

  `function` is as `tf.custom_gradient` has it, and reads only its arguments.
  That alone would register a gradient for good at every call in a graph, which
  keeps the graph alive; a function is traced but once for each shape.
  """
  return _traced(function, options, _shapes(tensors))(*tensors)


@functools.cache
def _traced(function, options, shapes):
  """Returns a function of tensors, after options, of `tf.custom_gradient`."""
  bound = functools.partial(function, *options)
  bound.__name__ = function.__name__  # TensorFlow asks for it.
  return tf.function(tf.custom_gradient(bound), autograph=False)


def _two_programs(value, gradient, kept, options, *tensors):
  """Returns `value` and its gradient, as `tf.custom_gradient` has them.

  The gradient takes tensors[kept[0] : kept[1]], and what comes upstream.
  """
  kept = tensors[slice(*kept)]
  return (
    _run(value, options, *tensors),
    functools.partial(_run, gradient, options, *kept),
  )


_wide = functools.partial(ops.cast, dtype="float32")


def finish(x, bias, activation, training):
  """Returns `activation(x + bias)`, what follows a matrix product [N, I].

  Bias and activation may be None; GELU and gated ones are faster in training.
  """
  if keras.backend.backend() == "tensorflow":
    # A variable would be one of the function that is differentiated.
    terms = [x] if bias is None else [x, tf.convert_to_tensor(bias)]
    if training and activation in _COMPILED:
      # Sums of one and of two terms have programs of their own.
      programs = (_activate, _activate_gradient, (None, None))
      options = (*programs, (activation, len(terms)))
      return _with_gradient(_two_programs, options, *terms)
    x = x if bias is None else tf.nn.bias_add(*terms)
  elif bias is not None:
    x = x + bias
  return x if activation is None else activation(x)


def _activate(activation, num_terms, *terms):
  wide = sum(map(_wide, terms))
  return ops.cast(activation(wide), terms[0].dtype)


def _activate_gradient(activation, num_terms, *terms_and_upstream):
  *terms, upstream = map(_wide, terms_and_upstream)
  with tf.GradientTape() as tape:
    tape.watch(terms)
    y = activation(sum(terms))
  slopes = tape.gradient(y, terms, upstream)
  return [tf.cast(slope, terms_and_upstream[0].dtype) for slope in slopes]


def random_numbers(shape, seed, dtype):
  """Returns `keras.random.uniform` of a seed, int [2]; or any uint16."""
  if keras.backend.backend() == "tensorflow":
    # Keras itself takes no tensor as a seed.
    numbers = tf.random.stateless_uniform(shape, tf.cast(seed, "int32"))
  else:
    on_torch = keras.backend.backend() == "torch"
    seed = _one_number(seed) if on_torch else ops.cast(seed, "uint32")
    numbers = keras.random.uniform(shape, dtype="float32", seed=seed)
  if dtype == "float32":
    return numbers
  return ops.cast(ops.floor(numbers * NUM_DRAWS), dtype)


def _one_number(seed):
  """Returns the int of 32 bits in which torch's generators begin."""
  if seed.device.type == "meta":  # Keras asks for shapes only: no values.
    return 0
  first, second = map(int, seed)
  return (first ^ second * 0x9E3779B1) & 0xFFFFFFFF


def drop(rate, numbers, seed, x, part=None):
  """Returns `x` with each element zero with probability `rate`, or scaled up.

  Args:
    rate: float in [0, 1), rounded to one of NUM_DRAWS.
    numbers: callable as `random_numbers`.
    seed: int [2].
    x: float tensor.
    part: int, number of the part of a draw that `x` is; None: it is all.
  """
  if part is not None:
    key = ops.stack([ops.cast(part, "int32") * _PART_KEY, 0])
    seed = ops.bitwise_xor(ops.cast(seed, "int32"), key)
  numbers = numbers(ops.shape(x), seed, "uint16")
  threshold = min(round(rate * NUM_DRAWS), NUM_DRAWS - 1)
  if keras.backend.backend() != "tensorflow":
    return _drop(threshold, x, numbers)
  options = (_drop, _drop_gradient, (1, None), (threshold,))
  return _with_gradient(_two_programs, options, x, numbers)


def _drop(threshold, x, numbers):
  scale = NUM_DRAWS / (NUM_DRAWS - threshold)
  is_kept = ops.cast(numbers, "int32") >= threshold
  return ops.where(is_kept, x * scale, ops.zeros((), x.dtype))


def _drop_gradient(threshold, numbers, upstream):
  return _drop(threshold, upstream, numbers), None


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
  programs = (_arrange, _arrange_gradient, (len(tensors), None))
  options = (*programs, (function, shapes, len(others)))
  return _with_gradient(_two_programs, options, *tensors, *others)


def _arrange(function, shapes, num_others, *tensors):
  return function(*tensors)


def _arrange_gradient(function, shapes, num_others, *others_and_upstream):
  # The gradient of a linear function does not depend on `tensors`: zeros do,
  # and the true values need not be kept for it.
  others = others_and_upstream[:num_others]
  upstream = others_and_upstream[num_others:]
  tensors = [tf.zeros(shape, upstream[0].dtype) for shape in shapes]
  with tf.GradientTape() as tape:
    tape.watch(tensors)
    found = function(*tensors, *others)
  return [*tape.gradient(found, tensors, upstream), *[None] * num_others]


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
  # keras.ops would work at ten at a time.
  return tf.map_fn(
    function, inputs, parallel_iterations=1, fn_output_signature=dtype
  )


def score_rows(x, table, is_few=False):
  """Returns `x` [N, E] times each row of `table` [V, E], [N, V].

  `is_few` says that N is small beside V.
  """
  if keras.backend.backend() != "tensorflow":
    return ops.matmul(x, ops.transpose(table))
  if is_few:  # oneDNN takes up to twice as long for the product below.
    return tf.transpose(tf.matmul(table, x, transpose_b=True))
  # The gradients of this product need no transposition of table or scores.
  return tf.matmul(x, table, transpose_b=True)


def layer_norm(x, gamma, beta, epsilon, training):
  """Returns `x` [..., H], each row normalized, times gamma [H] plus beta [H].

  The dtype is that of `x`. `beta` may be None. Returns None where `keras.ops`
  is as fast.
  """
  if keras.backend.backend() != "tensorflow":
    return None
  if is_portable():
    return _plain_layer_norm(x, gamma, beta, epsilon)
  beta = tf.zeros([x.shape[-1]]) if beta is None else beta
  if training:
    rows = tf.reshape(x, [-1, x.shape[-1]])
    weights = map(tf.convert_to_tensor, (gamma, beta))
    options = (_normalize, _normalize_gradient, (None, 2), (epsilon,))
    normal = _with_gradient(_two_programs, options, rows, *weights)
    return tf.reshape(normal, tf.shape(x))
  if x.shape[-2] == 1:  # A step of a decoder: starting the fused op costs most.
    return _normalize(epsilon, x, gamma, beta)
  if tf.executing_eagerly() or None not in x.shape[:-1]:
    return None
  return _fused_layer_norm(x, gamma, beta, epsilon)


def _plain_layer_norm(x, gamma, beta, epsilon):
  """Returns `layer_norm` in the ops that ONNX Runtime finds it in."""
  mean = functools.partial(tf.reduce_mean, axis=-1, keepdims=True)
  center = x - mean(x)
  normal = center / tf.sqrt(mean(tf.square(center)) + epsilon)
  normal *= tf.cast(gamma, x.dtype)
  return normal if beta is None else normal + tf.cast(beta, x.dtype)


def _fused_layer_norm(x, gamma, beta, epsilon):
  """Returns `layer_norm` as TensorFlow finds it in a graph.

  It looks for the ops that Keras 2 wrote it with: a row is a channel of a batch
  normalization, whose scale 1 and offset 0 are tensors of a size that is not
  known before.
  """
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


def _normalize(epsilon, x, gamma, beta):
  normal, _ = _normal(epsilon, _wide(x))
  return ops.cast(normal * _wide(gamma) + _wide(beta), x.dtype)


def _normalize_gradient(epsilon, x, gamma, upstream):
  mean = functools.partial(tf.reduce_mean, axis=-1, keepdims=True)
  # Again, so that the gradient has one of its own.
  normal, scale = _normal(epsilon, _wide(x))
  upstream = _wide(upstream)
  slope = upstream * _wide(gamma)
  slope = scale * (slope - mean(slope) - normal * mean(slope * normal))
  return [
    tf.cast(slope, x.dtype),
    tf.cast(tf.reduce_sum(upstream * normal, axis=0), gamma.dtype),
    tf.cast(tf.reduce_sum(upstream, axis=0), gamma.dtype),
  ]


def _normal(epsilon, x):
  """Returns `x` less its mean, over its deviation, and one over that."""
  mean = functools.partial(tf.reduce_mean, axis=-1, keepdims=True)
  center = mean(x)
  scale = tf.math.rsqrt(mean(tf.square(x - center)) + epsilon)
  return (x - center) * scale, scale


def rms_norm(x, gamma, epsilon, training):
  """Returns `x` [..., H], each row over its root mean square, times gamma [H].

  The dtype is that of `x`.
  """
  if not training or keras.backend.backend() != "tensorflow":
    return _scale_rows(epsilon, x, gamma)
  rows = tf.reshape(x, [-1, x.shape[-1]])
  options = (_scale_rows, _scale_rows_gradient, (None, None), (epsilon,))
  scaled = _with_gradient(
    _two_programs, options, rows, tf.convert_to_tensor(gamma)
  )
  return tf.reshape(scaled, tf.shape(x))


def _scale_rows(epsilon, x, gamma):
  wide = _wide(x)
  scale = _one_over_root_mean_square(wide, epsilon)
  return ops.cast(wide * scale * _wide(gamma), x.dtype)


def _scale_rows_gradient(epsilon, x, gamma, upstream):
  wide, upstream = _wide(x), _wide(upstream)
  scale = _one_over_root_mean_square(wide, epsilon)
  normal, slope = wide * scale, upstream * _wide(gamma)
  mean = ops.mean(slope * normal, axis=-1, keepdims=True)
  return [
    tf.cast(scale * (slope - normal * mean), x.dtype),
    tf.cast(tf.reduce_sum(upstream * normal, axis=0), gamma.dtype),
  ]


def _one_over_root_mean_square(x, epsilon):
  return ops.rsqrt(ops.mean(x * x, axis=-1, keepdims=True) + epsilon)


def cross_entropy(logits, labels, smoothing=0.0):
  """Returns the cross-entropy of each label in nats, float32 [...].

  Args:
    logits: float32 [..., C].
    labels: int [...], in [0, C); others give NaN or an error.
    smoothing: float in [0, 1), the share of the truth that is spread evenly
      over all classes.

  Source: Szegedy et al. 2016, section 7, for label smoothing.
  """
  if _is_vocabulary(logits):
    losses = functools.partial(_with_gradient, _losses, (smoothing,))
    return _by_rows(losses, logits, labels)
  if not smoothing:
    return ops.sparse_categorical_crossentropy(labels, logits, from_logits=True)
  truth = ops.one_hot(labels, logits.shape[-1]) * (1.0 - smoothing)
  truth = truth + smoothing / logits.shape[-1]
  return ops.categorical_crossentropy(truth, logits, from_logits=True)


def divergence(taught, logits, temperature):
  """Returns how far predictions are from those of a teacher, float32 [...].

  The Kullback-Leibler divergence in nats of two distributions, whose logits are
  divided by the temperature T, times T^2, so that its gradient is about as
  large at any T.

  Args:
    taught: float [..., C], logits of the teacher.
    logits: float [..., C].
    temperature: float > 0.

  Source: Hinton et al. 2015, section 2.
  """
  ours, theirs = (
    ops.log_softmax(ops.cast(x, "float32") / temperature)
    for x in (logits, taught)
  )
  return temperature**2 * ops.sum(ops.exp(theirs) * (theirs - ours), axis=-1)


def is_predicted(logits, labels):
  """Returns whether each label is the first one with the largest logit.

  Args:
    logits: float32 [..., C].
    labels: int [...], in [0, C).
  """
  if not _is_vocabulary(logits):
    predicted = ops.cast(ops.argmax(logits, axis=-1), "int32")
    return ops.equal(predicted, ops.cast(labels, "int32"))
  return _by_rows(
    functools.partial(_run, _are_predicted, (logits.shape[-1],)), logits, labels
  )


def _is_vocabulary(logits):
  on_tensorflow = keras.backend.backend() == "tensorflow"
  return on_tensorflow and (logits.shape[-1] or 0) >= _FEWEST_CLASSES


def _by_rows(function, logits, labels):
  """Applies a function of [N, C] and [N] to logits and labels of any rank."""
  rows = ops.reshape(logits, (-1, logits.shape[-1]))
  found = function(rows, ops.reshape(labels, (-1,)))
  return ops.reshape(found, ops.shape(labels))


def _losses(smoothing, logits, labels):
  """Returns `cross_entropy` of rows, as `tf.custom_gradient` has it."""
  labels = ops.cast(labels, "int32")
  # Each number of classes has programs of its own.
  options = (logits.shape[-1], smoothing)
  found, log_total = _run(_loss, options, logits, labels)
  return found, functools.partial(
    _run, _loss_gradient, options, logits, labels, log_total
  )


def _loss(num_classes, smoothing, logits, labels):
  largest = tf.reduce_max(logits, axis=-1, keepdims=True)
  total = tf.reduce_sum(tf.exp(logits - largest), axis=-1)
  log_total = tf.math.log(total) + largest[:, 0]
  own = tf.gather(logits, labels, batch_dims=1)
  if smoothing:
    mean = tf.reduce_mean(logits, axis=-1)
    own = (1.0 - smoothing) * own + smoothing * mean
  found = log_total - own
  is_class = (labels >= 0) & (labels < num_classes)
  # XLA would read the nearest class.
  return tf.where(is_class, found, np.nan), log_total


def _loss_gradient(num_classes, smoothing, logits, labels, log_total, upstream):
  probs = ops.exp(logits - log_total[:, None])
  if smoothing:
    probs = probs - smoothing / num_classes
  is_label = ops.equal(ops.arange(num_classes)[None], labels[:, None])
  slope = ops.where(is_label, probs - (1.0 - smoothing), probs)
  return slope * upstream[:, None], None


def _are_predicted(num_classes, logits, labels):
  labels = tf.cast(labels, tf.int32)
  own = tf.gather(logits, labels, batch_dims=1)[:, tf.newaxis]
  is_before = ops.arange(num_classes)[None] < labels[:, tf.newaxis]
  is_better = (logits > own) | ((logits == own) & is_before)
  return tf.logical_not(tf.reduce_any(is_better, axis=-1))


def assume_frozen_weights():
  """Makes products in this process keep the weights they see first.

  That pays in bfloat16. It has no effect after the first product, nor where the
  environment says otherwise.
  """
  os.environ.setdefault(_FROZEN_WEIGHTS, "1")


def check_trainable():
  """Raises ValueError if products would not see that weights change."""
  value = os.environ.get(_FROZEN_WEIGHTS, "0")
  if value.lower() not in ("0", "false"):
    raise ValueError(
      f"{_FROZEN_WEIGHTS} is {value!r} in the environment: no model can be"
      " trained, because products go on with the weights they saw first. Unset"
      " it."
    )
