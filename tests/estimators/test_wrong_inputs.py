"""Each wrong input is one ValueError: value, place and remedy."""

import pytest

import keras_bert_impl as kb

NAN = float("nan")
GOOD = ["a", "b"]


def classify(data, labels=None, **options):
  return kb.TextClassifier, ["n", "p"], data, labels, options


def score(data, labels=None):
  return kb.TextClassifier, None, data, labels, {}


def several(*labels):
  options = {"labels": ["n", "p"], "multi_label": True}
  return kb.TextClassifier, options, ["a"] * len(labels), labels, {}


def tag(data, tags=None):
  return kb.TokenTagger, (), data, tags, {}


def ask(**values):
  good = {
    "question": "who",
    "context": "the cat",
    "answers": {"text": ["cat"], "answer_start": [4]},
  }
  return kb.QuestionAnswerer, (), [good | values], None, {}


def choose(**values):
  good = {"text": "a", "choices": ["b", "c"], "label": 0}
  return kb.ChoiceAnswerer, (), [good | values], None, {}


CASES = [
  (classify([]), "data is empty"),
  (classify([], []), "data is empty"),
  (classify("", []), "must be a list"),
  (classify(None, []), "data (None) must be a list"),
  (classify(3, []), "data (3) must be a list"),
  (classify({"text": "a"}, []), "put a single one into a list"),
  (classify(GOOD, "n"), "targets ('n') must be a list"),
  (classify(GOOD, 3), "targets (3) must be a list"),
  (
    classify(["안녕 하세요", "a 좋아요"], ["n", "p"]),
    "max_unknown_share (0.5) is exceeded: 75.0% of a sample is [UNK]",
  ),
  (classify(GOOD, ["n"]), "data has 2 examples and targets 1"),
  (classify(GOOD, ["n", "p", "n"]), "data has 2 examples and targets 3"),
  (classify(GOOD, ["n", "x"]), "data[1] has the label 'x'"),
  (classify(GOOD, ["n", ""]), "data[1] has the label ''"),
  (classify(GOOD, ["n", None]), "data[1].label (None) must be a str"),
  (classify(GOOD, ["n", 2]), "data[1].label (2) must be an int from 0 to 1"),
  (classify(GOOD, ["n", -1]), "data[1].label (-1) must be an int from 0"),
  (classify(GOOD, ["n", NAN]), "data[1].label (nan) must be a str"),
  (classify(GOOD, ["n", 1.5]), "data[1].label (1.5) must be a str"),
  (classify(GOOD, [0.0, NAN]), "data[1].label (nan) must be a str"),
  (classify(GOOD, ["n", b"p"]), "data[1].label (b'p') must be a str: decode"),
  (classify(["a", None], ["n", "p"]), "data[1].text (None) must be a str"),
  (classify(["a", b"b"], ["n", "p"]), "data[1].text (b'b') must be a str: dec"),
  (classify(["a", NAN], ["n", "p"]), "data[1].text (nan) must be a str"),
  (classify(["a", "b\ud83d"], ["n", "p"]), "data[1].text holds half a char"),
  (classify(["a", 3], ["n", "p"]), "data[1].text (3) must be a str"),
  (classify(["a", ["b"]], ["n", "p"]), "data[1].text (['b']) must be a str"),
  (classify(["a", ("b", "c")], ["n", "p"]), "data[1] must have one text"),
  (classify([("a", "b"), "c"], ["n", "p"]), "data[1] must have two texts"),
  (classify([("a", None)], ["n"]), "data[0].text_pair (None) must be a str"),
  (classify([("a", 3)], ["n"]), "give labels as a list of their own, not 3"),
  (classify([{"sentence": "a", "gold": 1}]), "data[0] has the keys sentence"),
  (classify([{"text": "a"}]), "data[0].label (None) must be a str"),
  (classify([{"label": "n"}]), "data[0].text (None) must be a str"),
  (classify([{}]), "data[0] has the keys"),
  (
    classify({"text": ["a"], "label": []}),
    "length, but they have text: 1, lab",
  ),
  (classify({"text": [], "label": []}), "data is empty"),
  (classify({"text": ["a"], "label": [None]}), "data[0].label (None) must be"),
  (
    classify({"review": ["a"], "label": ["n"]}, text_column="review"),
    "text_column ('review') is for files",
  ),
  (classify("nowhere.tsv"), "nowhere.tsv"),
  (classify("."), "."),
  (classify(GOOD, ["n", "p"], epochs=0), "num_train_epochs"),
  (classify(GOOD, ["n", "p"], lora_alpha=8.0), "(8.0) needs --lora_rank"),
  (classify(GOOD, ["n", "p"], epochs="2"), "num_train_epochs"),
  (
    classify(GOOD, ["n", "p"], batch_size=0),
    "batch_size (0) of TextClassifier.fit must be an integer",
  ),
  (classify(GOOD, ["n", "p"], learning_rate=-1.0), "learning_rate"),
  (classify(GOOD, ["n", "p"], learning_rate=NAN), "learning_rate"),
  (classify(GOOD, ["n", "p"], random_seed=-1), "random_seed"),
  (classify(GOOD, ["n", "p"], validation_data=1.5), "validation_data"),
  (classify(GOOD, ["n", "p"], validation_data=0.0), "validation_data"),
  (classify(GOOD, ["n", "p"], validation_data=0.01), "0.01"),
  (classify(GOOD, ["n", "p"], validation_data=[]), "validation_data is empty"),
  (classify(GOOD, ["n", "p"], validation_data=(["a"], ["x"])), "'x'"),
  (
    classify(GOOD, ["n", "p"], epoch=2),
    "epoch (2) is no setting; the nearest is epochs",
  ),
  (classify(GOOD, ["n", "p"], metrics="f2"), "'f2'"),
  (classify(GOOD, ["n", "p"], train_layers="none_such"), "train_layers"),
  (classify(GOOD, ["n", "p"], restore_best=True), "dev set"),
  (score(GOOD, [1.0, NAN]), "data[1].label (nan) must be a finite number"),
  (score(GOOD, [1.0, "2"]), "data[1].label ('2') must be a finite number"),
  (score(GOOD, [1.0, None]), "data[1].label (None) must be a finite number"),
  (score(GOOD, [1.0, True]), "data[1].label (True) must be a finite number"),
  (score(GOOD, [1.0, float("inf")]), "data[1].label (inf) must be a finite"),
  (score(GOOD, [1.0]), "data has 2 examples and targets 1"),
  (several(["n"], ["x"]), "data[1] has the label 'x', which must be one of n"),
  (several(["n"], "p"), "data[1].label ('p') must be a list of str"),
  (
    several(["n"], ["p", "n", "p"]),
    "data[1].label has the label 'p', but must",
  ),
  (several(["n"], [""]), "data[1].label has the label ''"),
  (several([], None), "data[1].label (None) must be a list of str"),
  (several(["n"], ["p", None]), "data[1].label[1] (None) must be a str"),
  (several(["n"], [0, 1]), "data[1].label[0] (0) must be a str"),
  (several(["n"], {"p": 0}), "data[1].label ({'p': 0}) must be a list of str"),
  (tag([]), "data is empty"),
  (tag([["a"]], []), "data has 1 examples and targets 0"),
  (tag(["a b"], [["O", "O"]]), "data[0].tokens ('a b') must be a list of str"),
  (tag([[]], [[]]), "data[0].tokens is empty"),
  (tag([["a", None]], [["O", "O"]]), "data[0].tokens[1] (None) must be a str"),
  (tag([["a", b"b"]], [["O", "O"]]), "data[0].tokens[1] (b'b') must be a str"),
  (tag([["a", "b"]], [["O"]]), "data[0] has 2 tokens and 1 tags"),
  (tag([["a"]], [["PER"]]), "data[0].tags"),
  (tag([["a"]], [[1]]), "data[0].tags[0] (1) must be a str"),
  (tag([["a"]], ["O"]), "data[0].tags ('O') must be a list of str"),
  (tag([["a"]], [None]), "data[0].tags (None) must be a list of str"),
  (tag([["a"]], [["O"]]), "no entities"),
  (tag("nowhere.txt"), "nowhere.txt"),
  (ask(question=None), "data[0].question (None) must be a str"),
  (ask(question=b"who"), "data[0].question (b'who') must be a str: decode it"),
  (ask(context=3), "data[0].context (3) must be a str"),
  (ask(context=NAN), "data[0].context (nan) must be a str"),
  (ask(answers=None), "data[0].answers (None) must be a dict"),
  (ask(answers="cat"), "data[0].answers ('cat') must be a dict"),
  (ask(answers={"text": ["cat"]}), "must be a dict with the lists text and"),
  (ask(answers={"text": [], "answer_start": []}), "data[0] has no answer"),
  (ask(answers={"text": ["cat"], "answer_start": []}), "1 texts and 0"),
  (ask(answers={"text": ["cat"], "answer_start": [99]}), "int from 0 to 6"),
  (ask(answers={"text": ["cat"], "answer_start": [-1]}), "int from 0 to 6"),
  (ask(answers={"text": ["cat"], "answer_start": ["4"]}), "int from 0 to 6"),
  (ask(answers={"text": [None], "answer_start": [4]}), "text[0] (None)"),
  (ask(answers=[{"text": "cat"}]), "must be a dict with the lists text and"),
  (ask(answers=[{"text": "cat", "answer_start": 99}]), "int from 0 to 6"),
  (ask(answers={"text": ["dog"], "answer_start": [4]}), "'dog'"),
  (choose(text=None), "data[0].text (None) must be a str"),
  (choose(choices=None), "data[0].choices (None) must be a list of str"),
  (choose(choices="bc"), "data[0].choices ('bc') must be a list of str"),
  (choose(choices=[]), "data[0].choices is empty"),
  (choose(choices=["b", 3]), "data[0].choices[1] (3) must be a str"),
  (choose(choices=["b"]), "data[0] has one choice"),
  (choose(label=2), "data[0].label (2) must be an int from 0 to 1"),
  (choose(label="0"), "data[0].label ('0') must be an int from 0 to 1"),
  (choose(label=None), "data[0].label (None) must be an int from 0 to 1"),
  (choose(label=True), "data[0].label (True) must be an int from 0 to 1"),
]


