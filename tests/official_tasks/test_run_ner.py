"""run_ner.py on tiny models: all runs of it in one process."""

import json
import pathlib
import random
import shutil

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs, heads, models, tokenizers
from keras_bert_impl.checkpoints import reading, writing
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.checkpoints.naming import mappings
from keras_bert_impl.kinds import opening
from keras_bert_impl.kinds.tags import tag_files, tag_servable
from keras_bert_impl.metrics import tagging
from tests.official_tasks import scripts

pytestmark = pytest.mark.integration

TYPES = {"cat": "ANI", "dog": "ANI", "bird": "ANI", "house": "LOC"}
WORDS = ("the", "a", "old", "new", "sees", "likes", *TYPES)
TRAINING = {
  "do_train": True,
  "do_eval": True,
  "max_seq_length": 24,
  "train_batch_size": 8,
  "learning_rate": 1e-2,
  "recipe": "paper",
  "num_train_epochs": 4,
}


def make_sentences(rng, number, longest=8):
  """Sentences whose entities are the words that have a type, IOB2."""
  sentences = []
  for _ in range(number):
    words = rng.choices(WORDS, k=rng.randint(2, longest))
    tags = [f"B-{TYPES[word]}" if word in TYPES else "O" for word in words]
    sentences.append((words, tags))
  return sentences


def write_columns(path, sentences, scheme="IOB1"):
  lines = []
  for number, (words, tags) in enumerate(sentences):
    if number % 4 == 0:
      lines += ["-DOCSTART- -X- O O", ""]
    tags = tagging.convert(tags, scheme)
    lines += [f"{word} X X {tag}" for word, tag in zip(words, tags)] + [""]
  path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_parts_of_speech(path, sentences):
  """Writes columns of CoNLL-2000: word, part of speech, chunk."""
  parts = {**dict.fromkeys(TYPES, "NN"), "sees": "VBZ", "likes": "VBZ"}
  lines = []
  for words, _ in sentences:
    # "O" is a tag like the others; "B" looks like one of entities.
    rows = [
      (w, {"the": "O", "a": "B"}.get(w, parts.get(w, "JJ"))) for w in words
    ]
    lines += [f"{word} {part} B-X" for word, part in rows] + [""]
  path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_characters(path, sentences):
  lines = ["## CHAR\tNE_TAG"]
  for words, tags in sentences:
    lines.append(f"## an-id\t{' '.join(words)}")
    rows = []
    for word, tag in zip(words, tags):
      rows.append(" \tO")
      inner = tag.replace("B-", "I-")
      rows += [f"{c}\t{inner if i else tag}" for i, c in enumerate(word)]
    lines += [*rows[1:], ""]
  path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_tagger(folder, name, labels):
  """Writes a model with these classes as transformers does."""
  config = configs.EncoderConfig.from_json_file(folder / "bert_config.json")
  model = models.TokenClassifier(config, len(labels))
  (folder / name).mkdir()
  shutil.copy(folder / "vocab.txt", folder / name)
  writing.write_safetensors(
    str(folder / name),
    mappings.Arrays({weight.path: weight for weight in model.weights}),
    description.Description(model.config, heads.TOKEN_CLASSIFICATION, labels),
    2**30,
  )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("ner")
  scripts.write_model_files(folder)
  rng = random.Random(0)
  data = folder / "data"
  data.mkdir()
  write_columns(data / "eng.train", make_sentences(rng, 119))
  with open(data / "eng.train", "a", encoding="utf-8") as file:
    file.write("cat X X B-ANI\n")  # As CoNLL-2003 has it twice: IOB2 in IOB1.
  write_columns(data / "testa.txt", make_sentences(rng, 24))
  # Many times as long as a row.
  test = make_sentences(rng, 8, longest=200)
  write_columns(data / "testb.txt", test)
  bare = "\n\n".join("\n".join(words) for words, _ in test)
  (folder / "bare.txt").write_text(bare + "\n")
  write_characters(folder / "characters.tsv", make_sentences(rng, 40))
  write_parts_of_speech(folder / "parts.txt", make_sentences(rng, 120))
  (folder / "outside.txt").write_text("the O\n\ncat O\n")
  write_tagger(folder, "tagger", ("B-ANI", "O", "E-ANI", "S-ANI"))
  write_tagger(folder, "unnamed_tagger", ("LABEL_0", "LABEL_1"))
  return folder


