"""Kernels: what a backend computes faster than `keras.ops` writes it.

On TensorFlow, where a step is not one XLA program:

- Matrix product, bias and GELU become one kernel of oneDNN, if the product is
  of two matrices, the bias is added by `tf.nn.bias_add`, and nothing else reads
  what lies between. So it is in inference.
- A gradient reads it. There GELU and its gradient are small functions compiled
  by XLA, in float32 inside; product and bias stay kernels of the library.
- LayerNorm becomes one kernel of oneDNN in inference, if it is written as the
  normalization of a batch.
- Of attention, the product of queries and keys takes scale and mask along, if
  these come right before and after it and in its dtype.

Exported models call layers without `training`: they hold nothing compiled by
XLA, which TF Serving would refuse.
"""

import functools

import keras

from keras_bert_impl.layers import activations

_GELUS = (keras.activations.gelu, activations.gelu_new)


def finish(x, bias, activation, training):
  """Returns `activation(x + bias)`, what follows a matrix product.

  Args:
    x: float [N, I].
    bias: [I], or None.
    activation: callable, or None; those with a faster form are GELU's.
    training: bool, whether there will be a gradient.
  """
  if keras.backend.backend() == "tensorflow":
    return _finish_on_tensorflow(x, bias, activation, training)
  x = x if bias is None else x + bias
  return x if activation is None else activation(x)


def _finish_on_tensorflow(x, bias, activation, training):
  import tensorflow as tf

  if training and activation in _GELUS:
    bias = tf.zeros([x.shape[-1]], x.dtype) if bias is None else bias
    # A variable would be one of the function that is differentiated.
    return _compiled(activation)(x, tf.convert_to_tensor(bias))
  x = x if bias is None else tf.nn.bias_add(x, tf.convert_to_tensor(bias))
  return x if activation is None else activation(x)


def layer_norm(x, gamma, beta, epsilon, training):
  """Returns `x` [..., H], each row normalized, times gamma [H] plus beta [H].

  The dtype is that of `x`; None where `keras.ops` does as well.

  TensorFlow finds LayerNorm in a graph by the ops that Keras 2 wrote it with: a
  row is a channel of a batch normalization, whose scale 1 and offset 0 are
  tensors of a size that is not known before.
  """
  if training or keras.backend.backend() != "tensorflow":
    return None
  import tensorflow as tf

  if tf.executing_eagerly() or None not in x.shape[:-1]:
    return None
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
def _compiled(activation):
  """Returns `activation(x + bias)` and its gradient, compiled by XLA."""
  import tensorflow as tf

  compiled_by_xla = tf.function(
    jit_compile=True, autograph=False, reduce_retracing=True
  )

  def wide(*tensors):
    return [tf.cast(tensor, tf.float32) for tensor in tensors]

  @compiled_by_xla
  def value(x, bias):
    return tf.cast(activation(tf.add(*wide(x, bias))), x.dtype)

  @compiled_by_xla
  def gradient(x, bias, upstream):
    inputs = wide(x, bias)
    with tf.GradientTape() as tape:
      tape.watch(inputs)
      y = activation(tf.add(*inputs))
    slopes = tape.gradient(y, inputs, *wide(upstream))
    return [tf.cast(slope, x.dtype) for slope in slopes]

  @tf.custom_gradient
  def compiled(x, bias):
    return value(x, bias), functools.partial(gradient, x, bias)

  return compiled
