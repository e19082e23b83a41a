"""One fine-tuning after the other, on a tiny model and in this process."""

import dataclasses
import json
import math
import os
import shutil
import urllib.parse
import weakref

import numpy as np
import pytest

from keras_bert_impl import tokenizers
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.kinds.texts import text_rows, text_scores
from keras_bert_impl.runs.fine_tuning import (
  fine_tuning_config,
  run_actions,
  search,
)
from keras_bert_impl.runs.fine_tuning import search as fine_tuning_search
from keras_bert_impl.runs.labelled_data import fine_tuning_data
from keras_bert_impl.tasks.basics import example_types
from keras_bert_impl.tokenizers.formats import vocabularies
from keras_bert_impl.training import savers
from tests.official_tasks import scripts
from tests.runs.fine_tuning import toy


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("model")
  toy.write_model(folder)
  return folder


@pytest.fixture(scope="module")
def trained(model_folder, tmp_path_factory):
  """A finished run that saw nothing happen to it."""
  setup = toy.make_setup(
    model_folder,
    tmp_path_factory.mktemp("trained"),
    do_eval=True,
    num_train_epochs=4.0,
  )
  run = toy.make_run(setup)
  run_actions.train(run)
  run_actions.evaluate(run, ["dev"])
  run_actions.write_report(run)
  return run


@pytest.fixture(scope="module")
def other(model_folder, tmp_path_factory):
  """A short run from other random numbers, with two checkpoints."""
  setup = toy.make_setup(
    model_folder,
    tmp_path_factory.mktemp("other"),
    few(48),
    {"keep_checkpoint_max": 2},
    num_train_epochs=2.0,
  )
  run = toy.make_run(setup, random_seed=3)
  run_actions.train(run)
  return run


def few(number=16):
  """Returns so few examples that training takes a step or two an epoch."""
  return {
    "train": toy.make_examples(number, 1),
    "dev": toy.make_examples(40, 2),
  }


def test_it_learns_and_says_how_well(trained):
  results = scripts.results(trained.output_dir)
  assert results["eval"]["dev"]["scores"]["accuracy"] > 0.9
  assert 0.5 <= results["eval"]["dev"]["baseline"] < 0.7
  assert results["train"]["steps"] == 48
  assert results["train"]["is_finished"]
  assert results["data"]["train"] == {"examples": 96, "rows": 96}
  assert results["configuration"]["train_file"] == "train.tsv"
  for path in results["artifacts"].values():
    assert os.path.exists(path) or os.path.exists(f"{path}.index")
  page = scripts.report(trained.output_dir)
  interval = results["eval"]["dev"]["intervals"]["accuracy"]
  assert interval["method"] == "Wilson"
  assert f"{interval['low']:.4f} to {interval['high']:.4f}" in page
  for title in ("Scores", "Curves", "Answers to dev", "Data", "Environment"):
    assert f"<h2>{title}</h2>" in page
  run_actions.write_report(trained)
  assert scripts.report(trained.output_dir) == page
  # The folder describes the model with its head.
  description = reading.open_checkpoint(trained.output_dir).described()
  assert description.head == "classification"
  assert description.labels == toy.LABELS
  task = scripts.results(trained.output_dir, "task.json")
  assert task["max_seq_length"] == 16


@pytest.mark.integration
def test_a_run_of_the_head_goes_on_with_the_head(model_folder, tmp_path):
  def make_run(train_layers):
    training = {"train_layers": train_layers}
    setup = toy.make_setup(
      model_folder, tmp_path, few(), training, num_train_epochs=1.0
    )
    return toy.make_run(setup)

  run = make_run("head")
  before = toy.weights(run)
  run_actions.train(run)
  after = toy.weights(make_run("head"))  # Of the checkpoint.
  changed = {path for path in after if np.any(after[path] != before[path])}
  assert changed == {path for path in before if "bert/e" not in path}
  with pytest.raises(ValueError, match="a run with train_layers='head', not"):
    search.check_same(make_run("all"))


