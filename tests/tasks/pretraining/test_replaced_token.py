"""ELECTRA's second stage: the generator stays, the discriminator learns."""

import keras
import numpy as np
import pytest

from keras_bert_impl import configs, models
from keras_bert_impl.checkpoints.naming import mappings
from keras_bert_impl.tasks.pretraining import replaced_token
from tests import architectures

CONFIG = configs.EncoderConfig(**architectures.SMALL)


def second_stage(**given):
  options = replaced_token.ReplacedTokenOptions(freeze_generator=True, **given)
  return replaced_token.ReplacedTokenTask(CONFIG, options=options)


def test_a_loss_must_be_left():
  with pytest.raises(ValueError, match="above 0 with freeze_generator"):
    replaced_token.ReplacedTokenOptions(
      freeze_generator=True, detection_weight=0.0
    )


def test_both_start_from_a_masked_language_model_and_one_learns():
  keras.utils.set_random_seed(0)
  first = models.MaskedLanguageModel(CONFIG)
  tensors = mappings.Arrays({w.path: w.numpy() for w in first.weights})
  task = second_stage()
  model = task.build_model()
  given = task.given_weights(tensors)
  encoder = {p: x for p, x in tensors.items() if p.startswith("bert/")}
  for path, array in encoder.items():
    copy = path.replace("bert/", "generator/")
    np.testing.assert_array_equal(given[path], array, path)
    np.testing.assert_array_equal(given[copy], array, copy)
  # All but the discriminator's head, which is new.
  assert {
    weight.path for weight in model.weights if weight.path not in given.shapes
  } == {
    f"discriminator_predictions/{layer}/{name}"
    for layer in ("dense", "dense_1")
    for name in ("kernel", "bias")
  }
  trained = {variable.path for variable in model.trainable_variables}
  assert encoder.keys() <= trained
  assert not [
    path for path in trained if path.startswith(("generator/", "cls/"))
  ]
  assert task.loss_weights["masked_lm"] == 0


def test_a_checkpoint_with_a_generator_is_taken_as_it_is():
  task = second_stage()
  tensors = mappings.Arrays(
    {w.path: np.zeros(w.shape) for w in task.build_model().weights}
  )
  assert task.given_weights(tensors) is tensors


def test_what_is_frozen_cannot_be_shared():
  with pytest.raises(ValueError, match=r"\('shared'\) must be none"):
    second_stage(embedding_sharing="shared")
