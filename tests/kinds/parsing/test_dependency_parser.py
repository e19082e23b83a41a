"""`kb.DependencyParser` learns, and answers alike wherever it is asked."""

import json
import os
import pathlib
import random

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl.kinds.parsing import parsing_files, trees
from tests.kinds.parsing import sentences
from tests.official_tasks import scripts

pytestmark = pytest.mark.integration

DATA = os.environ.get("KERAS_BERT_DATA")
KLUE = "tasks/klue/klue-dp-v1.1_dev_first_1500.tsv"


@pytest.fixture(name="start", scope="module")
def fixture_start(tmp_path_factory):
  """Folder of a small untrained model, whose weights learn fast."""
  folder = tmp_path_factory.mktemp("start")
  scripts.write_model_files(
    folder, initializer_range=0.2, hidden_dropout_prob=0.0
  )
  config = kb.EncoderConfig.from_json_file(folder / "bert_config.json")
  encoder = kb.TransformerEncoder(config)
  encoder.save(folder / "encoder.keras")
  return folder


@pytest.fixture(name="run", scope="module")
def fixture_run(start, tmp_path_factory):
  """Flags and outcomes of run_parsing.py: trained, refused."""
  folder = tmp_path_factory.mktemp("run")
  train = sentences.write(folder / "train.conllu", sentences.make(160, 1))
  dev = sentences.write(folder / "dev.conllu", sentences.make(60, 2))
  usual = {
    "bert_config_file": start / "bert_config.json",
    "train_file": train,
    "max_seq_length": 32,
    "arc_width": 24,
    "relation_width": 12,
    "parser_dropout": 0.0,
    "learning_rate": 1e-2,
    "num_train_epochs": 8,
  }
  done = usual | {"dev_file": dev, "output_dir": folder / "out"}
  outcomes = scripts.run_all(
    "run_parsing",
    {
      "trained": done | {"do_train": True, "do_eval": True},
      "tested": done
      | {"do_eval": True, "do_predict": True, "test_file": dev}
      | {"output_dir": folder / "out"},
      "half": usual
      | {
        "do_train": True,
        "save_checkpoints_steps": 20,
        "keep_checkpoint_max": 9,
      }
      | {"num_train_epochs": 2, "output_dir": folder / "half"},
      "again": usual
      | {"do_train": True, "num_train_epochs": 2}
      | {"save_checkpoints_steps": 20, "keep_checkpoint_max": 9}
      | {"output_dir": folder / "again"},
      "ensemble": done
      | {"do_eval": True, "ensemble_dirs": folder / "out"}
      | {"output_dir": folder / "none"},
      "no dev": usual | {"do_eval": True, "output_dir": folder / "none"},
    },
  )
  return folder, outcomes


@pytest.fixture(name="parser", scope="module")
def fixture_parser(run):
  return kb.DependencyParser.from_checkpoint(run[0] / "out")


def test_the_script_learns_the_trees(run):
  folder, outcomes = run
  status, _, err = outcomes["trained"]
  assert status == 0, err
  results = scripts.results(folder / "out")
  assert results["eval"]["dev"]["scores"]["las"] > 0.95
  task = json.loads((folder / "out/task.json").read_text())
  assert task["head"] == "dependency_parsing"
  assert task["labels"] == ["amod", "nsubj", "obj", "root"]
  report = (folder / "out/report.html").read_text()
  assert "-nsubj-&gt;" in report or "-nsubj->" in report


def test_a_trained_run_writes_trees_of_a_test_file(run):
  folder, outcomes = run
  assert outcomes["tested"][0] == 0, outcomes["tested"][2]
  dev, test = (
    folder / f"out/{split}/predictions.conllu" for split in ("dev", "test")
  )
  assert parsing_files.read(dev)[0].heads == parsing_files.read(test)[0].heads


def test_mistakes_are_one_line(run):
  for name, message in (
    ("ensemble", "a parser gives the tree that it has chosen"),
    ("no dev", "--do_eval: give --dev_file or --dev_fraction"),
  ):
    status, _, err = run[1][name]
    assert status == 1 and message in scripts.error_line(err)


def test_evaluation_savedmodel_and_python_give_the_same_trees(
  run, parser, tmp_path
):
  folder, _ = run
  found = parsing_files.read(folder / "out/dev/predictions.conllu")
  rng = random.Random(0)
  texts = [" ".join(sentence.words) for sentence in found]
  version = parser.export(tmp_path / "served")
  served = tf.saved_model.load(version).signatures["serving_default"]
  answers = {name: x.numpy() for name, x in served(tf.constant(texts)).items()}
  order = rng.sample(range(len(texts)), len(texts))
  shuffled = parser.predict([texts[k] for k in order], batch_size=7)
  doors = dict(zip(order, shuffled, strict=True))
  for number, sentence in enumerate(found):
    size = answers["num_words"][number]
    heads = answers["heads"][number, :size].tolist()
    labels = [x.decode() for x in answers["labels"][number, :size]]
    assert tuple(heads) == sentence.heads
    assert tuple(labels) == sentence.relations
    assert [word["head"] for word in doors[number]] == heads
    assert [word["relation"] for word in doors[number]] == labels
    assert [word["word"] for word in doors[number]] == [*sentence.words]


