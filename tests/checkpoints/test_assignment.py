"""Assignment of a checkpoint to a model, and what is said about the rest."""

import keras
import numpy as np
import pytest

from keras_bert_impl import configs, layers, models
from keras_bert_impl.checkpoints import assignment
from keras_bert_impl.checkpoints.naming import mappings
from tests import architectures

TINY = architectures.tiny()
LARGER = configs.EncoderConfig.from_dict(TINY.to_dict() | {"vocab_size": 21})


def variables_of(model):
  return {weight.path: weight for weight in model.weights}


def tensors_of(model):
  return mappings.Arrays(
    {weight.path: np.array(weight) for weight in model.weights}
  )


def assert_same_weights(model, expected):
  for weight, value in zip(model.get_weights(), expected, strict=True):
    np.testing.assert_array_equal(weight, value)


def test_every_weight_is_loaded_by_its_path():
  model, other = models.PretrainingModel(TINY), models.PretrainingModel(TINY)
  result = assignment.assign(variables_of(other), tensors_of(model), "c")
  assert_same_weights(other, model.get_weights())
  assert result.loaded == [weight.path for weight in model.weights]
  assert not result.new and not result.left_over


def test_a_model_of_layers_loads_too():
  inputs = keras.Input((None, 8))
  outputs = layers.TransformerBlock(2, 16, name="layer_0")(inputs)
  model = keras.Model(inputs, outputs)
  result = assignment.assign(variables_of(model), tensors_of(model), "c")
  assert len(result.loaded) == 16


def test_what_the_model_lacks_is_left_over():
  model = models.PretrainingModel(TINY)
  encoder = models.TransformerEncoder(TINY)
  result = assignment.assign(variables_of(encoder), tensors_of(model), "c")
  assert_same_weights(encoder, model.encoder.get_weights())
  assert len(result.left_over) == 7
  assert all(name.startswith("cls/") for name in result.left_over)
  assert "7 left over (cls/" in str(result)


def test_missing_weights_are_all_named_and_nothing_changes():
  encoder = models.TransformerEncoder(TINY)
  model = models.PretrainingModel(TINY)
  before = model.get_weights()
  with pytest.raises(ValueError, match="c does not fit") as error:
    assignment.assign(variables_of(model), tensors_of(encoder), "c")
  heads = [w.path for w in model.weights if w.path.startswith("cls/")]
  assert len(heads) == 7
  assert all(f"{path} is missing" in str(error.value) for path in heads)
  assert "--allow_partial" in str(error.value)
  assert_same_weights(model, before)


def test_missing_weights_stay_fresh_if_told_so():
  encoder = models.TransformerEncoder(TINY)
  model = models.PretrainingModel(TINY)
  heads = {
    path: np.array(variable)
    for path, variable in variables_of(model).items()
    if path.startswith("cls/")
  }
  result = assignment.assign(
    variables_of(model), tensors_of(encoder), "c", allow_partial=True
  )
  assert result.new == list(heads)
  assert_same_weights(model.encoder, encoder.get_weights())
  for path, before in heads.items():
    np.testing.assert_array_equal(variables_of(model)[path], before)


def test_another_shape_is_named_with_both_and_kept_out_if_told_so():
  tensors = tensors_of(models.TransformerEncoder(TINY))
  variables = variables_of(models.TransformerEncoder(LARGER))
  name = "bert/embeddings/word_embeddings"
  with pytest.raises(
    ValueError, match=rf"{name} has shape \(20, 8\) there, but \(21, 8\)"
  ):
    assignment.assign(variables, tensors, "c")
  result = assignment.assign(variables, tensors, "c", allow_partial=True)
  assert result.new == [name] == result.left_over


def test_a_checkpoint_of_something_else_is_refused_even_in_part():
  variables = variables_of(models.TransformerEncoder(TINY))
  tensors = mappings.Arrays({"dense/kernel": np.zeros((2, 2))})
  with pytest.raises(ValueError, match="does not fit"):
    assignment.assign(variables, tensors, "c", allow_partial=True)
