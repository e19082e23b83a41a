"""Vectors in fewer bytes."""

import numpy as np
import pytest

from keras_bert_impl import choices
from keras_bert_impl.serving import quantization

VECTORS = np.array([[0.5, -1.0, 0.0], [0.25, 0.1, -0.3]], np.float32)


def restored(precision, vectors=VECTORS):
  arrays = quantization.compress(vectors, precision)
  size = vectors.shape[1]
  return arrays, quantization.restore(arrays, precision, size)


def test_vectors_are_restored_as_exactly_as_their_precision_is():
  for precision, error in (("float32", 0), ("float16", 2e-4), ("int8", 0.004)):
    arrays, found = restored(precision)
    assert arrays["vectors"].dtype == precision
    np.testing.assert_allclose(found, VECTORS, atol=error)
  arrays, found = restored("int8")
  np.testing.assert_array_equal(arrays["vectors"][0], [64, -127, 0])
  np.testing.assert_allclose(arrays["scales"], [1 / 127, 0.3 / 127])


def test_bits_say_what_is_above_zero():
  arrays, found = restored(choices.BINARY)
  np.testing.assert_array_equal(arrays["vectors"], [[0b10000000], [0b11000000]])
  np.testing.assert_array_equal(found, [[1, -1, -1], [1, 1, -1]])
  wide = np.random.default_rng(0).normal(size=(4, 20)).astype(np.float32)
  np.testing.assert_array_equal(restored("binary", wide)[1] > 0, wide > 0)


def test_zeros_stay_zeros():
  zeros = np.zeros((2, 8), np.float32)
  np.testing.assert_array_equal(restored("int8", zeros)[1], zeros)


def test_places_in_ranges_are_those_of_sentence_transformers():
  ranges = [[-1, -1, -1], [1, 1, 1]]
  found = quantization.quantize(VECTORS, "uint8", ranges)
  np.testing.assert_array_equal(found, [[191, 0, 127], [159, 140, 89]])
  assert found.dtype == np.uint8
  found = quantization.quantize(VECTORS, "int8", ranges)
  np.testing.assert_array_equal(found, [[63, -128, 0], [31, 12, -38]])
  own = quantization.quantize(VECTORS, "int8")
  # A quotient may be just below a whole number, which is cut off.
  ends = [[127, -128, 127], [-128, 127, -128]]
  np.testing.assert_allclose(own, ends, atol=1)
  # What is outside of the ranges does not overflow.
  found = quantization.quantize(3 * VECTORS, "int8", ranges)
  np.testing.assert_array_equal(found[0], [127, -128, 0])


def test_bits_are_those_of_sentence_transformers():
  packed = quantization.quantize(VECTORS, "ubinary")
  signed = quantization.quantize(VECTORS, "binary")
  np.testing.assert_array_equal(signed.astype(int), packed.astype(int) - 128)
  assert signed.dtype == np.int8
  with pytest.raises(ValueError, match="precision .'int4'. must be one of"):
    quantization.quantize(VECTORS, "int4")
