"""Estimators: fit, predict, evaluate, save and export."""

import gc
import json
import pathlib
import re
import shutil
import signal

import keras
import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl.checkpoints.formats import tf_format
from keras_bert_impl.estimators import trainable
from keras_bert_impl.serving.local import saved_models
from keras_bert_impl.training import savers
from tests.official_tasks import scripts

TEXTS = ["a good one", "so bad", "good good", "bad film", "good", "bad bad"] * 4
LABELS = ["positive", "negative"] * 12
SENTENCES = [["ada", "in", "rome"], ["bob", "sat"]] * 4
TAGS = [["B-PER", "O", "B-LOC"], ["B-PER", "O"]] * 4
QUESTION = {
  "question": "who sat",
  "context": "the cat sat",
  "answers": {"text": ["the cat"], "answer_start": [0]},
}
CHOICE = {"text": "it sat", "choices": ["the cat", "x"], "label": 0}
SHORT = {"epochs": 2, "batch_size": 8, "learning_rate": 1e-3}


@pytest.fixture(scope="module")
def classifier(checkpoint):
  made = kb.TextClassifier.from_checkpoint(checkpoint, max_seq_length=16)
  made.history = made.fit(TEXTS, LABELS, validation_data=0.25, **SHORT)
  return made


def weights(folder):
  """Returns the variables of the newest checkpoint of a run."""
  return dict(tf_format.read(savers.latest(str(folder))).items())


def check_same(folder, other):
  ours, theirs = weights(folder), weights(other)
  assert ours.keys() == theirs.keys()
  for name, value in ours.items():
    np.testing.assert_array_equal(value, theirs[name], err_msg=name)


def test_predictions_are_plain_and_in_order(classifier):
  texts = ["good", "x " * 30, "so bad", "good film"]
  answers = classifier.predict(texts, batch_size=2)
  for answer in answers:
    assert list(answer["probabilities"]) == ["negative", "positive"]
    assert answer["score"] == max(answer["probabilities"].values())
    assert answer["probabilities"][answer["label"]] == answer["score"]
  json.dumps(answers)
  for text, answer in zip(texts, answers):
    alone = classifier.predict(text)
    assert alone["label"] == answer["label"]
    assert alone["score"] == pytest.approx(answer["score"], abs=1e-5)
  assert classifier.predict({"text": texts}, batch_size=2) == answers


def test_the_history_has_an_entry_for_each_epoch(classifier):
  history = classifier.history.history
  assert classifier.history.epoch == [0, 1]
  assert history.keys() == {"loss", "val_accuracy", "val_macro_f1"}
  assert all(len(values) == 2 for values in history.values())
  scores = classifier.results["eval"]["dev"]["scores"]
  assert history["val_accuracy"][-1] == scores["accuracy"]


@pytest.mark.integration
def test_an_epoch_of_few_examples_is_an_update(checkpoint):
  made = kb.TextClassifier.from_checkpoint(checkpoint, max_seq_length=16)
  history = made.fit(TEXTS[:4], LABELS[:4], epochs=3, batch_size=32)
  assert made.results["train"]["steps"] == len(history.epoch) == 3


def test_callbacks_monitor_the_names_of_the_history(checkpoint, tmp_path):
  made = kb.TextClassifier.from_checkpoint(checkpoint, max_seq_length=16)
  stop = keras.callbacks.EarlyStopping("val_accuracy", patience=1)
  kept = keras.callbacks.ModelCheckpoint(tmp_path / "{epoch}.keras")
  made.fit(
    TEXTS,
    LABELS,
    (TEXTS, LABELS),
    3,
    8,
    callbacks=[stop, kept],
    learning_rate=0,
  )
  assert stop.stopped_epoch == 1  # No score is above that of the first epoch.
  assert len([*tmp_path.iterdir()]) == 2