def test_restarts_differ_in_head_and_order(trained, model_folder, tmp_path):
  run = toy.make_run(
    toy.make_setup(model_folder, tmp_path, num_train_epochs=4.0),
    random_seed=5,
  )
  head = "classifier/output_weights"
  assert not np.allclose(toy.weights(run)[head], toy.weights(trained)[head])
  first = next(iter(run.batches(0)))["input_ids"]
  other = next(iter(trained.batches(0)))["input_ids"]
  assert not np.array_equal(first, other)


def test_a_finished_run_is_scored_without_its_flags_of_training(
  trained, model_folder
):
  setup = toy.make_setup(
    model_folder,
    trained.output_dir,
    {"other": toy.make_examples(30, 9)},
    training={"learning_rate": 5e-5, "train_batch_size": 32},
    do_train=False,
    do_eval=True,
  )
  run = toy.make_run(setup)
  run_actions.evaluate(run, ["other"])
  assert run.results["eval"]["other"]["scores"]["accuracy"] > 0.9
  assert run.experiment.config.learning_rate == 3e-3


def test_an_encoder_starts_a_training_but_is_not_scored(
  trained, model_folder, tmp_path
):
  path = tmp_path / "encoder.keras"
  trained.experiment.model.encoder.save(path)

  def make_run(name, **settings):
    training = {"init_checkpoint": str(path)}
    return toy.make_run(
      toy.make_setup(
        model_folder, tmp_path / name, training=training, **settings
      )
    )

  table = "bert/embeddings/word_embeddings"
  expected = toy.weights(trained)[table]
  np.testing.assert_array_equal(toy.weights(make_run("a"))[table], expected)
  message = "classifier/output_weights is missing.*with --do_train"
  with pytest.raises(ValueError, match=message):
    run = make_run("b", do_train=False, do_eval=True)
    run_actions.evaluate(run, ["dev"])
  assert not list((tmp_path / "b").iterdir())  # Nor was anything tokenized.


def make_ensemble(model_folder, folder, *members):
  setup = toy.make_setup(
    model_folder,
    folder,
    do_train=False,
    do_eval=True,
    ensemble_dirs=tuple(map(str, members)),
  )
  return toy.make_run(setup)


@pytest.mark.integration
def test_an_ensemble_averages_the_logits(
  trained, other, model_folder, tmp_path
):
  folders = (trained.output_dir, other.output_dir)
  ensemble = make_ensemble(model_folder, tmp_path, *folders)
  found, _ = run_actions.outputs(ensemble, "dev")
  expected = np.mean(
    [run_actions.outputs(run, "dev")[0]["logits"] for run in (trained, other)],
    axis=0,
  )
  np.testing.assert_allclose(found["logits"], expected, atol=1e-6)


@pytest.mark.parametrize(
  "name, before, after, message",
  [
    (
      "config.json",
      '"animal"',
      '"beast"',
      "copy has the classes beast, thing, in this order",
    ),
    (
      "vocab.txt",
      "cat\ndog",
      "dog\ncat",
      "copy has another vocabulary",
    ),
  ],
)
def test_an_ensemble_of_other_classes_or_vocabularies_is_refused(
  trained, model_folder, tmp_path, name, before, after, message
):
  copy = shutil.copytree(trained.output_dir, tmp_path / "copy")
  text = (copy / name).read_text(encoding="utf-8")
  assert before in text
  (copy / name).write_text(text.replace(before, after), encoding="utf-8")
  ensemble = make_ensemble(
    model_folder, tmp_path / "ensemble", trained.output_dir, copy
  )
  with pytest.raises(ValueError, match=message):
    run_actions.outputs(ensemble, "dev")


