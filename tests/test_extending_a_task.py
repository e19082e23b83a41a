"""A fine-tuning task that is new: the recipe of docs/extending.md, tried."""

import random

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import tokenizers
from keras_bert_impl.model_folders import trained_models
from keras_bert_impl.runs.fine_tuning import fine_tuning_config, job, kind
from keras_bert_impl.serving import export
from keras_bert_impl.tasks.basics import fine_tuning as fine_tuning_lib
from tests import several_scores
from tests.runs.fine_tuning import toy

pytestmark = pytest.mark.integration

WORDS = ("cat", "dog", "house")


def make_examples(number, seed):
  """Returns texts whose scores tell which words are in them."""
  rng = random.Random(seed)
  examples = []
  for _ in range(number):
    words = rng.sample(WORDS, rng.randrange(3))
    scores = tuple(float(word in words) for word in WORDS)
    words += rng.choices(toy.FILLERS, k=4)
    rng.shuffle(words)
    examples.append(several_scores.ScoredExample(" ".join(words), scores))
  return examples


def test_a_fine_tuning_task_is_one_file(tmp_path):
  toy.write_model(tmp_path / "model")
  settings = fine_tuning_config.FineTuningConfig(
    bert_config_file=str(tmp_path / "model/bert_config.json"),
    do_train=True,
    do_eval=True,
    max_seq_length=16,
    num_train_epochs=9.0,
  )
  folder = str(tmp_path / "run")
  this = job.Job(
    settings, output_dir=folder, learning_rate=3e-3, train_batch_size=8
  )
  task = fine_tuning_lib.FineTuning(
    several_scores.ScoresPreprocessor(16, WORDS),
    several_scores.ScoresTask(this.encoder_config, WORDS),
    several_scores.ScoresEvaluator(),
  )
  splits = {"train": make_examples(240, 1), "dev": make_examples(40, 2)}
  results = this.run(task, splits)
  assert results["eval"]["dev"]["scores"]["near"] > 0.9

  own = kind.Kind("scores", {"several_scores": several_scores.ScoresTask}, {})
  model = trained_models.load(folder, [own])
  assert model.recorded["labels"] == list(WORDS)
  tokenizer = tokenizers.load(f"{folder}/vocab.txt")
  servable = several_scores.ScoresServable(model.model, tokenizer, 16, WORDS)
  version = export.export(servable, str(tmp_path / "served"))
  served = tf.saved_model.load(version).signatures["serving_default"]
  texts = [example.text for example in splits["dev"]]
  found = served(tf.constant(texts))["scores"]
  expected = np.loadtxt(results["artifacts"]["dev predictions"])
  np.testing.assert_allclose(found, expected, atol=1e-4)
