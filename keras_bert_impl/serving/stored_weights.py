"""Weights that a SavedModel stores small, and reads once when it is loaded."""

import uuid

import tensorflow as tf

from keras_bert_impl import choices

_LARGEST = 127  # of int8; -128 has no opposite.


class StoredWeight(tf.Module):
  """A weight that is stored in one dtype and computed with in another.

  It stands for the latter, a float tensor. Loaders fill it when they load the
  SavedModel, so that requests do not pay for the difference.

  Args:
    weight: float tensor or variable; a matrix or larger for "int8".
    stored_dtype: str, of `choices.WEIGHTS_DTYPES`. With "int8" each slice along
      an axis has a scale.
    axis: int, that one: that of the outputs of a matrix, the last; 0 for the
      rows of a table.

  Attributes:
    shape: `tf.TensorShape`.
    dtype: `tf.DType` that it is computed with.
    stored: list of variables, what is stored.
  """

  def __init__(self, weight, stored_dtype, axis=-1):
    super().__init__(name="stored_weight")
    weight = tf.convert_to_tensor(weight)
    self.shape, self.dtype = weight.shape, weight.dtype
    is_int8 = stored_dtype == choices.INT8
    values = _quantized(weight, axis) if is_int8 else [weight]
    self.stored = [
      tf.Variable(tf.cast(value, dtype))
      for value, dtype in zip(values, (stored_dtype, tf.float32), strict=False)
    ]
    self._filled = _Filled(self._compute, weight)

  def _compute(self):
    value, *scales = (tf.cast(stored, self.dtype) for stored in self.stored)
    return value * scales[0] if scales else value

  def __tf_tensor__(self, dtype=None, name=None):
    """Returns the weight; see `tf.types.experimental.TensorProtocol`."""
    value = tf.raw_ops.ReadVariableOp(
      resource=self._filled.resource_handle, dtype=self.dtype, name=name
    )
    value = tf.ensure_shape(value, self.shape)
    return value if dtype is None else tf.cast(value, dtype)


class _Filled(tf.saved_model.experimental.TrackableResource):
  """A variable that is not stored, but computed where it is loaded.

  What was loaded is not destroyed with the object, whose signatures may live
  on; as with TensorFlow's tables it stays until the process ends.

  Args:
    compute: function that returns its value.
    like: tensor of its shape and dtype.
  """

  def __init__(self, compute, like):
    super().__init__()
    self._compute = compute
    # One of its name for each process, wherever it is loaded.
    self._attributes = {
      "dtype": like.dtype,
      "shape": like.shape,
      "shared_name": f"stored_weight_{uuid.uuid4().hex}",
    }
    self._initialize()

  def _create_resource(self):
    if not tf.executing_eagerly():
      return tf.raw_ops.VarHandleOp(**self._attributes)
    # Goes with the object, as a resource by name would not.
    self._variable = tf.Variable(
      tf.zeros(self._attributes["shape"], self._attributes["dtype"])
    )
    return self._variable.handle

  def _initialize(self):
    tf.raw_ops.AssignVariableOp(
      resource=self.resource_handle, value=self._compute()
    )


def of_weights(weights, stored_dtype, is_shared=True):
  """Returns weights as a servable holds them, variables or `StoredWeight`s.

  Those of integers stay as they are and, with "int8", those that are no
  matrices.

  Args:
    weights: list of `keras.Variable`.
    stored_dtype: str, as of `StoredWeight`.
    is_shared: bool, whether what stays as it is may be the variable itself.
  """

  def hold(weight):
    is_small = stored_dtype == choices.INT8 and len(weight.shape) < 2
    dtype = tf.as_dtype(weight.dtype)
    if is_small or not dtype.is_floating or dtype.name == stored_dtype:
      if is_shared:
        return weight.value
      return tf.Variable(tf.convert_to_tensor(weight))
    axis = 0 if "embeddings" in weight.path else -1
    return StoredWeight(weight, stored_dtype, axis)

  return [hold(weight) for weight in weights]


def _quantized(weight, axis):
  """Returns integers of a weight, as floats, and their scales."""
  axis %= weight.shape.rank
  others = [other for other in range(weight.shape.rank) if other != axis]
  weight = tf.cast(weight, tf.float32)
  largest = tf.reduce_max(tf.abs(weight), others, keepdims=True)
  scale = tf.where(largest > 0, largest, 1.0) / _LARGEST
  return [tf.round(weight / scale), scale]
