"""The models that estimators hold: composed, changed, trained further."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb

TEXTS = ["the cat", "a dog", "the cat sat", "dogs bark"] * 4
LABELS = ["cat", "dog"] * 8
SETTINGS = {"epochs": 1, "batch_size": 4, "max_unknown_share": 1}


@pytest.fixture(name="folder", scope="module")
def fixture_folder(checkpoint, tmp_path_factory):
  """Folder of a trained classifier."""
  folder = tmp_path_factory.mktemp("trained") / "run"
  classifier = kb.TextClassifier.from_checkpoint(checkpoint, max_seq_length=16)
  classifier.fit(TEXTS, LABELS, output_dir=folder, **SETTINGS)
  return str(folder)


def shares(classifier):
  """Returns the probabilities of texts, as the classifier gives them."""
  return np.array(
    [[*x["probabilities"].values()] for x in classifier.predict(TEXTS[:4])]
  )


def raise_bias(classifier):
  """Changes a model as no training would."""
  [bias] = [
    weight for weight in classifier.model.weights if tuple(weight.shape) == (2,)
  ]
  bias.assign_add(keras.ops.arange(2, dtype="float32") * 3)


def test_model_and_tokenizer_give_what_predict_gives(folder):
  classifier = kb.TextClassifier.from_checkpoint(folder)
  assert classifier.labels == ("cat", "dog")
  assert "labels=['cat', 'dog']" in repr(classifier)
  ids = classifier.tokenizer(TEXTS[:4], max_seq_length=16)
  found = tf.nn.softmax(classifier.model(ids)["logits"])
  np.testing.assert_allclose(shares(classifier), found, atol=1e-6)
  # It composes: the encoder in it is a part of other models.
  pooled = classifier.model.encoder(ids)["pooled_output"]
  assert pooled.shape == (4, classifier.model.config.hidden_size)


def test_an_untrained_model_has_a_tokenizer_only(checkpoint):
  classifier = kb.TextClassifier.from_checkpoint(checkpoint)
  tokens = classifier.tokenizer.vocabulary.tokens
  assert tokens[:2] == kb.load_tokenizer(checkpoint).vocabulary.tokens[:2]
  assert classifier.labels == ()
  with pytest.raises(ValueError, match="call fit first"):
    classifier.model  # noqa: B018


def test_a_changed_model_answers_and_is_saved(folder, tmp_path):
  classifier = kb.TextClassifier.from_checkpoint(folder)
  before = shares(classifier)
  raise_bias(classifier)
  after = shares(classifier)
  assert (after[:, 1] > before[:, 1] + 0.1).all()
  scores = classifier.evaluate(TEXTS, LABELS)
  assert scores["accuracy"] == np.mean(
    [x["label"] == y for x, y in zip(classifier.predict(TEXTS), LABELS)]
  )
  classifier.save(tmp_path / "saved")
  saved = kb.TextClassifier.from_checkpoint(tmp_path / "saved")
  np.testing.assert_allclose(shares(saved), after, atol=1e-6)
  exported = tf.saved_model.load(classifier.export(tmp_path / "exported"))
  answer = exported.signatures["serving_default"](text=tf.constant(TEXTS[:4]))
  np.testing.assert_allclose(answer["probabilities"], after, atol=1e-6)


def test_fit_begins_with_a_changed_model_and_goes_on_with_it(folder, tmp_path):
  def train(name, change):
    classifier = kb.TextClassifier.from_checkpoint(folder)
    if change:
      raise_bias(classifier)
    model = classifier.model
    classifier.fit(
      TEXTS, LABELS, output_dir=tmp_path / name, learning_rate=0.0, **SETTINGS
    )
    assert classifier.model is not model
    return shares(classifier)

  plain, changed = train("plain", False), train("changed", True)
  assert not (tmp_path / "plain/start").exists()
  assert (changed[:, 1] > plain[:, 1] + 0.1).all()
  # The same call, after a kill: nothing is left to do.
  np.testing.assert_array_equal(train("changed", True), changed)
  with pytest.raises(ValueError, match="began with other weights"):
    train("changed", False)


@pytest.mark.integration
def test_keras_trains_the_model_of_an_estimator(folder):
  classifier = kb.TextClassifier.from_checkpoint(folder)
  model = classifier.model
  model.compile(
    "adam",
    {"logits": keras.losses.SparseCategoricalCrossentropy(from_logits=True)},
  )
  ids = classifier.tokenizer(TEXTS, max_seq_length=16)
  targets = {"logits": np.array([label == "dog" for label in LABELS], int)}
  model.fit(
    {k: np.asarray(v) for k, v in ids.items()}, targets, epochs=30, verbose=0
  )
  assert [x["label"] for x in classifier.predict(TEXTS)] == LABELS
