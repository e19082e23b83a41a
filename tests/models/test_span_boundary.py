"""The encoder with SpanBERT's heads."""

import numpy as np

from keras_bert_impl import models
from tests import architectures

CONFIG = architectures.tiny(vocab_size=50)


def make_inputs():
  positions = np.array([[2, 3], [4, 0], [1, 5]], "int32")
  ids = np.random.default_rng(0).integers(1, 50, (3, 7), "int32")
  return {
    "input_ids": ids,
    "masked_lm_positions": positions,
    "span_boundaries": np.stack([positions - 1, positions + 1], axis=-1),
  }


def test_both_heads_score_every_prediction():
  outputs = models.SpanBoundaryModel(CONFIG)(make_inputs())
  assert {name: tuple(x.shape) for name, x in outputs.items()} == {
    "token_logits": (3, 2, 50),
    "span_boundary_logits": (3, 2, 50),
  }


def test_a_boundary_is_read_by_its_own_head_alone():
  model = models.SpanBoundaryModel(CONFIG)
  inputs = make_inputs()
  first = model(inputs)
  inputs["span_boundaries"] = inputs["span_boundaries"][:, ::-1]
  second = model(inputs)
  np.testing.assert_array_equal(first["token_logits"], second["token_logits"])
  difference = first["span_boundary_logits"] - second["span_boundary_logits"]
  assert np.abs(difference).max() > 1e-4
