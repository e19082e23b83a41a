"""Frozen layers: they stay as they are, and cost no gradients."""

import dataclasses
import re

import numpy as np
import pytest

from keras_bert_impl import configs, models
from keras_bert_impl.models.heads import feature_models
from keras_bert_impl.training import freezing, savers
from tests import architectures, slow
from tests.training import replica_equality, test_loop

CONFIG = configs.EncoderConfig(**architectures.THREE_LAYERS)
FAMILIES = {
  "bert": {},
  "deberta": {**architectures.DEBERTA, "conv_kernel_size": 3},
  "modernbert": architectures.MODERNBERT,
  "mpnet": {"relative_attention_num_buckets": 8},
  "xlnet": {
    "position_embedding_type": "transformer_xl",
    "model_type": "xlnet",
  },
}
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


@pytest.mark.parametrize("family", FAMILIES)
def test_the_last_blocks_are_trained(family):
  norm = {"bert/encoder/LayerNorm"} if family == "modernbert" else set()
  assert trained(FAMILIES[family], "last_2") == LAST_2 | norm


def test_the_head_is_trained_of_any_model():
  assert trained({}, "head") == trained(ALBERT, "head") == HEAD
  assert trained(FAMILIES["modernbert"], "head") == HEAD


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


def build(train_layers, **overrides):
  return replica_equality.build(
    family="bert", train_layers=train_layers, **overrides
  )


def test_what_is_frozen_stays_bit_for_bit(tmp_path):
  training = build("last_1", dropout=0.1, weight_decay_rate=0.5)
  before = {v.path: v.numpy() for v in training.model.weights}
  test_loop.train(training, 3)
  changed = {
    v.path
    for v in training.model.weights
    if not np.array_equal(v.numpy(), before[v.path])
  }
  below = ("bert/embeddings", "bert/encoder/layer_0")
  assert changed == {path for path in before if not path.startswith(below)}

  # Nor are there moments of it to save.
  of_run = savers.Saver(str(tmp_path), training.model, training.optimizer)
  of_run.save(3)
  slots = [
    name
    for name in savers.tf_format.read(of_run.latest()).shapes
    if name.endswith(("/adam_m", "/adam_v"))
  ]
  assert {name.rpartition("/")[0] for name in slots} == changed


@pytest.mark.parametrize(
  "options", slow.all_but(({},), ({}, {"rematerialize": True}))
)
def test_what_is_trained_moves_as_if_all_were(options):
  # Clipping to the norm of all gradients would not be the same.
  options = {"dropout": 0.1, "clip_norm": 0.0, **options}
  whole, part = (build(layers, **options) for layers in ("all", "last_1"))
  for training in (whole, part):
    test_loop.train(training, 1)
  expected = {v.path: v.numpy() for v in whole.model.weights}
  assert len(part.model.trainable_variables) < len(expected)
  for variable in part.model.trainable_variables:
    path = variable.path
    np.testing.assert_allclose(
      variable, expected[path], atol=1e-6, err_msg=path
    )


def test_nothing_is_computed_backwards_below_what_is_trained():
  [batch] = replica_equality.dataset(1)
  backwards = {}
  for layers in ("all", "last_1"):
    training = build(layers)
    denominators = training.task.denominators(batch)
    graph = training._gradients.get_concrete_function(
      batch, denominators, 0, 0
    ).graph
    names = [op.name for op in graph.get_operations()]
    backwards[layers] = {
      block
      for block in ("layer_0", "layer_1")
      if any("gradient_tape/" in name and block in name for name in names)
    }
  assert backwards == {"all": {"layer_0", "layer_1"}, "last_1": {"layer_1"}}
