"""`kb.CoreferenceResolver` learns, and answers alike wherever it is asked."""

import json
import os
import pathlib

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl.kinds.coreference import (
  coreference_files,
  coreference_model,
)
from keras_bert_impl.metrics import coreference
from tests.kinds.coreference import documents, test_coreference_files
from tests.official_tasks import scripts

pytestmark = pytest.mark.integration

OPTIONS = {
  "max_seq_length": 32,
  "max_span_width": 3,
  "max_antecedents": 20,
  "span_units": 32,
  "span_dropout": 0.0,
  "learning_rate": 5e-3,
  "train_batch_size": 4,
}


@pytest.fixture(name="start", scope="module")
def fixture_start(tmp_path_factory):
  """Folder of a small untrained model, whose weights learn fast."""
  folder = documents.write_model_files(tmp_path_factory.mktemp("start"))
  config = kb.EncoderConfig.from_json_file(folder / "bert_config.json")
  kb.TransformerEncoder(config).save(folder / "encoder.keras")
  return folder


@pytest.fixture(name="run", scope="module")
def fixture_run(start, tmp_path_factory):
  """Folder and outcomes of run_coreference.py: trained, refused."""
  folder = tmp_path_factory.mktemp("run")
  train = documents.write(folder / "train.conll", documents.make(100, 1))
  dev = documents.write(folder / "dev.jsonl", documents.make(30, 2))
  gap = folder / "gap.tsv"
  gap.write_text(test_coreference_files.GAP)
  usual = OPTIONS | {
    "bert_config_file": start / "bert_config.json",
    "train_file": train,
  }
  done = {"dev_file": dev, "output_dir": folder / "out", "num_train_epochs": 6}
  short = {"do_train": True, "num_train_epochs": 0.4}
  short |= {"save_checkpoints_steps": 4, "keep_checkpoint_max": 9}
  none = {"do_eval": True, "output_dir": folder / "none"}
  outcomes = scripts.run_all(
    "run_coreference",
    {
      "trained": usual | done | {"do_train": True, "do_eval": True},
      "tested": usual | done | {"do_predict": True, "test_file": dev},
      "gap": usual
      | {"do_eval": True, "do_predict": True, "dev_file": gap}
      | {"test_file": gap, "init_checkpoint": folder / "out"}
      | {"output_dir": folder / "gap"},
      "half": usual | short | {"output_dir": folder / "half"},
      "again": usual | short | {"output_dir": folder / "again"},
      "no dev": usual | none,
      "no run": usual | none | {"dev_file": dev},
      "overlap": usual | none | {"dev_file": dev, "segment_overlap": 16},
      "mixed": usual | none | {"dev_file": f"{dev},{gap}"},
      "ensemble": usual
      | none
      | {"dev_file": dev, "ensemble_dirs": folder / "out"},
    },
  )
  return folder, outcomes


@pytest.fixture(name="resolver", scope="module")
def fixture_resolver(run):
  return kb.CoreferenceResolver.from_checkpoint(run[0] / "out")


def test_the_script_learns_the_clusters(run):
  folder, outcomes = run
  status, _, err = outcomes["trained"]
  assert status == 0, err
  results = scripts.results(folder / "out")["eval"]["dev"]
  assert results["scores"]["conll_f1"] > 0.8 > results["baseline"]
  task = json.loads((folder / "out/task.json").read_text())
  assert task["head"] == "coreference" and task["max_seq_length"] == 32
  assert task["keep_singletons"] is True


def test_predictions_are_scored_as_the_run_was(run):
  folder, _ = run
  key = documents.write(folder / "dev.conll", documents.make(30, 2))
  found = coreference.score_files(
    key, str(folder / "out/dev/predictions.conll")
  )
  scores = scripts.results(folder / "out")["eval"]["dev"]["scores"]
  for name, (_, _, f1) in found.items():
    assert f1 == pytest.approx(100 * scores[f"{name}_f1"], abs=0.01)


