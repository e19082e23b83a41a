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
from keras import ops

from keras_bert_impl.layers import activations


def add_bias(x, bias):
  """Returns `x` [N, I] plus `bias` [I]."""
  bias = ops.convert_to_tensor(bias)
  if keras.backend.backend() != "tensorflow":
    return x + bias
  import tensorflow as tf

  return tf.nn.bias_add(x, bias)


def activate(activation, x, training):
  """Returns `activation(x)`.

  Args:
    activation: callable; those with a faster form are GELU's.
    x: float tensor.
    training: bool, whether there will be a gradient.
  """
  is_gelu = activation in (keras.activations.gelu, activations.gelu_new)
  if training and is_gelu and keras.backend.backend() == "tensorflow":
    return _compiled(activation)(x)
  return activation(x)


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
  """Returns `activation` and its gradient as functions compiled by XLA."""
  import tensorflow as tf

  @tf.function(jit_compile=True, autograph=False)
  def value(x):
    return tf.cast(activation(tf.cast(x, tf.float32)), x.dtype)

  @tf.function(jit_compile=True, autograph=False)
  def gradient(x, upstream):
    wide = tf.cast(x, tf.float32)
    with tf.GradientTape() as tape:
      tape.watch(wide)
      y = activation(wide)
    slope = tape.gradient(y, wide, tf.cast(upstream, tf.float32))
    return tf.cast(slope, x.dtype)

  @tf.custom_gradient
  def compiled(x):
    return value(x), functools.partial(gradient, x)

  return compiled
