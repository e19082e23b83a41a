"""Every kind of model comes back from its file as it was."""

import keras
import numpy as np
import pytest

from tests import slow
from tests.models import every_model

QUICK = ("encoder", "multi_task", "electra", "xlnet", "modernbert", "tagger")


@pytest.mark.parametrize("name", slow.all_but(QUICK, every_model.MODELS))
def test_it_survives_being_saved(tmp_path, name):
  model = every_model.MODELS[name]()
  model.save(tmp_path / "model.keras")
  again = keras.models.load_model(tmp_path / "model.keras")
  assert type(again) is type(model) and again.config == model.config
  if name != "embeddings":  # Keras writes the axis of a layer otherwise.
    assert again.get_config() == model.get_config()
  assert again.dtype_policy == model.dtype_policy
  paths = [weight.path for weight in model.weights]
  assert [weight.path for weight in again.weights] == paths
  assert len(set(paths)) == len(paths)
  assert [weight.path for weight in again.trainable_weights] == [
    weight.path for weight in model.trainable_weights
  ]
  assert again.input.keys() == model.input.keys()
  expected, found = map(every_model.outputs_of, (model, again))
  assert found.keys() == expected.keys()
  for key, array in expected.items():
    np.testing.assert_array_equal(found[key], array)
    if array.dtype.kind == "f":
      assert array.dtype == "float32"


def test_a_file_of_weights_alone_fits_a_fresh_model(tmp_path):
  make = every_model.MODELS["encoder"]
  model = make(dtype="mixed_bfloat16")
  model.save_weights(tmp_path / "model.weights.h5")
  fresh = make(dtype="mixed_bfloat16")
  fresh.load_weights(tmp_path / "model.weights.h5")
  for key, array in every_model.outputs_of(model).items():
    np.testing.assert_array_equal(every_model.outputs_of(fresh)[key], array)
