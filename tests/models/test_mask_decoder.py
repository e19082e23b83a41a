"""DeBERTa's decoder of masked tokens."""

import dataclasses
import math

import keras
import numpy as np
import pytest

from keras_bert_impl import models
from tests import architectures

CONFIG = architectures.TINY_DEBERTA
# Attention to contents alone, so that the oracle below stays short.
PLAIN = dataclasses.replace(
  CONFIG,
  relative_attention=False,
  pos_att_type="",
  position_buckets=-1,
  share_att_key=False,
)
TABLE = "bert/embeddings/position_embeddings"
RNG = np.random.default_rng(0)
INPUTS = {
  "input_ids": RNG.integers(5, 30, (2, 6)).astype("int32"),
  "input_mask": np.array([[1] * 6, [1, 1, 1, 1, 0, 0]], "int32"),
}


def weights_of(model):
  return {weight.path: weight for weight in model.weights}


def layer_norm(x, weights, name):
  x = x - x.mean(-1, keepdims=True)
  x = x / np.sqrt((x**2).mean(-1, keepdims=True) + CONFIG.layer_norm_eps)
  return x * weights[f"{name}/gamma"] + weights[f"{name}/beta"]


def gelu(x):
  return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def block(query, hidden, seen, weights, stem="bert/encoder/layer_1"):
  """A transformer block whose queries are other states than its keys."""

  def dense(x, name):
    name = f"{stem}/{name}"
    return x @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]

  def heads(x):
    return x.reshape(*x.shape[:2], 2, 4).transpose(0, 2, 1, 3)

  q, k, v = (
    heads(dense(x, f"attention/self/{name}"))
    for x, name in ((query, "query"), (hidden, "key"), (hidden, "value"))
  )
  scores = q @ k.swapaxes(2, 3) / 2
  scores = np.where(seen[:, None], scores, -1e30)
  probs = np.exp(scores - scores.max(-1, keepdims=True))
  probs /= probs.sum(-1, keepdims=True)
  context = (probs @ v).transpose(0, 2, 1, 3).reshape(query.shape)
  x = query + dense(context, "attention/output/dense")
  x = layer_norm(x, weights, f"{stem}/attention/output/LayerNorm")
  inner = gelu(dense(x, "intermediate/dense"))
  x = x + dense(inner, "output/dense")
  return layer_norm(x, weights, f"{stem}/output/LayerNorm")


def test_it_is_the_last_block_twice_with_positions_in_its_queries():
  model = models.MaskedLanguageModel(PLAIN, use_mask_decoder=True)
  encoder = models.TransformerEncoder(PLAIN, use_pooler=False)
  weights = weights_of(model)
  for weight in encoder.weights:
    weight.assign(weights[weight.path])
  weights = {
    path: np.array(x, "float64")
    for path, x in weights.items()
    if "seed" not in path
  }
  states = keras.Model(encoder.input, encoder.hidden_states[-2])
  hidden = np.array(
    states({**INPUTS, "segment_ids": 0 * INPUTS["input_ids"]}), "float64"
  )
  mask = INPUTS["input_mask"].astype(bool)
  seen = mask[:, :, None] & mask[:, None]
  query = hidden + weights[TABLE][:6]
  for _ in range(2):
    query = block(query, hidden, seen, weights)
  head = "cls/predictions"
  x = query @ weights[f"{head}/transform/dense/kernel"]
  x = gelu(x + weights[f"{head}/transform/dense/bias"])
  x = layer_norm(x, weights, f"{head}/transform/LayerNorm")
  expected = x @ weights["bert/embeddings/word_embeddings"].T
  expected += weights[f"{head}/output_bias"]
  np.testing.assert_allclose(model(INPUTS)["token_logits"], expected, atol=1e-4)


def test_positions_matter_in_the_decoder_only():
  model = models.PretrainingModel(CONFIG, False, use_mask_decoder=True)
  inputs = INPUTS | {"masked_lm_positions": np.array([[1, 4], [2, 3]], "int32")}
  logits = np.array(model(inputs)["token_logits"])
  hidden = np.array(model.encoder(INPUTS)["sequence_output"])
  table = weights_of(model)[TABLE]
  table.assign(table[::-1])
  assert np.abs(np.array(model(inputs)["token_logits"]) - logits).max() > 0.01
  np.testing.assert_array_equal(
    model.encoder(INPUTS)["sequence_output"], hidden
  )


def test_an_encoder_with_norms_first_is_refused():
  config = dataclasses.replace(CONFIG, norm_first=True)
  with pytest.raises(ValueError, match="norm_first .True. must be False in"):
    models.PretrainingModel(config, False, use_mask_decoder=True)


def test_an_input_with_positions_is_refused():
  config = dataclasses.replace(CONFIG, position_embedding_type="learned")
  with pytest.raises(ValueError, match="type .'learned'. must be 'none' in"):
    models.PretrainingModel(config, False, use_mask_decoder=True)