@pytest.mark.parametrize("share", [None, 0.25])
def test_a_monitor_without_such_a_score_is_refused(checkpoint, share):
  made = kb.TextClassifier.from_checkpoint(checkpoint, max_seq_length=16)
  stop = keras.callbacks.EarlyStopping()
  names = "val_accuracy, val_macro_f1" if share else "one of loss:"
  with pytest.raises(ValueError, match=rf"'val_loss'\) of EarlySt.*{names}"):
    made.fit(TEXTS, LABELS, share, callbacks=[stop], epochs=1)


@pytest.mark.integration
def test_weights_of_classes_and_samples_decide_what_is_learned(
  checkpoint, capfd
):
  made = kb.TextClassifier.from_checkpoint(checkpoint, max_seq_length=16)
  settings = {**SHORT, "epochs": 8, "verbose": 0}
  made.fit(TEXTS, LABELS, class_weight={"positive": 0}, **settings)
  assert {answer["label"] for answer in made.predict(TEXTS)} == {"negative"}
  rows = (TEXTS, LABELS, [4.0, 0.0] * 12)
  made.fit(tf.data.Dataset.from_tensor_slices(rows), **settings)
  assert {answer["label"] for answer in made.predict(TEXTS)} == {"positive"}
  assert "Training" not in capfd.readouterr().err


@pytest.mark.slow
def test_weights_of_classes_train_the_bits_of_the_script(
  script_run, checkpoint, tmp_path
):
  run_script(
    "run_classifier",
    checkpoint,
    tmp_path / "script",
    train_file=script_run[1],
    class_weight="positive=3,negative=0.5",
  )
  made = kb.TextClassifier.from_checkpoint(checkpoint, max_seq_length=16)
  weights = [3.0, 0.5] * 12
  made.fit(
    TEXTS, LABELS, sample_weight=weights, output_dir=tmp_path / "fit", **SHORT
  )
  check_same(tmp_path / "fit", tmp_path / "script")


@pytest.mark.integration
def test_numbers_of_numpy_and_adapters_by_kb_lora_are_settings(checkpoint):
  made = kb.TextClassifier.from_checkpoint(
    checkpoint, max_seq_length=np.int64(16)
  )
  kb.lora(made, rank=np.int32(2))
  settings = {"epochs": np.int64(1), "learning_rate": np.float32(1e-3)}
  made.fit(TEXTS, LABELS, batch_size=np.int64(8), **settings)
  assert made.results["configuration"]["lora_rank"] == 2
  assert json.dumps(made.results)


def test_what_is_not_trained_yet_says_so(checkpoint):
  made = kb.TextClassifier.from_checkpoint(checkpoint, max_seq_length=16)
  for call in (made.predict, lambda text: made.evaluate([text], ["n"])):
    with pytest.raises(ValueError, match="call fit first"):
      call("good")


def test_evaluation_gives_the_official_scores(classifier):
  found = [answer["label"] for answer in classifier.predict(TEXTS)]
  scores = classifier.evaluate(TEXTS, LABELS)
  accuracy = np.mean(np.array(found) == np.array(LABELS))
  assert scores["accuracy"] == pytest.approx(accuracy)


def test_a_saved_folder_is_opened_here_and_elsewhere(classifier, tmp_path):
  folder = tmp_path / "saved"
  classifier.save(folder)
  opened = kb.TextClassifier.from_checkpoint(folder)
  assert opened.labels == classifier.labels
  ours, theirs = classifier.predict(TEXTS[:3]), opened.predict(TEXTS[:3])
  for answer, other in zip(ours, theirs):
    assert answer["probabilities"] == pytest.approx(other["probabilities"])
  model = kb.from_checkpoint(str(folder), heads=True)
  assert isinstance(model, kb.SequenceClassifier)
  config = json.loads((folder / "config.json").read_text())
  assert config["id2label"] == {"0": "negative", "1": "positive"}
  card = (folder / "README.md").read_text()
  for words in ("accuracy", "license", "num_train_epochs | 2", "18 examples"):
    assert words in card


