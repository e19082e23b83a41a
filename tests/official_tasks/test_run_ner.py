"""run_ner.py on tiny models: all runs of it in one process."""

import json
import pathlib
import random
import shutil

import pytest

from keras_bert_impl import configs, heads, models
from keras_bert_impl.checkpoints import writing
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.checkpoints.naming import mappings
from keras_bert_impl.kinds.tags import tag_files
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
    "foreign": {**bare, "init_checkpoint": folder / "tagger"},
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


def test_it_learns_the_entities_of_conll_files(folder, outcomes):
  results = scripts.results(folder / "conll")
  scores = results["eval"]["dev"]["scores"]
  assert scores["f1"] > 0.9
  assert {"precision", "recall", "accuracy", "f1_ANI", "f1_LOC"} <= set(scores)
  assert results["data"]["train"] == {"examples": 120, "rows": 120}
  assert not (folder / "conll/config.json").exists()  # A field is our own.
  page = scripts.report(folder / "conll")
  assert "mean probability of the tags" in page
  interval = results["eval"]["dev"]["intervals"]["f1"]
  assert f"{interval['low']:.4f} to {interval['high']:.4f}" in page
  for path in results["artifacts"].values():
    assert pathlib.Path(path).exists() or pathlib.Path(f"{path}.index").exists()


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
      ({**data, "features": "last"}, "--features needs --approach=features"),
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
