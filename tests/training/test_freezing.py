"""Frozen layers: they stay as they are, and cost no gradients."""

import dataclasses
import re

import numpy as np
import pytest

from keras_bert_impl import configs, models
from keras_bert_impl.checkpoints.formats import tf_format
from keras_bert_impl.models.heads import feature_models
from keras_bert_impl.training import freezing, savers
from tests import architectures
from tests.training import tiny

CONFIG = configs.EncoderConfig(**architectures.THREE_LAYERS)
ALBERT = {"num_hidden_groups": 1, "model_type": "albert"}


def trained(family, train_layers):
  """Returns the first two parts of the paths that are trained, and "..."."""
  config = dataclasses.replace(CONFIG, **family)
  model = models.SequenceClassifier(config, 2)
  freezing.freeze(model, train_layers)
  return {
    re.match(r"bert/encoder/[^/]+|bert/[^/]+|[^/]+", variable.path).group()
    for variable in model.trainable_variables
  }


HEAD = {"bert/pooler", "classifier"}
LAST_2 = HEAD | {"bert/encoder/layer_1", "bert/encoder/layer_2"}


def test_the_last_blocks_or_the_head_alone_are_trained():
  assert trained({}, "last_2") == LAST_2
  modernbert = trained(architectures.MODERNBERT, "last_2")
  assert modernbert == LAST_2 | {"bert/encoder/LayerNorm"}
  assert trained(ALBERT, "head") == HEAD


@pytest.mark.parametrize(
  ("value", "fields", "message"),
  [
    ("last_0", {}, "'last_0'.*must be all, head or last_N"),
    ("foo", {}, "'foo'.*must be all, head or last_N"),
    ("last_99", {}, "must be at most last_3: the model has 3 blocks"),
    (
      "last_1",
      ALBERT,
      r"'last_1'.*share their weights \(num_hidden_groups = 1",
    ),
  ],
)
def test_wrong_values(value, fields, message):
  with pytest.raises(ValueError, match=message):
    freezing.check(value, dataclasses.replace(CONFIG, **fields))


def test_a_frozen_encoder_has_no_last_blocks_to_train():
  tagger = feature_models.FeatureTagger(CONFIG, 2, "last", lstm_width=4)
  freezing.freeze(tagger, "head")
  with pytest.raises(
    ValueError, match="'last_1'.*encoder of this model is fro"
  ):
    freezing.freeze(tagger, "last_1")


def test_what_is_trained_moves_as_if_all_were_and_the_rest_stays(tmp_path):
  # Clipping to the norm of all gradients would not be the same.
  whole, part = (
    tiny.build(train_layers=layers, clip_norm=0.0)
    for layers in ("all", "last_1")
  )
  before = {v.path: v.numpy() for v in part.model.weights}
  for training in (whole, part):
    training.train(tiny.iterate(training, tiny.dataset(1)), 1)
  after = {v.path: v.numpy() for v in part.model.weights}
  below = ("bert/embeddings", "bert/encoder/layer_0")
  changed = {path for path in before if not path.startswith(below)}
  for variable in whole.model.weights:
    path = variable.path
    if path in changed:
      assert not np.array_equal(after[path], before[path]), path
      np.testing.assert_allclose(after[path], variable, atol=1e-6, err_msg=path)
    else:
      np.testing.assert_array_equal(after[path], before[path], path)

  # Nor are there moments of it to save.
  savers.Saver(str(tmp_path), part.model, part.optimizer).save(1)
  shapes = tf_format.read(savers.latest(str(tmp_path))).shapes
  slots = [name for name in shapes if name.endswith(("/adam_m", "/adam_v"))]
  assert {name.rpartition("/")[0] for name in slots} == changed


def test_nothing_is_computed_backwards_below_what_is_trained():
  [batch] = tiny.dataset(1)
  training = tiny.build(train_layers="last_1")
  denominators = training.task.denominators(batch)
  graph = training._gradients.get_concrete_function(
    batch, denominators, 0, 0
  ).graph
  names = [
    op.name for op in graph.get_operations() if "gradient_tape/" in op.name
  ]
  assert any("layer_1" in name for name in names)
  assert not any("layer_0" in name for name in names)
