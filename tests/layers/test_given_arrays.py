"""Arrays whose memory variables take over."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import given_arrays


@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (33, 7), (1000, 1000)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_they_lie_as_tensorflow_wants_them(shape, dtype):
  array = given_arrays.zeros(shape, dtype)
  assert array.shape == shape and array.dtype == dtype
  assert array.ctypes.data % 64 == 0
  assert array.flags.c_contiguous and array.flags.writeable
  assert not array.any()


def test_a_variable_takes_the_memory_of_an_array():
  array = given_arrays.zeros((300, 200))
  array[...] = 3
  variable = keras.Variable(np.zeros((300, 200), "float32"))
  variable.assign(given_arrays.Given(array))
  tensor = variable.value.read_value()
  assert np.asarray(tensor).ctypes.data == array.ctypes.data
  variable.value.assign_add(tf.ones((300, 200)))
  np.testing.assert_array_equal(variable, np.full((300, 200), 4, "float32"))


def test_a_variable_of_another_type_gets_the_same_values():
  array = given_arrays.zeros((4, 5))
  array[...] = 1.5
  variable = keras.Variable(np.zeros((4, 5)), dtype="bfloat16")
  variable.assign(given_arrays.Given(array))
  assert variable.dtype == "bfloat16"
  np.testing.assert_array_equal(np.asarray(variable, "float32"), array)