@pytest.mark.parametrize(
  ("case", "message"), CASES, ids=[message for _, message in CASES]
)
def test_training_data(checkpoint, tmp_path, case, message):
  made, labels, data, targets, options = case
  arguments = {"labels": labels} if made is kb.TextClassifier else {}
  if isinstance(labels, dict):
    arguments = labels
  model = made.from_checkpoint(checkpoint, max_seq_length=16, **arguments)
  with pytest.raises((ValueError, FileNotFoundError)) as caught:
    model.fit(data, targets, output_dir=tmp_path / "run", **options)
  assert message in str(caught.value)
  assert "\n" not in str(caught.value)
  assert model.checkpoint == checkpoint


@pytest.mark.parametrize(
  ("arguments", "message"),
  [
    ({"labels": "np"}, "labels ('np') must be a list of str"),
    ({"labels": []}, "labels is empty"),
    ({"labels": [1, 2]}, "labels[0] (1) must be a str"),
    ({"max_seq_length": 0}, "max_seq_length (0)"),
    ({"path": "nowhere/at/all"}, "nowhere/at/all"),
  ],
)
def test_options_of_a_model(checkpoint, arguments, message):
  with pytest.raises((ValueError, FileNotFoundError)) as caught:
    kb.TextClassifier.from_checkpoint(**{"path": checkpoint} | arguments)
  assert message in str(caught.value)


def test_a_setting_of_an_evaluation_that_is_none(checkpoint):
  model = kb.TextClassifier.from_checkpoint(checkpoint, max_seq_length=16)
  with pytest.raises(ValueError, match="nearest is text_column,"):
    model.evaluate(["a"], ["n"], text_colum="review")


@pytest.mark.parametrize(
  ("inputs", "message"),
  [
    ([], "inputs is empty"),
    (None, "inputs (None) must be a list"),
    ([None], "inputs[0].text (None) must be a str"),
    (["a", b"b"], "inputs[1].text (b'b') must be a str: decode it"),
    (["a", ("b", "c")], "inputs[1] must have as many texts as inputs[0]"),
    (["a"], "head"),  # Not trained for classes yet.
  ],
)
def test_inputs_of_predictions(checkpoint, inputs, message):
  model = kb.TextClassifier.from_checkpoint(checkpoint)
  with pytest.raises(ValueError) as caught:
    model.predict(inputs)
  assert message in str(caught.value)