@pytest.fixture(scope="module")
def outcomes(folder):
  """(exit status, stdout, stderr) of each run, in the folder of its name."""
  length = {"max_seq_length": TRAINING["max_seq_length"]}
  usual = {**TRAINING, "bert_config_file": folder / "bert_config.json"}
  data = {"data_dir": folder / "data"}
  bare = {**length, "test_file": folder / "bare.txt", "do_predict": True}
  runs = {
    "conll": {
      **usual,
      **data,
      "do_predict": True,
      "use_crf": True,
      "learning_rate": 5e-3,
    },
    "characters": {
      **usual,
      "train_file": folder / "characters.tsv",
      "token_unit": "character",
      "dev_fraction": 0.25,
      "num_train_epochs": 1,
    },
    "features": {
      **usual,
      **data,
      "approach": "features",
      "init_checkpoint": folder / "conll",
      "features": "last",
      "lstm_width": 8,
      "num_train_epochs": 1,
    },
    "parts": {
      **usual,
      "train_file": folder / "parts.txt",
      "dev_fraction": 0.2,
      "tag_scheme": "none",
      "tag_column": 1,
    },
    "foreign": {**bare, "init_checkpoint": folder / "tagger"},
    "bare": {**bare, "init_checkpoint": folder / "conll"},
  }
  found = scripts.run_all(
    "run_ner",
    {
      name: {**values, "output_dir": folder / name}
      for name, values in runs.items()
    },
  )
  for name, (status, _, err) in found.items():
    assert status == 0, (name, err)
  return found


def read_predictions(folder, run, split):
  """Returns sentences by column: the tokens, gold and predicted tags."""
  path = folder / run / split / "predictions.txt"
  blocks = path.read_text(encoding="utf-8").strip("\n").split("\n\n")
  rows = [[line.rsplit(" ", 2) for line in b.split("\n")] for b in blocks]
  return [[[row[i] for row in block] for block in rows] for i in range(3)]


def servable_of(folder):
  """Returns the servable of a finished run, from its folder alone."""
  found = opening.load(folder)
  names = ("labels", "tag_scheme", "trained_on")
  return tag_servable.TokenClassificationServable(
    found.model,
    tokenizers.load(folder),
    TRAINING["max_seq_length"],
    **{name: found.recorded[name] for name in names if name in found.recorded},
  )


def test_it_learns_the_entities_of_conll_files(folder, outcomes):
  results = scripts.results(folder / "conll")
  scores = results["eval"]["dev"]["scores"]
  assert scores["f1"] > 0.9
  assert {"precision", "recall", "accuracy", "f1_ANI", "f1_LOC"} <= set(scores)
  assert results["data"]["train"] == {"examples": 120, "rows": 120}
  page = scripts.report(folder / "conll")
  interval = results["eval"]["dev"]["intervals"]["f1"]
  assert f"{interval['low']:.4f} to {interval['high']:.4f}" in page
  for path in results["artifacts"].values():
    assert pathlib.Path(path).exists() or pathlib.Path(f"{path}.index").exists()


def test_the_file_of_predictions_has_the_scores_and_the_scheme(
  folder, outcomes
):
  tokens, gold, predicted = read_predictions(folder, "conll", "dev")
  sentences = tag_files.read(str(folder / "data/testa.txt"))
  assert [tuple(t) for t in tokens] == [s.tokens for s in sentences]
  assert [tuple(t) for t in gold] == [s.tags for s in sentences]
  assert tagging.detect_scheme(predicted) == "IOB1"
  expected = scripts.results(folder / "conll")["eval"]["dev"]["scores"]
  evaluation = tagging.evaluate(gold, predicted)
  assert evaluation.scores() == expected
  report = (folder / "conll/dev/conlleval.txt").read_text()
  assert report == evaluation.report()


def test_sentences_longer_than_a_row_are_tagged_to_their_end(folder, outcomes):
  predicted = tag_files.read(str(folder / "bare/test/predictions.txt"))
  sentences = tag_files.read(str(folder / "bare.txt"))
  assert [s.tokens for s in predicted] == [s.tokens for s in sentences]
  counts = scripts.results(folder / "bare")["data"]["test"]
  assert counts["sentences cut into windows"] >= 5
  found = {
    token
    for s in predicted
    for token, tag in zip(s.tokens, s.tags)
    if tag != "O"
  }
  assert found == set(TYPES)


def test_a_tagger_of_other_programs_predicts_its_own_classes(folder, outcomes):
  task = json.loads((folder / "foreign/task.json").read_text())
  assert task["labels"] == ["B-ANI", "O", "E-ANI", "S-ANI"]
  assert task["tag_scheme"] == "BIOES"
  predicted = tag_files.read(str(folder / "foreign/test/predictions.txt"))
  sentences = tag_files.read(str(folder / "bare.txt"))
  assert [s.tokens for s in predicted] == [s.tokens for s in sentences]


def test_characters_have_their_own_rows_and_blanks_need_none(folder, outcomes):
  counts = scripts.results(folder / "characters")["data"]
  assert counts["train"]["examples"] == 30 and counts["dev"]["examples"] == 10
  assert "tokens without pieces" not in counts["dev"]
  tokens, *_ = read_predictions(folder, "characters", "dev")
  assert " " in tokens[0]