@pytest.mark.integration
def test_early_stopping_keeps_the_best_checkpoint(model_folder, tmp_path):
  # Too fast to be stable: the best epoch is not the last.
  setup = toy.make_setup(
    model_folder,
    tmp_path,
    few(48),
    {"learning_rate": 3e-2},
    num_train_epochs=20.0,
    early_stopping_patience=2,
  )
  run = toy.make_run(setup)
  run_actions.train(run)
  with open(tmp_path / "eval_log.jsonl") as file:
    entries = [json.loads(line) for line in file]
  accuracies = [entry["accuracy"] for entry in entries]
  best = int(np.argmax(accuracies))
  assert best == len(accuracies) - 3
  assert run.results["train"]["best_step"] == entries[best]["step"]
  assert not os.path.exists(tmp_path / "best" / "checkpoint")
  # A run that is closed gives its memory back, and is there again.
  model = weakref.ref(run.experiment.model)
  assert model() is not None
  run.close()
  assert model() is None
  run_actions.evaluate(run, ["dev"])
  assert run.scores["accuracy"] == accuracies[best]


@pytest.mark.integration
def test_a_finished_run_is_finished_again_or_predicts_nothing(
  other, model_folder, tmp_path
):
  """One whose last checkpoint is damaged goes on, as after a kill."""
  folder = shutil.copytree(other.output_dir, tmp_path / "copy")
  steps = other.results["train"]["steps"]
  (folder / f"model.ckpt-{steps}.index").write_bytes(b"damaged")
  setup = toy.make_setup(
    model_folder, folder, few(48), {"random_seed": 3}, num_train_epochs=2.0
  )
  again = toy.make_run(setup)
  assert again.experiment.loop.step == steps // 2
  run_actions.train(again)
  assert again.experiment.loop.step == steps
  expected = toy.weights(other)
  for path, found in toy.weights(again).items():
    np.testing.assert_array_equal(found, expected[path], path)

  # Without its weights it is finished too.
  savers.remove_all(again.output_dir)
  again = toy.make_run(setup)
  run_actions.train(again)
  with pytest.raises(ValueError, match="whose checkpoint was deleted"):
    run_actions.evaluate(again, ["dev"])


def make_searched(model_folder, folder, **splits):
  """Returns the `Run` of a search of which one of two runs diverges."""

  def make_parts(config):
    scores = text_scores.ClassEvaluator(toy.LABELS, ("accuracy", "macro_f1"))
    return dataclasses.replace(toy.make_parts(config), evaluator=scores)

  return toy.make_setup(
    model_folder,
    folder,
    {
      "train": toy.make_examples(96, 1),
      "dev": toy.make_examples(40, 2),
      "dev_mismatched": toy.make_examples(8, 3),
      **splits,
    },
    do_eval=True,
    num_train_epochs=6.0,
    grid="learning_rate=1e30,3e-3",
    make_parts=make_parts,
  )


