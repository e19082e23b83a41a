"""Arguments of layers, checked by name."""

import inspect

import keras
import numpy as np
import pytest

import keras_bert_impl as kb
from keras_bert_impl import layers


@pytest.mark.parametrize(
  ("name", "given", "message"),
  [
    # Sizes in the order of other libraries.
    ("TransformerBlock", (32, 4, 64), "activation .64. of TransformerBlock"),
    ("TransformerBlock", (0, 64), "num_heads .0. .*an integer from 1 on"),
    ("TransformerBlock", (4.0, 64), r"num_heads \(4.0\)"),
    ("TransformerBlock", (4, "64"), "intermediate_size .'64'."),
    ("TransformerBlock", (4, 64, "nothing"), "'nothing'.*such as gelu"),
    ("TransformerBlock", (4, 64, "gelu", 1), r"dropout_rate \(1\).*\[0, 1\)"),
    ("SelfAttention", (True,), "num_heads .True. of SelfAttention"),
    ("SelfAttention", (4, None), r"dropout_rate \(None\)"),
    ("SelfAttention", (4, 0.1, "local"), "kind .'local'.*FullAttention"),
    ("SelfAttention", (4, 0.1, None, 1), r"use_bias \(1\).*True or False"),
    ("FeedForward", (-1,), r"intermediate_size \(-1\) of FeedForward"),
    ("Embeddings", (9, 8, 512, -1), r"type_vocab_size \(-1\).* 0 on"),
    ("ClassificationHead", (2, -0.1), r"initializer_range \(-0.1\)"),
  ],
)
def test_a_wrong_value_is_named(name, given, message):
  with pytest.raises(ValueError, match=message) as caught:
    getattr(kb, name)(*given)
  assert "Its arguments are " in str(caught.value)
  assert "\n" not in str(caught.value)


def test_what_an_argument_can_be_is_taken():
  options = kb.BlockConfig(norm_first=True)
  kb.TransformerBlock(np.int64(4), 64, keras.ops.relu, np.float32(0.1))
  kb.TransformerBlock(4, 64, "gelu_new", kind=None, options=options)
  kb.Embeddings(9, 8, hidden_size=None, type_vocab_size=0)


@pytest.mark.parametrize("name", layers.__all__)
def test_sizes_that_must_be_given_are_checked(name):
  layer_class = getattr(layers, name)
  if not isinstance(layer_class, type) or name in ("BlockConfig", "Dropout"):
    return
  parameters = inspect.signature(layer_class.__init__).parameters
  needed = {
    key: 4
    for key, parameter in parameters.items()
    if parameter.default is parameter.empty
    and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    and key != "self"
  }
  for wrong in needed:
    with pytest.raises(ValueError, match=f"{wrong} .'four'. of "):
      layer_class(**(needed | {wrong: "four"}))


def test_a_default_of_the_class_hides_no_layer_on_torch():
  # There layers inside are no attributes, but found where there are none.
  assert not hasattr(layers.SelfAttention, "kind")
  assert layers.SelfAttention(2).kind.chunk_size is None
