"""Labels that come with the texts: the same answers as transformers' pipeline.

expected.json is what the pipeline of transformers 5.24 answered.
"""

import json
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl.kinds import opening
from keras_bert_impl.model_folders import model_files
from tests.estimators import test_estimators

DATA = pathlib.Path(__file__).parents[2] / "data"
FOLDER, BART = DATA / "zero_shot", DATA / "zero_shot_bart"
EXPECTED, OF_BART = (
  json.loads((folder / "expected.json").read_text(encoding="utf-8"))
  for folder in (FOLDER, BART)
)
TEXTS = EXPECTED["texts"]


def write(folder, names):
  """Writes the model with other names of its classes."""
  shutil.copytree(FOLDER, folder)
  path = folder / "config.json"
  config = json.loads(path.read_text())
  config["id2label"] = dict(enumerate(names))
  config["label2id"] = {name: place for place, name in enumerate(names)}
  path.write_text(json.dumps(config))
  return folder


@pytest.fixture(name="classifiers", scope="module")
def fixture_classifiers(tmp_path_factory):
  folder = tmp_path_factory.mktemp("zero_shot")
  return {
    kind: kb.ZeroShotClassifier.from_checkpoint(write(folder / kind, names))
    for kind, names in EXPECTED["class_names"].items()
  }


@pytest.fixture(name="classifier", scope="module")
def fixture_classifier():
  return kb.ZeroShotClassifier.from_checkpoint(FOLDER)


@pytest.mark.parametrize(
  "case",
  [
    pytest.param(
      case, marks=[] if case["names"] == "last" else pytest.mark.integration
    )
    for case in EXPECTED["cases"]
  ],
)
def test_answers_are_those_of_the_pipeline(classifiers, case):
  case = dict(case)
  classifier, answers = classifiers[case.pop("names")], case.pop("answers")
  assert_answers(classifier.predict(TEXTS, **case), answers)


def assert_answers(found, answers):
  """Compares answers with the scores of labels, {label: float} of each text."""
  for one, expected in zip(found, answers, strict=True):
    assert one["probabilities"].keys() == expected.keys()
    for label, score in expected.items():
      assert one["probabilities"][label] == pytest.approx(score, abs=1e-5)
    if "label" in one:
      assert one["label"] == max(expected, key=expected.get)
      assert one["score"] == one["probabilities"][one["label"]]
    else:
      assert {*one["labels"]} == {x for x in expected if expected[x] > 0.5}


@pytest.mark.integration
def test_bart_reads_a_pair_with_its_decoder_too(tmp_path):
  classifier = kb.ZeroShotClassifier.from_checkpoint(BART)
  for case in OF_BART["cases"]:
    options = {k: x for k, x in case.items() if k not in ("names", "answers")}
    found = classifier.predict(OF_BART["texts"], **options)
    assert_answers(found, case["answers"])
  classifier.save(tmp_path / "saved")
  again = kb.ZeroShotClassifier.from_checkpoint(tmp_path / "saved")
  assert again.predict(OF_BART["texts"], **options) == found
  weights, others = (
    {w.path: np.asarray(w) for w in each.model.weights}
    for each in (classifier, again)
  )
  assert weights.keys() == others.keys() and "classifier/output_bias" in others
  for path, weight in weights.items():
    np.testing.assert_array_equal(weight, others[path])