@pytest.mark.slow
def test_a_search_keeps_the_best_and_flags_what_learned_nothing(
  model_folder, tmp_path, capsys
):
  search = make_searched(model_folder, tmp_path)
  # A run that was stopped before all was scored is scored whole.
  values = {"learning_rate": 3e-3, "random_seed": 12345}
  half_scored = search.varied(
    str(tmp_path / "runs/learning_rate=0.003-random_seed=12345"), **values
  )
  run_actions.train(half_scored)
  run_actions.evaluate(half_scored, ["dev"])
  fine_tuning_search.run(search)
  assert "degenerate" in capsys.readouterr().out
  results = scripts.results(tmp_path)
  bad, good = results["configurations"]
  assert good["mean"] > 0.9 and good["num_degenerate"] == 0
  assert bad["mean"] == 0.5 and bad["num_degenerate"] == 1
  diverged, finished = results["runs"]
  assert results["best"] == finished and finished["score"] == good["mean"]
  assert diverged["scores"] == pytest.approx(
    {"accuracy": 0.5, "macro_f1": 1 / 3}
  )
  page = scripts.report(tmp_path)
  for run in results["runs"]:
    evaluated = scripts.results(run["folder"])["eval"]
    assert set(evaluated) == {"dev", "dev_mismatched"}
    address = urllib.parse.quote(f"runs/{run['name']}/report.html", safe="/=")
    assert f'<a href="{address}">{run["name"]}</a>' in page
    assert "<h2>Scores</h2>" in scripts.report(run["folder"])
  error = scripts.results(diverged["folder"])["train"]["error"]
  assert "not finite at step" in error
  assert error.split(":")[0] in scripts.report(diverged["folder"])
  kept = {str(p.parent) for p in tmp_path.glob("runs/*/model.ckpt-*.index")}
  assert kept == {finished["folder"]}

  # The same command again trains nothing.
  def times():
    files = tmp_path.glob("runs/*/run_config.json")
    return {path: path.stat().st_mtime for path in files}

  before = times()
  fine_tuning_search.run(make_searched(model_folder, tmp_path))
  assert scripts.results(tmp_path) == results
  assert scripts.report(tmp_path) == page
  assert times() == before

  # Runs of a search are no runs of other data.
  others = toy.make_examples(96, 3)
  for splits, message in (
    ({"train": others}, "holds a run with train_rows="),
    ({"dev": others}, "has scores of other dev examples"),
  ):
    search = make_searched(model_folder, tmp_path, **splits)
    with pytest.raises(ValueError, match=message):
      fine_tuning_search.run(search)


def test_wrong_values_of_a_grid_are_told_before_the_first_run(
  model_folder, tmp_path
):
  for grid, message in (
    ("train_batch_size=8,0", r"train_batch_size \(0\) must be in"),
    ("learning_rate=1e-3,nan", r"learning_rate \(nan\) must be in"),
    ("num_train_epochs=1,0", r"num_train_epochs \(0.0\) must be in \(0,"),
  ):
    setup = toy.make_setup(model_folder, tmp_path, grid=grid)
    with pytest.raises(ValueError, match=message):
      fine_tuning_search.run(setup)
  assert not os.listdir(tmp_path)


def test_a_finished_run_of_other_settings_is_not_called_done(
  trained, model_folder, capsys
):
  setup = toy.make_setup(model_folder, trained.output_dir, num_train_epochs=3.0)
  with pytest.raises(ValueError, match="holds a run with num_train_"):
    run_actions.train(toy.make_run(setup))
  assert "nothing left" not in capsys.readouterr().out


@pytest.mark.integration
def test_another_checkpoint_is_not_scored_as_the_one_before(
  trained, other, model_folder, tmp_path
):
  def make_run(origin, folder):
    return toy.make_run(
      toy.make_setup(
        model_folder,
        folder,
        training={"init_checkpoint": origin.output_dir},
        do_train=False,
        do_eval=True,
      )
    )

  for origin in (trained, other):
    run = make_run(origin, tmp_path)
    found, expected = (
      run_actions.outputs(x, "dev")[0]["logits"] for x in (run, origin)
    )
    np.testing.assert_array_equal(found, expected)
  # Nor is the run in the folder scored instead of it.
  with pytest.raises(ValueError, match="holds a run with init_checkpoint=None"):
    run_actions.outputs(make_run(trained, other.output_dir), "dev")


def test_rows_are_read_without_tensorflow_text(
  trained, model_folder, monkeypatch, tmp_path
):
  def make(vocabulary, options):
    raise ImportError("No module named 'tensorflow_text'")

  monkeypatch.setattr(tokenizers, "make", make)
  setup = toy.make_setup(model_folder, trained.output_dir)
  assert len(setup.data.rows("train")) == 96
  setup = toy.make_setup(model_folder, tmp_path)
  with pytest.raises(
    ValueError, match="train.tf_record cannot be written.*install"
  ):
    setup.data.rows("train")