@pytest.mark.integration
def test_an_export_answers_as_the_estimator(classifier, tmp_path):
  version = classifier.export(tmp_path / "served")
  answer = tf.saved_model.load(version).signatures["serving_default"](
    text=tf.constant(TEXTS[:3])
  )
  scores = [found["score"] for found in classifier.predict(TEXTS[:3])]
  np.testing.assert_allclose(answer["score"], scores, atol=1e-6)


def test_given_names_of_the_classes_are_answered_exported_and_saved(
  three_classes, tmp_path
):
  names = ["neg, or worse", "neu", "pos"]  # in the order of the logits
  made = kb.TextClassifier.from_checkpoint(three_classes, labels=names)
  trained = kb.TextClassifier.from_checkpoint(three_classes)
  answer, other = made.predict("the cat"), trained.predict("the cat")
  assert [*answer["probabilities"]] == names
  assert [*other["probabilities"]] == ["LABEL_0", "LABEL_1", "LABEL_2"]
  ours, theirs = answer["probabilities"], other["probabilities"]
  assert [*ours.values()] == [*theirs.values()]
  version = made.export(tmp_path / "served", text_pairs=False)
  served = tf.saved_model.load(version).signatures["serving_default"]
  found = served(text=tf.constant(["the cat"]))
  assert found["label"].numpy() == [answer["label"].encode()]
  made.save(tmp_path / "saved")
  config = json.loads((tmp_path / "saved/config.json").read_text())
  assert [*config["id2label"].values()] == names
  assert "neg, or worse, neu, pos" in (tmp_path / "saved/README.md").read_text()
  again = kb.TextClassifier.from_checkpoint(tmp_path / "saved")
  assert again.predict("the cat") == answer


def test_a_tagger_takes_the_columns_of_a_file(checkpoint, tmp_path):
  path = tmp_path / "germeval.tsv"
  path.write_text("# a comment\n1\tada\tB-PER\tO\n2\tsat\tO\tO\n")
  made = kb.TokenTagger.from_checkpoint(checkpoint)
  with pytest.raises(ValueError, match=r"tsv:2: the tag 'ada' must be O"):
    made.fit(path, token_column=0, tag_column=1)
  with pytest.raises(ValueError, match=r"only O: check the file and --tag_col"):
    made.fit(path, token_column=1)
  with pytest.raises(
    ValueError, match=r"token_column .1.5. must be an integer"
  ):
    made.fit(path, token_column=1.5)
  with pytest.raises(ValueError, match=r"token_column .1. is for files"):
    made.fit(SENTENCES, TAGS, token_column=1)


@pytest.fixture(name="diverged")
def fixture_diverged(three_classes, tmp_path):
  folder = tmp_path / "diverged"
  shutil.copytree(three_classes, folder)
  path = folder / "model.safetensors"
  tensors = safetensors.numpy.load_file(path)
  # NaN itself is not loaded, but what the pooler's ones sum up to is infinite.
  tensors["bert.pooler.dense.bias"][:] = 1e3
  tensors["classifier.weight"][1] = 3e38
  safetensors.numpy.save_file(tensors, path)
  return folder


def test_logits_that_are_no_numbers_are_an_error_and_no_label(
  diverged, tmp_path
):
  made = kb.TextClassifier.from_checkpoint(diverged)
  with pytest.raises(ValueError, match=r"diverged: The logits .* are NaN"):
    made.predict(["the cat", "sat"])
  version = made.export(tmp_path / "served", text_pairs=False)
  served = tf.saved_model.load(version).signatures["serving_default"]
  with pytest.raises(tf.errors.InvalidArgumentError) as raised:
    served(text=tf.constant(["the cat"]))
  message = str(saved_models.refusal(raised.value))
  assert message.startswith("The model failed: The logits of the model are NaN")


