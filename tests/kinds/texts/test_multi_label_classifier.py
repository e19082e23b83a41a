"""Several labels at once, from Python: any number of them for each text."""

import json

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from tests.estimators import test_estimators

TEXTS = ["a good one", "so bad", "good bad", "film"] * 6
LABELS = [["칭찬"], ["비난"], ["비난", "칭찬"], []] * 6
SHORT = test_estimators.SHORT


def made(checkpoint, **options):
  return kb.TextClassifier.from_checkpoint(
    checkpoint, max_seq_length=16, multi_label=True, **options
  )


@pytest.fixture(name="folder", scope="module")
def fixture_folder(tmp_path_factory):
  return tmp_path_factory.mktemp("multi_label")


@pytest.fixture(name="classifier", scope="module")
def fixture_classifier(checkpoint, folder):
  classifier = made(checkpoint)
  classifier.history = classifier.fit(
    TEXTS, LABELS, validation_data=0.25, output_dir=folder / "fit", **SHORT
  )
  return classifier


@pytest.mark.integration
def test_an_answer_names_the_labels_above_one_half(classifier):
  assert classifier.labels == ("비난", "칭찬")
  answers = classifier.predict(TEXTS[:4])
  for answer in answers:
    shares = answer["probabilities"]
    assert [*shares] == ["비난", "칭찬"]
    assert answer["labels"] == [x for x in shares if shares[x] > 0.5]
  json.dumps(answers)
  found = [classifier.predict(text)["labels"] for text in TEXTS]
  scores = classifier.evaluate(TEXTS, LABELS)
  exact = np.mean([a == b for a, b in zip(found, LABELS)])
  assert scores["exact_match"] == pytest.approx(exact)
  assert {"micro_f1", "macro_f1", "precision_비난", "recall_칭찬"} <= {*scores}
  assert "val_micro_f1" in classifier.history.history


@pytest.mark.integration
def test_what_is_saved_says_so_to_us_and_to_transformers(classifier, tmp_path):
  saved = tmp_path / "saved"
  classifier.save(saved)
  config = json.loads((saved / "config.json").read_text())
  assert config["problem_type"] == "multi_label_classification"
  assert config["id2label"] == {"0": "비난", "1": "칭찬"}
  expected = classifier.predict(TEXTS[:3])
  for _ in range(2):
    opened = kb.TextClassifier.from_checkpoint(saved)
    assert opened.multi_label and opened.labels == classifier.labels
    for answer, other in zip(opened.predict(TEXTS[:3]), expected):
      assert answer["probabilities"] == pytest.approx(other["probabilities"])
    # Then as transformers writes it.
    (saved / "task.json").unlink(missing_ok=True)
  assert isinstance(
    kb.from_checkpoint(str(saved), heads=True), kb.SequenceClassifier
  )


def test_files_may_have_a_column_for_each_label(checkpoint, tmp_path):
  marks = [
    f"{t},{int('비난' in x)},{int('칭찬' in x)}" for t, x in zip(TEXTS, LABELS)
  ]
  path = tmp_path / "train.csv"
  path.write_text("\n".join(["text,비난,칭찬", *marks]), encoding="utf-8")
  expected = [tuple(labels) for labels in LABELS]
  for columns in ("비난,칭찬", ["비난", "칭찬"]):
    options = {"label_column": columns}
    examples = made(checkpoint)._examples(path, columns=options)
    assert [example.label for example in examples] == expected


@pytest.mark.parametrize(
  "data",
  [
    lambda: [{"text": t, "label": x} for t, x in zip(TEXTS, LABELS)],
    lambda: tf.data.Dataset.from_generator(
      lambda: zip(TEXTS, LABELS),
      output_signature=(
        tf.TensorSpec([], tf.string),
        tf.TensorSpec([None], tf.string),
      ),
    ),
    lambda: tf.data.Dataset.from_tensor_slices(
      (TEXTS, tf.ragged.constant(LABELS))
    ),
    lambda: tf.data.Dataset.from_tensor_slices(
      (TEXTS, tf.ragged.constant(LABELS))
    ).batch(5),
    lambda: [{"text": t, "label": {*x}} for t, x in zip(TEXTS, LABELS)],
  ],
  ids=["dicts", "data set", "ragged data set", "batched data set", "sets"],
)
def test_data_come_in_many_forms(checkpoint, data):
  classifier = made(checkpoint)
  assert classifier._examples(data()) == classifier._examples(TEXTS, LABELS)


@pytest.mark.slow
def test_a_classifier_of_one_label_begins_to_have_several(checkpoint):
  one = kb.TextClassifier.from_checkpoint(checkpoint, max_seq_length=16)
  one.fit(TEXTS[:8], ["n", "p"] * 4, epochs=1)
  several = made(one.checkpoint)
  several.fit(TEXTS[:4], [["n"], ["p"], ["n", "p"], []], epochs=1, lora_rank=2)
  assert several.predict("good").keys() == {"labels", "probabilities"}
  with pytest.raises(ValueError, match="labels \\(None\\) are scores"):
    made(checkpoint, labels=None)