def test_a_trained_run_predicts_a_test_file_and_scores_gap(run):
  folder, outcomes = run
  for name in ("tested", "gap"):
    assert outcomes[name][0] == 0, outcomes[name][2]
  assert (folder / "out/test/predictions.conll").exists()
  assert "gap_bias" in scripts.results(folder / "gap")["eval"]["dev"]["scores"]
  row = (folder / "gap/test/predictions.tsv").read_text().split()
  assert row[0] == "x-1" and {*row[1:]} <= {"TRUE", "FALSE"}


def test_mistakes_are_one_line(run):
  for name, message in (
    ("ensemble", "a model gives the clusters that it has chosen"),
    ("no dev", "--do_eval: give --dev_file or --dev_fraction"),
    ("no run", "has no run of this script"),
    ("overlap", "segment_overlap (16) must be at most 15"),
    ("mixed", "dev.jsonl:1: the document is none of GAP"),
  ):
    status, _, err = run[1][name]
    assert status == 1 and message in scripts.error_line(err), (name, err)


def test_evaluation_savedmodel_and_python_give_the_same_clusters(
  run, resolver, tmp_path
):
  made = documents.make(30, 2)[:20]
  found = coreference_files.read(str(run[0] / "out/dev/predictions.conll"))
  texts = [" ".join(document.words) for document in made]
  version = resolver.export(tmp_path / "served")
  served = tf.saved_model.load(version).signatures["serving_default"]
  answers = {name: x.numpy() for name, x in served(tf.constant(texts)).items()}
  doors = resolver.predict(texts, batch_size=7)
  for number, document in enumerate(made):
    starts = np.cumsum([0, *(len(word) + 1 for word in document.words)])
    evaluated = {
      frozenset((starts[a], starts[b] - 1) for a, b in cluster)
      for cluster in found[number].clusters or ()
    }
    size = answers["num_mentions"][number]
    of_model = {}
    for cluster, *mention in zip(
      *(answers[x][number, :size] for x in ("clusters", "starts", "ends")),
      strict=True,
    ):
      of_model.setdefault(cluster, []).append(tuple(mention))
    of_door = {
      frozenset((x["start"], x["end"]) for x in cluster)
      for cluster in doors[number]
    }
    assert {*map(frozenset, of_model.values())} == of_door == evaluated
    assert [*of_model] == [*range(len(of_model))]
    for cluster in doors[number]:
      for x in cluster:
        assert texts[number][x["start"] : x["end"]] == x["text"]
        assert 0 < x["score"] <= 1


def test_evaluate_gives_the_scores_of_the_run(run, resolver):
  scores = resolver.evaluate(run[0] / "dev.jsonl")
  assert scores["conll_f1"] > 0.8
  assert {*resolver.evaluate(run[0] / "gap.tsv")} == {
    *("gap_f1", "gap_masculine_f1", "gap_feminine_f1", "gap_bias")
  }


def test_texts_of_any_length_and_language_are_answered(resolver):
  empty, korean, long = resolver.predict(
    ["", "수진이 책을 saw. 그녀는 책을 met.", "ada saw tom. " * 60]
  )
  assert empty == []
  for cluster in korean:
    for x in cluster:
      text = "수진이 책을 saw. 그녀는 책을 met."
      assert text[x["start"] : x["end"]] == x["text"]
  assert max(x["end"] for cluster in long for x in cluster) > 700