def test_names_that_are_not_the_classes_are_refused_but_for_training(
  three_classes, tmp_path
):
  made = kb.TextClassifier.from_checkpoint(three_classes, labels=["neg", "pos"])
  with pytest.raises(ValueError, match=r"labels .neg, pos. must be 3"):
    made.predict("the cat")
  with pytest.raises(ValueError, match=r"labels are named in .*neg, pos"):
    made.save(tmp_path / "saved")
  swapped = kb.TextClassifier.from_checkpoint(
    three_classes, labels=["LABEL_1", "LABEL_0", "LABEL_2"]
  )
  with pytest.raises(ValueError, match=r"must be those of .* in this order"):
    swapped.predict("the cat")
  made.fit(TEXTS[:4], ["neg", "pos", "neg", "pos"], epochs=1, batch_size=4)
  assert [*made.predict("the cat")["probabilities"]] == ["neg", "pos"]


def run_script(script, checkpoint, output_dir, **flags):
  """Trains by a script as `fit` does with `SHORT`."""
  status, _, err = scripts.run(
    script,
    do_train=True,
    init_checkpoint=checkpoint,
    max_seq_length=16,
    num_train_epochs=2,
    train_batch_size=8,
    learning_rate=1e-3,
    output_dir=output_dir,
    **flags,
  )
  assert status == 0, err


@pytest.fixture(scope="module")
def script_run(checkpoint, tmp_path_factory):
  """Folder of a run of the script, and the file that it was trained on."""
  folder = tmp_path_factory.mktemp("script")
  lines = [f"{text}\t{label}" for text, label in zip(TEXTS, LABELS)]
  path = folder / "train.tsv"
  path.write_text("\n".join(["text\tlabel", *lines]) + "\n")
  run_script("run_classifier", checkpoint, folder / "run", train_file=path)
  return folder / "run", path


class Interrupt(keras.callbacks.Callback):
  """Interrupts the training after its first epoch."""

  def on_epoch_end(self, epoch, logs):
    signal.raise_signal(signal.SIGINT)


@pytest.mark.integration
def test_an_interrupted_run_ends_with_the_bits_of_the_script(
  script_run, checkpoint, tmp_path
):
  run, _ = script_run
  made = kb.TextClassifier.from_checkpoint(checkpoint, max_seq_length=16)
  options = {"output_dir": tmp_path / "fit", **SHORT}
  with pytest.raises(KeyboardInterrupt, match="continues from there"):
    made.fit(TEXTS, LABELS, callbacks=[Interrupt()], **options)
  assert made.checkpoint == checkpoint
  made.fit(TEXTS, LABELS, **options)
  check_same(tmp_path / "fit", run)


@pytest.mark.slow
def test_a_file_trains_the_bits_of_the_script(script_run, checkpoint, tmp_path):
  run, path = script_run
  made = kb.TextClassifier.from_checkpoint(checkpoint, max_seq_length=16)
  made.fit(path, output_dir=tmp_path / "fit", **SHORT)
  check_same(tmp_path / "fit", run)


def write_of_kind(kind, folder):
  """Writes data of a kind; returns estimator, data, script and flags."""
  if kind == "tags":
    lines = [
      "\n".join(map(" ".join, zip(tokens, tags)))
      for tokens, tags in zip(SENTENCES, TAGS)
    ]
    (folder / "train.txt").write_text("\n\n".join(lines) + "\n")
    flags = {"train_file": folder / "train.txt"}
    return kb.TokenTagger, (SENTENCES, TAGS), "run_ner", flags
  if kind == "answers":
    answers = [{"text": "the cat", "answer_start": 0}]
    asked = [{"id": str(n), "question": "who sat"} for n in range(8)]
    asked = [{**question, "answers": answers} for question in asked]
    paragraph = {"context": "the cat sat", "qas": asked}
    data = {"data": [{"title": "cats", "paragraphs": [paragraph]}]}
    (folder / "train.json").write_text(json.dumps(data))
    flags = {"train_file": folder / "train.json", "max_query_length": 4}
    of_squad = {**QUESTION, "answers": answers}
    given = [QUESTION, of_squad] * 4
    return kb.QuestionAnswerer, (given,), "run_squad", flags
  lines = [json.dumps({**CHOICE, "label": str(n % 2)}) for n in range(8)]
  (folder / "train.jsonl").write_text("\n".join(lines) + "\n")
  flags = {"train_file": folder / "train.jsonl", "choice_columns": "choices"}
  given = [{**CHOICE, "label": n % 2} for n in range(8)]
  return kb.ChoiceAnswerer, (given,), "run_multiple_choice", flags


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tags", "answers", "choices"])
def test_the_scripts_of_other_kinds_train_the_same_bits(
  checkpoint, tmp_path, kind
):
  made, data, script, flags = write_of_kind(kind, tmp_path)
  run_script(script, checkpoint, tmp_path / "script", **flags)
  model = made.from_checkpoint(checkpoint, max_seq_length=16)
  known = {"max_query_length": 4} if kind == "answers" else {}
  model.fit(*data, output_dir=tmp_path / "fit", **SHORT, **known)
  check_same(tmp_path / "fit", tmp_path / "script")


