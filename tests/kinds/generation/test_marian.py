"""Models of Marian, whose sources and targets are cut by two models."""

import os

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl import heads
from tests.kinds.generation import small_models
from tests.tokenizers import test_marian

PAIRS = [*zip(test_marian.SOURCES, test_marian.TARGETS, strict=True)]


@pytest.mark.slow
def test_a_model_learns_is_saved_and_served_with_both_models(tmp_path):
  folder = tmp_path / "model"
  folder.mkdir()
  _, ids = test_marian.write(folder)
  config = kb.EncoderConfig.preset(
    "transformer_tiny",
    vocab_size=len(ids),
    hidden_size=64,
    num_attention_heads=4,
    intermediate_size=128,
  )
  small_models.write(folder, config, heads.TEXT_TO_TEXT, {})
  settings = {"batch_size": 3, "learning_rate": 3e-3, "max_target_length": 48}
  generator = kb.TextGenerator.from_checkpoint(str(folder))
  generator.fit(PAIRS * 60, epochs=4, **settings)
  [[first]] = generator.generate([PAIRS[0][0]])
  assert first["text"] == PAIRS[0][1]
  right, wrong = generator.score(PAIRS[0][0], [PAIRS[0][1], PAIRS[1][1]])
  np.testing.assert_allclose(
    right / first["num_tokens"], first["score"], rtol=1e-4
  )
  assert right > wrong
  saved = tmp_path / "saved"
  generator.save(saved)
  assert {"source.spm", "target.spm", "vocab.json"} <= {*os.listdir(saved)}
  again = kb.TextGenerator.from_checkpoint(str(saved))
  assert again.generate([PAIRS[1][0]]) == generator.generate([PAIRS[1][0]])
  path = generator.export(tmp_path / "served")
  served = tf.saved_model.load(path).signatures
  text = tf.constant([PAIRS[0][0]])
  assert served["generate"](text=text)["text"][0] == PAIRS[0][1].encode()
  score = served["score"](text=text, candidate=tf.constant([PAIRS[1][1]]))
  np.testing.assert_allclose(score["score"], [wrong], rtol=1e-5)
