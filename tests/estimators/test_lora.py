"""LoRA: an estimator trains adapters, and all that reads a run merges them."""

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl.checkpoints.formats import tf_format
from keras_bert_impl.training import savers
from tests.estimators import test_estimators

TEXTS, LABELS = test_estimators.TEXTS, test_estimators.LABELS
SHORT = test_estimators.SHORT | {"lora_rank": 2, "learning_rate": 0.05}


def made(checkpoint):
  return kb.TextClassifier.from_checkpoint(checkpoint, max_seq_length=16)


def probabilities(answers):
  return [answer["probabilities"]["positive"] for answer in answers]


@pytest.fixture(name="folder", scope="module")
def fixture_folder(checkpoint, tmp_path_factory):
  return tmp_path_factory.mktemp("lora") / "run"


@pytest.fixture(name="classifier", scope="module")
def fixture_classifier(checkpoint, folder):
  classifier = made(checkpoint)
  classifier.fit(
    TEXTS, LABELS, validation_data=0.25, output_dir=folder, **SHORT
  )
  return classifier


@pytest.mark.integration
def test_a_run_holds_adapters_and_moments_of_them_alone(classifier, folder):
  shapes = tf_format.read(savers.latest(str(folder))).shapes
  query = "bert/encoder/layer_0/attention/self/query"
  assert f"{query}/lora_kernel_a" in shapes
  assert f"{query}/lora_kernel_b/adam_m" in shapes
  assert f"{query}/kernel/adam_m" not in shapes
  assert "bert/pooler/dense/kernel/adam_m" in shapes
  assert classifier.results["configuration"]["lora_rank"] == 2


@pytest.mark.slow
def test_whoever_reads_the_run_finds_what_was_trained(
  classifier, checkpoint, folder, tmp_path
):
  expected = probabilities(classifier.predict(TEXTS[:4]))
  classifier.save(tmp_path / "saved")
  for path in (folder, tmp_path / "saved"):
    opened = kb.TextClassifier.from_checkpoint(path, max_seq_length=16)
    found = probabilities(opened.predict(TEXTS[:4]))
    np.testing.assert_allclose(found, expected, atol=1e-5)
  version = classifier.export(tmp_path / "served")
  answer = tf.saved_model.load(version).signatures["serving_default"](
    text=tf.constant(TEXTS[:4])
  )
  found = [row[1] for row in answer["probabilities"].numpy()]
  np.testing.assert_allclose(found, expected, atol=1e-5)
  # The adapters alone, on the model that they were trained on.
  whole = kb.from_checkpoint(folder, heads=True)
  assert not any("lora" in weight.path for weight in whole.weights)
  alone = kb.SequenceClassifier.from_checkpoint(checkpoint, num_classes=2)
  kb.load_lora(alone, folder / "adapter")
  inputs = {"input_ids": np.array([[2, 9, 10, 3]])}
  np.testing.assert_allclose(
    alone(inputs)["logits"], whole(inputs)["logits"], atol=1e-5
  )


@pytest.mark.slow
def test_a_second_fit_begins_with_what_the_first_has_learned(
  classifier, tmp_path
):
  expected = probabilities(classifier.predict(TEXTS[:4]))
  settings = SHORT | {"learning_rate": 0.0, "lora_targets": "key"}
  again = kb.TextClassifier.from_checkpoint(
    classifier.checkpoint, max_seq_length=16
  )
  again.fit(TEXTS, LABELS, **settings)
  found = probabilities(again.predict(TEXTS[:4]))
  np.testing.assert_allclose(found, expected, atol=1e-5)


def test_layers_and_adapters_are_not_chosen_together(checkpoint):
  with pytest.raises(ValueError, match=r"train_layers \('head'\) must be all"):
    made(checkpoint).fit(TEXTS, LABELS, train_layers="head", **SHORT)
  settings = SHORT | {"lora_targets": "q_proj"}
  with pytest.raises(ValueError, match=r"targets \('q_proj'\) must be ends"):
    made(checkpoint).fit(TEXTS, LABELS, **settings)
