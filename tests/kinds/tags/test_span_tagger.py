"""Entities inside of others are learned, and found alike wherever one asks."""

import json
import os
import pathlib

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from tests.kinds.coreference import documents
from tests.official_tasks import scripts

pytestmark = pytest.mark.integration

TOKENS = [
  "ada saw the old mill".split(),
  "the park near the sea".split(),
  "tom met mary".split(),
  "수진이 책을 saw".split(),
  "he saw her near the old park .".split(),
  "bob met".split(),
]
ENTITIES = [
  [[0, 1, "person"], [2, 5, "place"], [3, 5, "thing"]],
  [[0, 5, "place"], [0, 2, "place"], [3, 5, "place"]],
  [[0, 1, "person"], [2, 3, "person"]],
  [[0, 1, "person"], [0, 2, "thing"]],
  [[4, 7, "place"], [5, 7, "thing"]],
  [[0, 1, "person"]],
]
COLUMNS = """ada B-person O
saw O O
the B-place O
old I-place B-thing
mill I-place I-thing

the B-place B-place
park I-place I-place
near I-place O
the I-place B-place
sea I-place I-place

tom B-person O
met O O
mary B-person O

수진이 B-thing B-person
책을 I-thing O
saw O O

he O O
saw O O
her O O
near O O
the B-place O
old I-place B-thing
park I-place I-thing
. O O

bob B-person O
met O O
"""
OPTIONS = {"max_seq_length": 32, "max_span_width": 5, "span_units": 32}


@pytest.fixture(name="start", scope="module")
def fixture_start(tmp_path_factory):
  """Folder of a small untrained model, whose weights learn fast."""
  folder = documents.write_model_files(tmp_path_factory.mktemp("start"))
  config = kb.EncoderConfig.from_json_file(folder / "bert_config.json")
  kb.TransformerEncoder(config).save(folder / "encoder.keras")
  return folder


@pytest.fixture(name="run", scope="module")
def fixture_run(start, tmp_path_factory):
  """Folder, flags and outcomes of run_ner.py --spans: trained, refused."""
  folder = tmp_path_factory.mktemp("run")
  train = folder / "train.txt"
  train.write_text(COLUMNS, encoding="utf-8")
  wrong = folder / "wrong.txt"
  wrong.write_text("a O O\nb O\n")
  usual = OPTIONS | {
    "bert_config_file": start / "bert_config.json",
    "train_file": train,
    "dev_file": train,
    "learning_rate": 5e-3,
    "train_batch_size": 6,
    "do_lower_case": False,
    "spans": True,
  }
  short = {"do_train": True, "num_train_epochs": 4}
  short |= {"save_checkpoints_steps": 2, "keep_checkpoint_max": 9}
  done = usual | {"do_eval": True, "output_dir": folder / "out"}
  no_spans = {k: v for k, v in done.items() if k != "spans"}
  new = {"output_dir": folder / "none"}
  outcomes = scripts.run_all(
    "run_ner",
    {
      "trained": done | {"do_train": True, "num_train_epochs": 60},
      "tested": done | {"do_predict": True, "test_file": train},
      "half": usual | short | {"output_dir": folder / "half"},
      "again": usual | short | {"output_dir": folder / "again"},
      "wrong": done | new | {"dev_file": wrong},
      "no spans": no_spans | {"tag_column": 1},
      "crf": done | new | {"use_crf": True},
      "scheme": done | new | {"tag_scheme": "none"},
    },
  )
  return folder, usual | short, outcomes


@pytest.fixture(name="tagger", scope="module")
def fixture_tagger(run):
  return kb.TokenTagger.from_checkpoint(run[0] / "out", do_lower_case=False)


def test_the_script_learns_nested_entities(run):
  folder, _, outcomes = run
  for name in ("trained", "tested"):
    assert outcomes[name][0] == 0, outcomes[name][2]
  scores = scripts.results(folder / "out")["eval"]["dev"]["scores"]
  assert scores["f1"] == scores["f1_person"] == scores["recall_thing"] == 1
  task = json.loads((folder / "out/task.json").read_text())
  assert task["head"] == "span_classification"
  assert task["labels"] == ["O", "person", "place", "thing"]
  path = folder / "out/test/predictions.jsonl"
  lines = path.read_text(encoding="utf-8").splitlines()
  for line, tokens, entities in zip(lines, TOKENS, ENTITIES, strict=True):
    record = json.loads(line)
    assert record["tokens"] == tokens
    assert sorted(record["predicted"]) == sorted(entities)