def test_a_search_without_a_dev_set_is_refused(model_folder, tmp_path):
  setup = toy.make_setup(
    model_folder,
    tmp_path,
    {"train": toy.make_examples(8, 1)},
    num_restarts=2,
  )
  with pytest.raises(ValueError, match="a dev set with labels"):
    fine_tuning_search.run(setup)


def test_rows_are_made_once(model_folder, trained):
  path = os.path.join(trained.output_dir, "records", "train.tf_record")
  before = os.stat(path).st_mtime_ns
  setup = toy.make_setup(model_folder, trained.output_dir)
  assert len(setup.data.rows("train")) == 96
  assert os.stat(path).st_mtime_ns == before
  moved = [
    dataclasses.replace(example, origin="elsewhere.tsv:1")
    for example in toy.make_examples(96, 1)
  ]
  setup = toy.make_setup(model_folder, trained.output_dir, {"train": moved})
  assert len(setup.data.rows("train")) == 96
  assert os.stat(path).st_mtime_ns == before
  other = {"train": toy.make_examples(20, 7)}
  setup = toy.make_setup(model_folder, trained.output_dir, other)
  assert len(setup.data.rows("train")) == 20


def test_a_vocabulary_that_does_not_fit_the_text_is_warned_of(tmp_path, caplog):
  vocab_file = tmp_path / "vocab.txt"
  tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "영화", "최고"]
  vocab_file.write_text("\n".join(tokens), encoding="utf-8")
  preprocessor = text_rows.TextPreprocessor(8, ("a", "b"))
  example = example_types.TextExample("0", "영화 최고", None, "a")
  for lower, warned in ((False, False), (True, True)):
    caplog.clear()
    data = fine_tuning_data.Data(
      preprocessor,
      {"train": [example]},
      *vocabularies.find(vocab_file, do_lower_case=lower),
      str(tmp_path / f"records_{lower}"),
    )
    assert len(data.rows("train")) == 1
    told = "100.0% of the words become [UNK]" in caplog.text
    assert told == warned


def test_several_training_sets_are_read_in_order(model_folder, tmp_path):
  stages = [toy.make_examples(40, 1), toy.make_examples(24, 2)]
  setup = toy.make_setup(
    model_folder, tmp_path, {"train": stages}, num_train_epochs=2.0
  )
  run = toy.make_run(setup)
  assert run.training_config().num_train_steps == 10 + 6
  assert setup.data.counts["train_2"]["rows"] == 24
  texts = [
    {tuple(row) for row in setup.data.rows(split)["input_ids"]}
    for split in ("train", "train_2")
  ]
  for step, batch in enumerate(run.batches(0).take(16)):
    for row, mask in zip(batch["input_ids"], batch["input_mask"], strict=True):
      assert tuple(row[mask == 1].numpy()) in texts[step >= 10]


@pytest.mark.parametrize(
  ("values", "message"),
  [
    ({}, "at least one of --do_train"),
    ({"do_train": True, "num_restarts": 0}, r"num_restarts \(0\)"),
    ({"do_train": True, "num_train_epochs": 0.0}, r"num_train_epochs \(0.0\)"),
    ({"do_eval": True, "warmup_proportion": 2.0}, r"warmup_proportion \(2.0\)"),
    ({"do_train": True, "ensemble_dirs": ("a",)}, "--ensemble_dirs cannot be"),
    ({"do_eval": True, "ensemble_dirs": ()}, r"ensemble_dirs \(\(\)\) must"),
    (
      {"do_train": True, "distillation_weight": 0.9},
      r"distillation_weight \(0.9\) needs --teacher_checkpoint",
    ),
    ({"do_train": True, "num_train_epochs": math.nan}, r"epochs \(nan\) must"),
    ({"do_train": True, "early_stopping_patience": -1}, r"\(-1\) must be in"),
  ],
)
def test_settings_out_of_range(values, message):
  with pytest.raises(ValueError, match=message):
    fine_tuning_config.FineTuningConfig(**values)