@pytest.mark.parametrize(
  "run, trained_on", [("conll", "words"), ("characters", "characters")]
)
def test_a_run_says_what_it_was_trained_on(folder, outcomes, run, trained_on):
  path = folder / run / "task.json"
  assert json.loads(path.read_text())["trained_on"] == trained_on


def test_tags_that_mark_no_entities_are_scored_one_by_one(folder, outcomes):
  evaluated = scripts.results(folder / "parts")["eval"]["dev"]
  assert list(evaluated["scores"]) == ["accuracy"]
  _, gold, predicted = read_predictions(folder, "parts", "dev")
  gold, predicted = sum(gold, []), sum(predicted, [])
  assert set(gold) == {"NN", "VBZ", "JJ", "O", "B"}
  share = np.mean([a == b for a, b in zip(gold, predicted)])
  assert evaluated["scores"]["accuracy"] == share > 0.9
  most = max(map(gold.count, gold)) / len(gold)
  assert evaluated["baseline"] == pytest.approx(most)
  assert not (folder / "parts/dev/conlleval.txt").exists()

  # An exported model tags every word.
  answer = servable_of(folder / "parts").answer(
    tf.constant(["the cat  sees a a bird"])
  )
  labels = [b"O", b"NN", b"VBZ", b"B", b"B", b"NN"]
  assert answer["labels"].numpy().tolist() == [labels]
  assert answer["texts"].numpy()[0, 4:].tolist() == [b"a", b"bird"]
  assert answer["starts"].numpy().tolist() == [[0, 4, 9, 14, 16, 18]]


def test_a_field_over_the_tags_is_saved_and_served(folder, outcomes):
  assert "mean probability of the tags" in scripts.report(folder / "conll")
  assert not (folder / "conll/config.json").exists()  # Nobody else has it.
  tensors = reading.open_checkpoint(str(folder / "conll")).tensors
  tables = {n: tensors[n] for n in tensors.shapes if n.startswith("crf/")}
  assert {name: np.shape(x) for name, x in tables.items()} == {
    "crf/transitions": (5, 5),
    "crf/start": (5,),
    "crf/end": (5,),
  }
  assert all(np.any(x) for x in tables.values())

  # An exported model finds the paths that the evaluation finds in texts whose
  # sentences stand alone.
  tokens, _, predicted = read_predictions(folder, "conll", "dev")
  texts = tf.constant([" ".join(words) for words in tokens])
  served = servable_of(folder / "conll").answer(texts)
  for row, tags in enumerate(predicted):
    types = [entity.type.encode() for entity in tagging.entities_of(tags)]
    number = served["num_entities"][row]
    assert served["labels"][row, :number].numpy().tolist() == types
  # The same from the weights alone.
  again = models.from_checkpoint(str(folder / "conll"), heads=True)
  assert "transitions" in again.output


def test_features_of_a_frozen_encoder_are_an_approach(folder, outcomes):
  assert "f1" in scripts.results(folder / "features")["eval"]["dev"]["scores"]
  task = (folder / "features/task.json").read_text()
  assert '"features": "last"' in task
  frozen, unfrozen = (
    reading.open_checkpoint(str(folder / run)).tensors
    for run in ("conll", "features")
  )
  of_encoder = [name for name in frozen if name.startswith("bert/")]
  assert len(of_encoder) > 10
  for name in of_encoder:
    np.testing.assert_array_equal(unfrozen[name], frozen[name])


def test_a_mistake_is_one_line(folder):
  def trained_on(name):
    return {"train_file": folder / name, "do_eval": False}

  predicting = {
    "do_train": False,
    "do_eval": False,
    "do_predict": True,
    "test_file": folder / "bare.txt",
  }
  data = {"data_dir": folder / "data"}
  unnamed = {"init_checkpoint": folder / "unnamed_tagger"}
  scripts.check_mistakes(
    "run_ner",
    [
      (trained_on("outside.txt"), "no entities, only O"),
      (trained_on("bare.txt"), "bare.txt:1: the rows have no tags"),
      ({}, "--data_dir with train.txt, eng.train or deu.train"),
      (
        {"train_file": folder / "data/eng.train"},
        "eng.testa or deu.testa, or --dev_fraction",
      ),
      (
        {**data, "dev_fraction": 0.1, "dev_file": "dev.txt"},
        "--dev_fraction cannot be combined with --dev_file",
      ),
      ({**data, "features": "last"}, "--features needs --approach=features"),
      ({**data, "doc_stride": 0}, "doc_stride (0) must be in"),
      (predicting, "no run of this script that names the labels: train"),
      (predicting | unnamed, "unnamed_tagger: the tag 'LABEL_0' must be O"),
    ],
    lambda **values: {
      **TRAINING,
      "bert_config_file": folder / "bert_config.json",
      "output_dir": folder / "wrong",
      **values,
    },
  )
