"""Floating-point operations against the weights of the models themselves."""

import numpy as np
import pytest

from keras_bert_impl import configs
from keras_bert_impl.ablation import compute, scales, tables
from keras_bert_impl.tasks.pretraining import masked_lm, replaced_token

LENGTH, MASKED = 24, 5
LOOK_UPS = "_embeddings"
HEAD_OF_MASKED = "cls/predictions"


def config(**changes):
  return configs.EncoderConfig(
    **{
      "vocab_size": 90,
      "hidden_size": 48,
      "num_hidden_layers": 3,
      "num_attention_heads": 4,
      "intermediate_size": 80,
      "embedding_size": 20,
      **changes,
    }
  )


def multiplications(model, attention):
  """Counts those of a row by the matrices that its tokens go through."""
  total = 0
  for weight in model.weights:
    if len(weight.shape) == 2 and LOOK_UPS not in weight.path:
      is_masked = HEAD_OF_MASKED in weight.path
      total += np.prod(weight.shape) * (MASKED if is_masked else LENGTH)
  for layers, hidden in attention:
    total += layers * 2 * LENGTH * LENGTH * hidden
  return total


@pytest.mark.parametrize("embedding_size", [20, 48])
def test_flops_are_those_of_the_models_matrices(embedding_size):
  chosen = config(embedding_size=embedding_size)
  table = chosen.vocab_size * embedding_size
  model = masked_lm.MaskedLanguageModelTask(chosen)
  # The table of words is the softmax too.
  expected = MASKED * table + multiplications(model.build_model(), [(3, 48)])
  found = compute.masked_lm(chosen, LENGTH, MASKED)
  assert found == 3 * 2 * expected
  task = replaced_token.ReplacedTokenTask(chosen)
  both = MASKED * table + multiplications(
    task.build_model(), [(3, 48), (3, 12)]
  )
  ratio = compute.electra_ratio(chosen, LENGTH, MASKED)
  assert ratio == pytest.approx(both / expected)


def test_masked_tokens_get_as_many_flops_as_replaced_ones():
  for scale in scales.SCALES.values():
    replaced, masked = tables.find("electra1", None, scale).rows
    steps = masked.pretraining.flags["num_train_steps"]
    ratio = steps / scale.pretraining["num_train_steps"]
    assert 1.0 < ratio < 1.5
    assert f"{steps} steps (x " in masked.name
    # All else is the same.
    assert replaced.pretraining.preset == masked.pretraining.preset
    assert replaced.pretraining.records == masked.pretraining.records