@pytest.mark.integration
def test_bart_is_served_and_trained_further(tmp_path):
  classifier = kb.ZeroShotClassifier.from_checkpoint(BART)
  path = classifier.export(tmp_path / "served")
  served = tf.saved_model.load(path).signatures["serving_default"]
  labels = ["sport", "money"]
  found = served(text=tf.constant(TEXTS[:3]), labels=tf.constant([labels] * 3))
  for row, answer in enumerate(classifier.predict(TEXTS[:3], labels)):
    expected = [*answer["probabilities"].values()]
    np.testing.assert_allclose(found["scores"][row], expected, atol=1e-6)
  before = classifier.predict(TEXTS, labels)
  decoder = "bert/decoder/layer_0/crossattention/self/query/kernel"
  old = {w.path: np.array(w) for w in classifier.model.weights}
  classifier.fit(PAIRS, CLASSES, epochs=1, batch_size=4, verbose=0)
  new = {w.path: np.asarray(w) for w in classifier.model.weights}
  assert np.abs(new[decoder] - old[decoder]).max() > 0
  after = classifier.predict(TEXTS, labels)
  assert after != before
  classifier.save(tmp_path / "saved")
  config = json.loads((tmp_path / "saved/config.json").read_text())
  assert config["architectures"] == ["BartForSequenceClassification"]
  again = kb.ZeroShotClassifier.from_checkpoint(tmp_path / "saved")
  assert again.predict(TEXTS, labels) == after


def test_each_text_may_have_labels_of_its_own(classifier):
  own = [["sport", "money"], ["경제"]]
  found = classifier.predict(TEXTS[:2], own)
  alone = [classifier.predict(*each) for each in zip(TEXTS, own)]
  for one, other in zip(found, alone, strict=True):
    assert one["probabilities"] == pytest.approx(other["probabilities"], 1e-6)


@pytest.mark.parametrize(
  "multi_label", [False, pytest.param(True, marks=pytest.mark.integration)]
)
def test_a_savedmodel_answers_as_python_does(classifier, tmp_path, multi_label):
  options = {
    "hypothesis_template": "이 글은 {}이다.",
    "multi_label": multi_label,
  }
  path = classifier.export(tmp_path / "served", **options)
  served = tf.saved_model.load(path).signatures
  labels = [["sport", "money", ""], ["경제", "", ""], ["", "", ""]]
  found = served["serving_default"](
    text=tf.constant(TEXTS[:3]), labels=tf.constant(labels)
  )
  names = [[label for label in row if label] for row in labels[:2]]
  answers = classifier.predict(TEXTS[:2], names, **options)
  for row, answer in enumerate(answers):
    scores = [answer["probabilities"].get(label, 0) for label in labels[row]]
    np.testing.assert_allclose(found["scores"][row], scores, atol=1e-6)
    label = answer.get("label") or "|".join(answer.get("labels", ()))
    assert found["label"][row].numpy().decode() == label
  assert not found["scores"][2].numpy().any()
  assert found["label"][2] == b"" and found["score"][2] == 0
  assert found["is_cut"].numpy().tolist() == [False, False, False]
  cut = served["serving_default"](
    text=tf.constant(TEXTS[2:3]), labels=tf.constant([["sport"]])
  )
  assert cut["is_cut"].numpy().tolist() == [True]


def test_a_hypothesis_is_read_to_its_end(classifier):
  long = "the cat sat on mat a striker scored twice"
  found = classifier.predict(TEXTS[2], [f"{long} {end}" for end in "!,"])
  assert len({*found["probabilities"].values()}) == 2


PAIRS = [(TEXTS[0], "It was sport."), (TEXTS[0], "It was money.")] * 4
CLASSES = ["entailment", "contradiction"] * 4