def test_padding_does_not_change_the_clusters():
  model = coreference_model.CoreferenceModel(
    kb.EncoderConfig(
      vocab_size=50,
      hidden_size=8,
      num_hidden_layers=1,
      num_attention_heads=2,
      intermediate_size=16,
    ),
    16,
    {"max_span_width": 3, "units": 8, "max_antecedents": 6},
  )
  rng = np.random.default_rng(0)
  short = {name: np.full((2, 32), -1, np.int32) for name in model.input}
  short["genre_ids"] = np.zeros(2, np.int32)
  short["input_ids"] = rng.integers(1, 50, (2, 32)).astype(np.int32)
  short["input_mask"] = np.ones((2, 32), np.int32)
  short["segment_ids"] = np.zeros((2, 32), np.int32)
  for name in ("word_starts", "word_ends"):
    short[name][:, :20] = np.arange(20)
  short["word_limits"][:, :20] = 19
  short["word_speakers"][:, :20] = rng.integers(0, 3, (2, 20))
  long = {
    name: x
    if x.ndim == 1
    else np.pad(
      x, [[0, 0], [0, 24]], constant_values=-1 if "word" in name else 0
    )
    for name, x in short.items()
  }
  ours, theirs = model(short), model(long)
  for name in ours:
    np.testing.assert_allclose(ours[name], theirs[name][:, :32], atol=1e-6)


def test_fit_takes_dicts_and_drops_singletons(start, tmp_path):
  resolver = kb.CoreferenceResolver.from_checkpoint(start / "encoder.keras")
  data = documents.records(documents.make(24, 3))
  settings = {**OPTIONS, "keep_singletons": False, "verbose": 0}
  settings["bucket_by_length"] = False  # as on a TPU: rows of one length
  batch_size = settings.pop("train_batch_size")
  resolver.fit(data, epochs=2, batch_size=batch_size, **settings)
  (clusters,) = resolver.predict(["ada saw tom. she met him near the park."])
  assert all(len(cluster) > 1 for cluster in clusters)
  config = resolver.model.get_config()["head"]
  assert config["units"] == 32 and config["keep_singletons"] is False
  with pytest.raises(ValueError, match="a head that transformers has not"):
    resolver.save(tmp_path / "saved")


def test_an_interrupted_run_ends_with_the_same_weights(run, start):
  folder, outcomes = run
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
    "run_coreference",
    bert_config_file=start / "bert_config.json",
    train_file=folder / "train.conll",
    do_train=True,
    num_train_epochs=0.4,
    save_checkpoints_steps=4,
    keep_checkpoint_max=9,
    output_dir=folder / "half",
    **OPTIONS,
  )
  assert status == 0, err
  ours, theirs = (
    {
      w.path: w.numpy()
      for w in kb.CoreferenceResolver(folder / x).model.weights
    }
    for x in ("half", "again")
  )
  for name in ours:
    np.testing.assert_array_equal(ours[name], theirs[name])


@pytest.mark.parametrize(
  ("change", "message"),
  [
    ({"clusters": None}, "data[0] has no clusters"),
    ({"clusters": [[[0, 2]]]}, "data[0]: the mention [0, 2] must be"),
    ({"clusters": [[0]]}, "data[0]: clusters ([[0]]) must be a list of lists"),
    (
      {"sentences": "a b"},
      "data[0]: sentences ('a b') must be a list of lists",
    ),
    ({"sentences": []}, "data[0]: the document is empty"),
    ({"speakers": [["x"]]}, "data[0]: 1 speakers of 2 words"),
  ],
)
def test_a_wrong_example_is_named(start, change, message):
  record = {"sentences": [["a", "b"]], "clusters": [[[0, 0]]]}
  resolver = kb.CoreferenceResolver.from_checkpoint(start / "encoder.keras")
  with pytest.raises(ValueError) as caught:
    resolver.fit([record | change])
  assert message in str(caught.value)


def test_an_export_is_a_script_away(run, tmp_path):
  status, _, err = scripts.run(
    "export_saved_model",
    checkpoint_dir=run[0] / "out",
    export_dir=tmp_path / "served",
    segment_overlap=6,
  )
  assert status == 0, err
  served = tf.saved_model.load(tmp_path / "served/1")
  answer = served.signatures["serving_default"](
    tf.constant(["ada saw bob. she met him."])
  )
  assert answer["texts"].numpy()[0, 0] == b"ada"
