"""A fine-tuning task that is new: the recipe of docs/extending.md, tried."""

import random

import numpy as np
import tensorflow as tf

from keras_bert_impl import tokenizers
from keras_bert_impl.model_folders import trained_models
from keras_bert_impl.runs.fine_tuning import fine_tuning_config, job
from keras_bert_impl.serving import export
from keras_bert_impl.tasks import fine_tuning_tasks
from keras_bert_impl.tasks.basics import fine_tuning as fine_tuning_lib
from tests import multi_label
from tests.runs.fine_tuning import toy

LABELS = ("cat", "dog", "house")


def make_examples(number, seed):
  """Returns texts whose labels are the words in them."""
  rng = random.Random(seed)
  examples = []
  for _ in range(number):
    labels = rng.sample(LABELS, rng.randrange(3))
    words = [*labels, *rng.choices(toy.FILLERS, k=4)]
    rng.shuffle(words)
    labels = tuple(sorted(labels))
    examples.append(multi_label.MultiLabelExample(" ".join(words), labels))
  return examples


def test_a_fine_tuning_task_is_one_file(tmp_path, monkeypatch):
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
    multi_label.MultiLabelPreprocessor(16, LABELS),
    multi_label.MultiLabelTask(this.encoder_config, LABELS),
    multi_label.MultiLabelEvaluator(LABELS),
  )
  splits = {"train": make_examples(240, 1), "dev": make_examples(40, 2)}
  results = this.run(task, splits)
  assert results["eval"]["dev"]["scores"]["exact_match"] > 0.7

  # A line in the table of tasks loads it again.
  task_class = multi_label.MultiLabelTask
  monkeypatch.setitem(fine_tuning_tasks.TASKS, "multi_label", task_class)
  model = trained_models.load(folder)
  assert model.recorded["labels"] == list(LABELS)
  tokenizer = tokenizers.load(f"{folder}/vocab.txt")
  servable = multi_label.MultiLabelServable(model.model, tokenizer, 16, LABELS)
  version = export.export(servable, str(tmp_path / "served"))
  served = tf.saved_model.load(version).signatures["serving_default"]
  texts = [example.text for example in splits["dev"]]
  found = served(tf.constant(texts))["probabilities"].numpy() > 0.5
  with open(results["artifacts"]["dev predictions"], encoding="utf-8") as file:
    expected = [line.split() for line in file]
  assert [list(np.array(LABELS)[row]) for row in found] == expected