@pytest.mark.integration
def test_it_is_fitted_again_and_leaves_nothing(
  checkpoint, tmp_path, monkeypatch
):
  monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
  monkeypatch.chdir(tmp_path)
  made = kb.TextClassifier.from_checkpoint(checkpoint, max_seq_length=16)
  made.fit(TEXTS, LABELS, epochs=1)
  first = made.predict("good")
  made.fit(TEXTS, LABELS, epochs=1, learning_rate=1e-2)  # It goes on.
  assert len(list(tmp_path.iterdir())) == 1
  opened = kb.TextClassifier.from_checkpoint(made.checkpoint)
  assert made.predict("good") == opened.predict("good") != first
  del made
  gc.collect()
  assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
  "data",
  [
    lambda: [{"text": t, "label": n} for t, n in zip(TEXTS, LABELS)],
    lambda: tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)),
    lambda: tf.data.Dataset.from_tensor_slices(
      {"text": TEXTS, "label": LABELS}
    ).batch(5),
    lambda: ({"text": t, "label": n} for t, n in zip(TEXTS, LABELS)),
    lambda: {"text": TEXTS, "label": np.array(LABELS)},
    lambda: pytest.importorskip("pandas").DataFrame(
      {"label": LABELS, "text": TEXTS}
    ),
  ],
  ids=["dicts", "data set", "batched", "iterator", "columns", "data frame"],
)
def test_data_come_in_many_forms(checkpoint, data):
  made = kb.TextClassifier.from_checkpoint(checkpoint)
  assert made._examples(data()) == made._examples(TEXTS, LABELS)


def test_names_of_columns_are_those_of_any_file(checkpoint, tmp_path):
  path = tmp_path / "dev.tsv"
  path.write_text("review\tlabel\ngood\tpositive\n", encoding="utf-8")
  made = kb.TextClassifier.from_checkpoint(checkpoint)
  columns = {"text_column": "review"}
  splits = trainable._splits(made, TEXTS, LABELS, str(path), columns)
  [[example]] = [split for split in splits.values() if len(split) == 1]
  assert example.text == "good"


@pytest.mark.integration
def test_scores_of_pairs(checkpoint):
  made = kb.TextClassifier.from_checkpoint(
    checkpoint, labels=None, max_seq_length=16
  )
  made.fit([("a b", "c"), ("d", "e")] * 4, [1.0, 2.5] * 4, epochs=1)
  [answer] = made.predict([("a b", "c")])
  assert answer.keys() == {"score"}
  with pytest.raises(ValueError, match="was trained on pairs"):
    made.predict(["alone"])


@pytest.mark.slow
def test_the_best_epoch_is_restored(checkpoint):
  made = kb.TextClassifier.from_checkpoint(checkpoint, max_seq_length=16)
  history = made.fit(
    TEXTS,
    LABELS,
    validation_data=(TEXTS, LABELS),
    restore_best=True,
    **SHORT,
  )
  best = max(history.history["val_accuracy"])
  assert made.evaluate(TEXTS, LABELS)["accuracy"] == best


