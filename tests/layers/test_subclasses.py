"""Layers that users derive from layers of the library."""

import dataclasses

import keras
import numpy as np
import pytest

import keras_bert_impl as kb
from keras_bert_impl.layers.basics import layer as base

register = keras.saving.register_keras_serializable("tests")


@register
class Scaled(kb.TransformerBlock):
  """A block with two arguments of its own, one of a name that we use too."""

  def __init__(self, scale, width=2.5, **others):
    super().__init__(**others)
    self.scale, self.width = scale, width

  def call(self, hidden, **kwargs):
    return self.scale * super().call(hidden, **kwargs)


@register
class Small(kb.TransformerBlock):
  """A block that says some of its base's arguments itself."""

  def __init__(self, units, **kwargs):
    super().__init__(units, 4 * units, dropout_rate=0.0, **kwargs)
    self.units = units


@register
class Placed(kb.TransformerBlock):
  """A block that takes its base's arguments by place."""

  def __init__(self, *args, scale=1, **kwargs):
    super().__init__(*args, **kwargs)
    self.scale = scale


@dataclasses.dataclass(eq=False, repr=False)
class _NamedArguments(base.Arguments):
  width: str
  units: float = 0.5
  options: tuple = ()


@register
class Named(_NamedArguments, base.Layer):
  """A layer of a user, made as those of the library are."""

  def call(self, hidden):
    return self.units * hidden


@register
class OnPooler(kb.layers.Pooler):
  """A layer of a user with arguments of names that other layers have."""

  def __init__(self, width, units=0.5, options=(), **others):
    super().__init__(**others)
    self.width, self.units, self.options = width, units, options


LAYERS = {
  "scaled": lambda: Scaled(
    3, num_heads=2, intermediate_size=8, dropout_rate=0.3, activation="relu"
  ),
  "small": lambda: Small(2, activation="relu", dtype="bfloat16"),
  "placed": lambda: Placed(2, 8, "relu", 0.3, scale=2),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_subclass_comes_back_with_the_arguments_of_its_base(name):
  layer = LAYERS[name]()
  config = layer.get_config()
  again = type(layer).from_config(config)
  assert again.get_config() == config
  for field in ("num_heads", "intermediate_size", "activation", "dropout_rate"):
    assert getattr(again, field) == getattr(layer, field), field
  assert again.activation == "relu"


def test_a_subclass_computes_the_same_in_a_file(tmp_path):
  inputs = keras.Input((3, 4))
  model = keras.Model(inputs, LAYERS["scaled"]()(inputs))
  model.save(tmp_path / "model.keras")
  x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
  again = keras.models.load_model(tmp_path / "model.keras")
  np.testing.assert_allclose(again(x), model(x), atol=1e-6)


@pytest.mark.parametrize("layer_class", [Named, OnPooler])
def test_names_of_our_arguments_are_free_for_users(layer_class):
  given = {"width": "wide", "units": -1.5, "options": [3]}
  config = layer_class(**given, name="own").get_config()
  again = layer_class.from_config(config)
  assert again.name == "own"
  assert {key: getattr(again, key) for key in given} == given
  assert layer_class("wide").units == 0.5


def test_arguments_of_the_base_are_checked_in_a_subclass_too():
  with pytest.raises(ValueError, match="num_heads .0. of Small must be an in"):
    Small(0)
