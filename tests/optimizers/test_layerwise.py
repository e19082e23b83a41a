"""Learning rates by layer: each below the one above it."""

import dataclasses

import keras
import numpy as np
import pytest

from keras_bert_impl import configs, models
from keras_bert_impl.optimizers import adamw, layerwise
from tests import architectures

CONFIG = configs.EncoderConfig(**architectures.THREE_LAYERS)


def multipliers(config=CONFIG, decay=0.5):
  model = models.SequenceClassifier(config, 2)
  paths = [variable.path for variable in model.trainable_variables]
  return layerwise.multipliers(paths, config, decay)


def test_each_layer_has_a_part_of_the_rate_of_the_one_above():
  found = multipliers()
  assert not any(
    path.startswith(("classifier", "bert/pooler")) for path in found
  )
  assert found["bert/encoder/layer_2/output/dense/kernel"] == 0.5
  assert found["bert/encoder/layer_0/attention/self/query/bias"] == 0.125
  assert found["bert/embeddings/word_embeddings"] == 0.0625
  assert found["bert/embeddings/LayerNorm/gamma"] == 0.0625


def test_what_all_layers_read_has_the_rate_of_the_embeddings():
  config = dataclasses.replace(
    CONFIG, **architectures.DEBERTA, conv_kernel_size=3
  )
  found = multipliers(config)
  assert found["bert/encoder/relative/rel_embeddings"] == 0.0625
  assert found["bert/encoder/conv/kernel"] == 0.125
  found = multipliers(dataclasses.replace(CONFIG, **architectures.MODERNBERT))
  assert found["bert/encoder/LayerNorm/gamma"] == 0.5


def test_both_encoders_of_a_pair_have_the_same_rates():
  found = multipliers(dataclasses.replace(CONFIG, **architectures.PAIR))
  for path in (
    "bert/pooler/dense/kernel",
    "bert/encoder/layer_0/attention/self/query/bias",
    "bert/embeddings/word_embeddings",
  ):
    assert found.get(f"right_to_left/{path}") == found.get(path)


def test_without_decay_nothing_is_multiplied():
  assert multipliers(decay=1.0) == {}


def test_a_field_of_tags_learns_faster():
  paths = ["crf/start", "classifier/output_weights"]
  assert layerwise.multipliers(paths, CONFIG, 1.0) == {"crf/start": 100.0}


def test_shared_layers_have_no_rates_of_their_own():
  config = configs.EncoderConfig(
    **{**CONFIG.to_dict(), "num_hidden_groups": 1, "model_type": "albert"}
  )
  with pytest.raises(ValueError, match="layerwise_lr_decay.*num_hidden_groups"):
    multipliers(config)


def test_the_optimizer_multiplies_rate_and_decay():
  variables = [keras.Variable([1.0, 2.0], name=name) for name in ("a", "b")]
  optimizer = adamw.AdamW(0.1, learning_rate_multipliers={"b": 0.25})
  optimizer.apply([[1.0, -1.0], [1.0, -1.0]], variables)
  full, quarter = (np.array(v) - [1.0, 2.0] for v in variables)
  np.testing.assert_allclose(quarter, full / 4, rtol=1e-5)
  copy = adamw.AdamW.from_config(optimizer.get_config())
  assert copy.learning_rate_multipliers == {"b": 0.25}