@pytest.mark.integration
def test_a_tagger(checkpoint, tmp_path):
  made = kb.TokenTagger.from_checkpoint(checkpoint, max_seq_length=16)
  made.fit(SENTENCES, TAGS, epochs=8, learning_rate=5e-3)
  text = "ada in rome"
  [entities] = made.predict([text])
  assert made.tag_scheme == "IOB2"
  for entity in entities:
    assert text[entity["start"] : entity["end"]] == entity["text"]
    assert entity["label"] in ("PER", "LOC")
  assert set(made.evaluate(SENTENCES, TAGS)) >= {"f1", "precision"}
  made.save(tmp_path / "saved")
  opened = kb.TokenTagger.from_checkpoint(tmp_path / "saved")
  assert [e["text"] for e in opened.predict(text)] == [
    e["text"] for e in entities
  ]


@pytest.mark.integration
def test_an_answerer_of_questions(checkpoint):
  made = kb.QuestionAnswerer.from_checkpoint(checkpoint, max_seq_length=16)
  made.fit([QUESTION] * 8, epochs=20, learning_rate=5e-3, max_query_length=4)
  [answer] = made.predict([QUESTION])
  span = QUESTION["context"][answer["start"] : answer["end"]]
  assert answer["answer"] == span == "the cat"
  assert made.evaluate([QUESTION])["exact_match"] == 1


@pytest.mark.integration
def test_an_answerer_of_choices(checkpoint):
  made = kb.ChoiceAnswerer.from_checkpoint(checkpoint, max_seq_length=16)
  made.fit([CHOICE] * 8, epochs=4, learning_rate=5e-3)
  [answer] = made.predict([CHOICE])
  assert answer["choice"] == int(np.argmax(answer["probabilities"])) == 0
  assert made.evaluate([CHOICE])["accuracy"] == 1


def test_masks_are_filled(checkpoint):
  made = kb.FillMask.from_checkpoint(checkpoint, top_k=3)
  two, none = made.predict(["the [MASK] sat [MASK]", "the cat"])
  assert [len(tokens) for tokens in two] == [3, 3] and none == []
  scores = [entry["score"] for entry in two[0]]
  assert scores == sorted(scores, reverse=True)


@pytest.mark.integration
def test_it_shows_itself_and_draws_nothing_into_a_temporary_folder(
  checkpoint, tmp_path, capsys
):
  classifier = kb.TextClassifier.from_checkpoint(checkpoint, max_seq_length=16)
  assert repr(classifier) == f"TextClassifier({checkpoint!r})"
  settings = SHORT | {"validation_data": 0.25, "epochs": 1}
  classifier.fit(TEXTS, LABELS, **settings)
  assert repr(classifier).endswith(", labels=['negative', 'positive'])")
  told = capsys.readouterr().err
  assert re.search(r"\nEpoch 1/1: loss 0\.\d+, val_accuracy 0\.\d+", told)
  folder = pathlib.Path(classifier.checkpoint)
  assert not [*folder.rglob("*.png"), *folder.rglob("*.html")]
  classifier.fit(TEXTS, LABELS, output_dir=tmp_path / "run", **settings)
  assert (tmp_path / "run/report.html").exists()


@pytest.mark.integration
@pytest.mark.parametrize(
  ("name", "data", "settings"),
  [
    ("TokenTagger", (SENTENCES, TAGS), {"use_crf": True}),
    ("TextClassifier", (TEXTS, LABELS), {"bilstm_width": 4}),
  ],
)
def test_a_head_of_our_own_is_not_saved_for_others(
  checkpoint, tmp_path, name, data, settings
):
  made = getattr(kb, name).from_checkpoint(checkpoint, max_seq_length=16)
  made.fit(*data, epochs=1, **settings)
  with pytest.raises(ValueError, match="a head that transformers has not"):
    made.save(tmp_path / "saved")
  assert not (tmp_path / "saved").exists()
  assert len(made.predict(["good"])) == 1
