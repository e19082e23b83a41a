"""Activations by the names in `bert_config.json`."""

import functools

import keras
from keras import ops


def get(name):
  """Returns the activation function `name` of a configuration.

  Args:
    name: str. "gelu" is the exact (erf) form, "gelu_new" the one with tanh;
      None and all others are Keras' own.

  Source: Hendrycks and Gimpel 2016; google-research/albert, modeling.py.
  """
  return gelu_new if name == "gelu_new" else keras.activations.get(name)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
def gelu_new(x):
  """GELU approximated by tanh, as in GPT and ALBERT."""
  return ops.gelu(x, approximate=True)


@functools.cache
def gated(name):
  """Returns the gated form of an activation, such as GeGLU of "gelu".

  It applies the activation to the first half of its input and multiplies by the
  second half.

  Args:
    name: str or None, as for `get`.

  Returns:
    callable, [..., 2 I] -> [..., I]; the same object for the same name, by
    which `kernels` knows it.

  Source: Shazeer 2020 (GLU variants).
  """
  activation = get(name)

  def apply(x):
    inner, gate = ops.split(x, 2, axis=-1)
    return activation(inner) * gate

  return apply