@pytest.mark.integration
def test_a_model_trained_on_pairs_is_used_scored_and_saved(
  checkpoint, tmp_path
):
  trained = kb.TextClassifier.from_checkpoint(checkpoint, max_seq_length=40)
  run = tmp_path / "run"
  trained.fit(PAIRS, CLASSES, output_dir=run, **test_estimators.SHORT)
  classifier = kb.ZeroShotClassifier.from_checkpoint(run)
  found = classifier.predict(TEXTS, ["sport", "money"])
  alone = classifier.predict("the cat", ["mat"], "cat sat on {}")
  of_pair = trained.predict(("the cat", "cat sat on mat"))["probabilities"]
  assert alone["score"] == pytest.approx(of_pair["entailment"], 1e-6)
  scores = [x.evaluate(PAIRS, CLASSES) for x in (trained, classifier)]
  assert scores[0] == scores[1]
  classifier.save(tmp_path / "saved")
  opened = kb.ZeroShotClassifier.from_checkpoint(tmp_path / "saved")
  again = opened.predict(TEXTS, ["sport", "money"])
  for one, other in zip(again, found, strict=True):
    assert one["probabilities"] == pytest.approx(other["probabilities"], 1e-5)
  card = (tmp_path / "saved/README.md").read_text("utf-8")
  assert "pipeline_tag: zero-shot-classification" in card
  config = model_files.ModelFilesConfig()
  servable, _ = opening.make_servable(config, str(run), "zero_shot")
  assert servable.head == "zero_shot" and servable.max_seq_length == 40


@pytest.mark.integration
def test_training_goes_on_by_the_same_class(checkpoint):
  classifier = kb.ZeroShotClassifier.from_checkpoint(checkpoint)
  with pytest.raises(
    ValueError, match="not trained for its task yet: call fit"
  ):
    classifier.predict(TEXTS, ["sport", "money"])
  classifier.fit(PAIRS, CLASSES, **test_estimators.SHORT)
  assert {*classifier.predict(TEXTS[0], ["a", "b"])["probabilities"]} == {*"ab"}


def test_an_export_is_told_the_template_and_the_head():
  config = model_files.ModelFilesConfig()
  options = {"hypothesis_template": "It was {}.", "multi_label": True}
  servable, path = opening.make_servable(
    config, str(FOLDER), "zero_shot", chosen=options
  )
  assert path.startswith(str(FOLDER))
  described = servable.describe()
  assert described["labels"] == ["contradiction", "neutral", "entailment"]
  assert (
    described["head"] == "zero_shot" and options.items() <= described.items()
  )
  assert {*servable.inputs} == {"text", "labels"}


@pytest.mark.parametrize(
  ("labels", "options", "words"),
  [
    ([], {}, "labels is empty: give at least one"),
    ("sport", {}, "must be a list of str"),
    (["sport", ""], {}, "not empty, each once"),
    (["sport", "sport"], {}, "labels has 'sport' 2 times"),
    ([["sport"], ["a"], ["b"]], {}, "labels (3) must be a list of str, or 2"),
    (["a"], {"hypothesis_template": "It is."}, "('It is.') must have {} once"),
    (["a"], {"hypothesis_template": "{} {}"}, "('{} {}') must have {} once"),
  ],
)
def test_a_wrong_call_is_refused_in_one_line(
  classifier, labels, options, words
):
  with pytest.raises(ValueError) as caught:
    classifier.predict(["cat", "mat"], labels, **options)
  assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
  ("targets", "texts", "words"),
  [
    ([1.0, 0.0] * 4, PAIRS, "has the head regression"),
    (CLASSES, [text for text, _ in PAIRS], "entailment of texts: choose"),
  ],
)
@pytest.mark.integration
def test_a_model_without_nli_is_refused_in_one_line(
  checkpoint, tmp_path, targets, texts, words
):
  labels = None if targets[0] == 1.0 else ()
  trained = kb.TextClassifier.from_checkpoint(checkpoint, labels)
  trained.fit(texts, targets, output_dir=tmp_path, **test_estimators.SHORT)
  with pytest.raises(ValueError) as caught:
    kb.ZeroShotClassifier.from_checkpoint(tmp_path).predict("cat", ["a", "b"])
  assert words in str(caught.value) and "\n" not in str(caught.value)


def test_classes_without_names_may_be_named(classifiers):
  names = EXPECTED["class_names"]["first"]
  path = classifiers["unnamed"].checkpoint
  named = kb.ZeroShotClassifier.from_checkpoint(path, labels=names)
  labels = ["sport", "money"]
  found = named.predict(TEXTS, labels)
  assert found == classifiers["first"].predict(TEXTS, labels)