def test_the_model_decodes_its_own_scores(parser):
  rng = np.random.default_rng(1)
  shape = (200, 12)
  rows = {
    "input_ids": rng.integers(5, 20, shape),
    "node_places": np.broadcast_to(np.arange(12), shape),
    "head_ids": np.zeros(shape),
  }
  rows = {name: values.astype(np.int32) for name, values in rows.items()}
  outputs = parser.model(rows)
  expected = trees.decode(outputs["arc_logits"], rows["node_places"] >= 0)
  np.testing.assert_array_equal(outputs["heads"], expected)
  assert np.all(np.sum(outputs["heads"][:, 1:] == 0, axis=1) == 1)


def test_evaluate_gives_the_scores_of_the_run(run, parser):
  scores = parser.evaluate(run[0] / "dev.conllu")
  expected = scripts.results(run[0] / "out")["eval"]["dev"]["scores"]
  assert scores == pytest.approx(expected)


def test_empty_and_long_texts_are_answered(parser):
  empty, one, long = parser.predict(["", "cat", "old " * 40])
  assert empty == [] and one[0]["head"] == 0
  assert len(long) == 30


def test_fit_learns_from_dicts_and_goes_on(start, tmp_path):
  parser = kb.DependencyParser.from_checkpoint(start / "encoder.keras")
  data = sentences.records(sentences.make(80, 3))
  parser.fit(
    data,
    epochs=2,
    arc_width=16,
    relation_width=8,
    max_seq_length=32,
    learning_rate=1e-2,
    verbose=0,
  )
  assert parser.labels == ("amod", "nsubj", "obj", "root")
  before = parser.evaluate(data)["las"]
  parser.fit(data, epochs=4, learning_rate=1e-2, verbose=0)
  assert parser.evaluate(data)["las"] > before
  assert parser.model.get_config()["arc_width"] == 16
  with pytest.raises(ValueError, match="a head that transformers has not"):
    parser.save(tmp_path / "saved")


def test_an_interrupted_run_ends_with_the_same_weights(run, start):
  folder, outcomes = run
  assert outcomes["half"][0] == outcomes["again"][0] == 0
  state = folder / "half/checkpoint"
  checkpoints = tf.train.get_checkpoint_state(str(folder / "half"))
  first, *_, last = checkpoints.all_model_checkpoint_paths
  # As after an interruption behind the first checkpoint.
  state.write_text(state.read_text().replace(_name(last), _name(first)))
  for path in pathlib.Path(folder / "half").glob(f"{_name(last)}*"):
    path.unlink()
  (folder / "half/results.json").unlink()
  status, _, err = scripts.run(
    "run_parsing",
    bert_config_file=start / "bert_config.json",
    train_file=folder / "train.conllu",
    do_train=True,
    max_seq_length=32,
    arc_width=24,
    relation_width=12,
    parser_dropout=0.0,
    learning_rate=1e-2,
    num_train_epochs=2,
    save_checkpoints_steps=20,
    keep_checkpoint_max=9,
    output_dir=folder / "half",
  )
  assert status == 0, err
  ours, theirs = (
    {w.path: w.numpy() for w in kb.DependencyParser(folder / x).model.weights}
    for x in ("half", "again")
  )
  for name in ours:
    np.testing.assert_array_equal(ours[name], theirs[name])


def _name(path):
  return os.path.basename(path)


@pytest.mark.parametrize(
  ("change", "message"),
  [
    ({"heads": [2]}, "data[0] has 2 words, 1 heads and 2 relations"),
    ({"heads": [3, 0]}, "data[0].heads[0] (3) must be the number of another"),
    ({"heads": [1, 0]}, "data[0].heads[0] (1) must be the number of another"),
    ({"heads": ["2", 0]}, "data[0].heads[0] ('2') must be the number"),
    ({"words": "a b"}, "data[0].words ('a b') must be a list"),
    ({"relations": None}, "data[0].relations (None) must be a list"),
  ],
)
def test_a_wrong_example_is_named(start, change, message):
  record = {"words": ["a", "b"], "heads": [2, 0], "relations": ["x", "y"]}
  parser = kb.DependencyParser.from_checkpoint(start / "encoder.keras")
  with pytest.raises(ValueError) as caught:
    parser.fit([record | change])
  assert message in str(caught.value)


def test_an_export_is_a_script_away(run, tmp_path):
  status, out, err = scripts.run(
    "export_saved_model",
    checkpoint_dir=run[0] / "out",
    export_dir=tmp_path / "served",
    word_split="punctuation",
  )
  assert status == 0, err
  served = tf.saved_model.load(tmp_path / "served/1")
  answer = served.signatures["serving_default"](tf.constant(["cat sees."]))
  assert answer["words"].numpy().tolist() == [[b"cat", b"sees", b"."]]


@pytest.mark.acceptance
@pytest.mark.skipif(not DATA, reason="KERAS_BERT_DATA names no data")
def test_korean_trees_are_learned_from_scratch(tmp_path):
  config = kb.EncoderConfig(
    vocab_size=32200,
    hidden_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=512,
  )
  config.to_json_file(tmp_path / "bert_config.json")
  status, _, err = scripts.run(
    "run_parsing",
    bert_config_file=tmp_path / "bert_config.json",
    vocab_file=pathlib.Path(DATA) / "vocab/koelectra/vocab.txt",
    do_lower_case=False,
    train_file=pathlib.Path(DATA) / KLUE,
    dev_fraction=0.2,
    do_train=True,
    do_eval=True,
    learning_rate=1e-3,
    num_train_epochs=4,
    output_dir=tmp_path / "out",
  )
  assert status == 0, err
  results = scripts.results(tmp_path / "out")["eval"]["dev"]
  assert results["scores"]["las"] > 2 * results["baseline"]