def test_mistakes_are_one_line(run):
  for name, message in (
    ("wrong", "wrong.txt:2: 2 columns (b | O)"),
    ("no spans", "was trained with --tag_scheme=spans"),
    ("crf", "Spans need --approach=fine_tuning"),
    ("scheme", "--spans cannot be combined with --tag_scheme"),
  ):
    status, _, err = run[2][name]
    assert status == 1 and message in scripts.error_line(err), (name, err)


def test_savedmodel_and_python_find_the_same_entities(tagger, tmp_path):
  assert tagger.evaluate(TOKENS, ENTITIES)["f1"] == 1
  texts = [" ".join(tokens) for tokens in TOKENS]
  texts += ["", " ".join(sum(TOKENS, []) * 3)]
  version = tagger.export(tmp_path / "served")
  served = tf.saved_model.load(version).signatures["serving_default"]
  answers = {name: x.numpy() for name, x in served(tf.constant(texts)).items()}
  doors = tagger.predict(texts, batch_size=3)
  for number, (text, found) in enumerate(zip(texts, doors, strict=True)):
    size = answers["num_entities"][number]
    assert len(found) == size
    for k, entity in enumerate(found):
      assert entity["text"] == text[entity["start"] : entity["end"]]
      assert answers["starts"][number, k] == entity["start"]
      assert answers["ends"][number, k] == entity["end"]
      assert answers["labels"][number, k].decode() == entity["label"]
      assert answers["scores"][number, k] == pytest.approx(
        entity["score"], abs=1e-5
      )
  for tokens, entities, found in zip(TOKENS, ENTITIES, doors):
    places = np.cumsum([0, *(len(token) + 1 for token in tokens)])
    assert {(x["start"], x["end"], x["label"]) for x in found} == {
      (places[a], places[b] - 1, name) for a, b, name in entities
    }
  assert answers["is_cut"].tolist() == [False] * len(texts)


def test_fit_takes_entities_and_goes_on(start, tmp_path):
  tagger = kb.TokenTagger.from_checkpoint(start / "encoder.keras", "spans")
  settings = OPTIONS | {"learning_rate": 5e-3, "verbose": 0}
  data = [
    {"tokens": tokens, "entities": entities}
    for tokens, entities in zip(TOKENS, ENTITIES, strict=True)
  ]
  tagger.fit(data, epochs=1, output_dir=tmp_path / "out", **settings)
  opened = kb.TokenTagger.from_checkpoint(tmp_path / "out")
  assert opened.tag_scheme == "spans" and opened.labels[0] == "O"
  history = opened.fit(
    TOKENS, ENTITIES, validation_data=(data,), epochs=60, **settings
  )
  assert history.history["val_f1"][-1] == 1
  assert opened.model.get_config()["max_span_width"] == 5
  with pytest.raises(ValueError, match="a head that transformers has not"):
    opened.save(tmp_path / "saved")
  with pytest.raises(ValueError, match=r"data\[0\].entities: \[0, 9, 'x'\]"):
    opened.fit([["a", "b"]], [[[0, 9, "x"]]])


def test_an_interrupted_run_ends_with_the_same_weights(run):
  folder, flags, outcomes = run
  assert outcomes["half"][0] == outcomes["again"][0] == 0
  state = folder / "half/checkpoint"
  checkpoints = tf.train.get_checkpoint_state(str(folder / "half"))
  first, *_, last = map(
    os.path.basename, checkpoints.all_model_checkpoint_paths
  )
  # As after an interruption behind the first checkpoint.
  state.write_text(state.read_text().replace(last, first))
  for path in pathlib.Path(folder / "half").glob(f"{last}*"):
    path.unlink()
  (folder / "half/results.json").unlink()
  status, _, err = scripts.run(
    "run_ner", **flags | {"output_dir": folder / "half"}
  )
  assert status == 0, err
  ours, theirs = (
    {w.path: w.numpy() for w in kb.TokenTagger(folder / x).model.weights}
    for x in ("half", "again")
  )
  assert any("span_head" in name for name in ours)
  for name in ours:
    np.testing.assert_array_equal(ours[name], theirs[name])


def test_an_export_is_a_script_away(run, tmp_path):
  status, _, err = scripts.run(
    "export_saved_model",
    checkpoint_dir=run[0] / "out",
    export_dir=tmp_path / "served",
    do_lower_case=False,
  )
  assert status == 0, err
  served = tf.saved_model.load(tmp_path / "served/1")
  answer = served.signatures["serving_default"](tf.constant(["tom met mary"]))
  assert answer["texts"].numpy().tolist() == [[b"tom", b"mary"]]
