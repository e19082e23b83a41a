"""A frozen encoder runs once over each row, and nothing else changes."""

import errno
import os
import pathlib
import shutil

import keras
import numpy as np
import pytest

from keras_bert_impl import configs, file_errors, models
from keras_bert_impl.kinds.tags import (
  tag_rows,
  tag_scores,
  token_classification,
)
from keras_bert_impl.runs.fine_tuning import run_actions, search
from keras_bert_impl.runs.labelled_data import hidden_states
from keras_bert_impl.tasks.basics import example_types, fine_tuning
from keras_bert_impl.training import run_log
from tests.official_tasks import scripts
from tests.runs.fine_tuning import toy

pytestmark = pytest.mark.integration
LABELS = ("O", "B-ANI")
NAMES = ("train.hidden_states", "dev.hidden_states")


def make_parts(config):
  return fine_tuning.FineTuning(
    tag_rows.TagPreprocessor(16, LABELS),
    token_classification.TokenClassificationTask(
      config, LABELS, "features", "weighted_sum_all", lstm_width=4
    ),
    tag_scores.TagEvaluator(LABELS),
  )


def make_examples(number, seed):
  """Sentences, two of a document, in which animals are entities."""
  return [
    example_types.TaggedSentence(
      tuple(words),
      tuple("B-ANI" if word in toy.ANIMALS else "O" for word in words),
      document=str(index // 2),
    )
    for index, words in enumerate(
      example.text.split()[:6] for example in toy.make_examples(number, seed)
    )
  ]


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
  """A model with two encoders to start from; heads have dropout."""
  folder = tmp_path_factory.mktemp("model")
  toy.write_model(folder, hidden_dropout_prob=0.1, num_hidden_layers=2)
  config = configs.EncoderConfig.from_json_file(folder / "bert_config.json")
  for seed, name in enumerate(("one", "other")):
    keras.utils.set_random_seed(seed)
    models.TransformerEncoder(config).save(folder / f"{name}.keras")
  return folder


def make_setup(model_folder, output_dir, encoder="one", seed=1, **settings):
  return toy.make_setup(
    model_folder,
    output_dir,
    {
      "train": make_examples(32, seed),
      "dev": make_examples(12, 2),
      "test": make_examples(4, 3),
    },
    {"init_checkpoint": str(model_folder / f"{encoder}.keras")},
    make_parts=make_parts,
    **{"do_eval": True, "num_train_epochs": 2.0} | settings,
  )


def make_run(*args, **settings):
  return toy.make_run(make_setup(*args, **settings))


def add_states(setup, experiment):
  """Encodes the rows of a run with the encoder of an `Experiment`."""
  hidden_states.add(toy.make_run(setup), experiment)


@pytest.fixture
def encoded(monkeypatch):
  """The number of rows of each pass of an encoder, list of int."""
  numbers = []
  encode = hidden_states._encode

  def count(experiment, batches, lengths):
    numbers.append(len(lengths))
    return encode(experiment, batches, lengths)

  monkeypatch.setattr(hidden_states, "_encode", count)
  return numbers


@pytest.fixture(scope="module")
def trained(model_folder, tmp_path_factory):
  run = make_run(model_folder, tmp_path_factory.mktemp("trained"))
  run_actions.train(run)
  run_actions.evaluate(run, ["dev", "test"])
  return run


def read(folder, name):
  return (folder / "records" / name).read_bytes()


@pytest.mark.integration
def test_it_is_the_training_that_runs_the_encoder_at_every_step(
  trained, model_folder, tmp_path, monkeypatch, caplog
):
  usage = shutil.disk_usage(tmp_path)._replace(free=100)
  monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
  slow = make_run(model_folder, tmp_path)
  run_actions.train(slow)
  run_actions.evaluate(slow, ["dev"])
  assert "train.hidden_states is not written, as 0.0 GB are" in caplog.text
  assert not list((tmp_path / "records").glob("*.hidden_states*"))

  losses = [
    [entry["loss"] for entry in run_log.read(run.output_dir)]
    for run in (slow, trained)
  ]
  assert len(losses[0]) > 1
  np.testing.assert_allclose(*losses, rtol=0, atol=1e-5)
  for path, expected in toy.weights(slow).items():
    np.testing.assert_allclose(
      toy.weights(trained)[path], expected, atol=1e-4, err_msg=path
    )
  predictions = [
    open(os.path.join(run.output_dir, "dev/predictions.txt")).read()
    for run in (slow, trained)
  ]
  assert predictions[0] == predictions[1]
  assert slow.scores == trained.scores


@pytest.mark.integration
def test_the_folder_holds_a_whole_model(trained, model_folder):
  run = make_run(model_folder, trained.output_dir, do_train=False)
  for split in ("dev", "test"):
    found, expected = (
      run_actions.outputs(x, split)[0]["logits"] for x in (run, trained)
    )
    for one, other in zip(found, expected, strict=True):
      np.testing.assert_allclose(one, other, atol=1e-5)
  # States of rows that are predicted once are not kept.
  names = os.listdir(os.path.join(trained.output_dir, "records"))
  assert {n for n in names if n.endswith("states")} == {*NAMES}


@pytest.mark.slow
def test_all_runs_of_a_search_read_what_the_first_one_wrote(
  model_folder, tmp_path, encoded
):
  settings = {"num_restarts": 2, "num_train_epochs": 1.0}
  search.run(make_setup(model_folder, tmp_path, **settings))
  assert len(scripts.results(tmp_path)["runs"]) == 2
  # The two sentences of a document have the same ids.
  assert encoded == [16, 6]


@pytest.mark.integration
def test_other_weights_or_rows_are_encoded_anew(
  trained, model_folder, tmp_path, encoded
):
  shutil.copytree(f"{trained.output_dir}/records", tmp_path / "records")
  before = read(tmp_path, NAMES[0])
  add_states(make_setup(model_folder, tmp_path), trained.experiment)
  assert encoded == []
  setup = make_setup(model_folder, tmp_path, "other")
  other = toy.make_run(setup).experiment
  add_states(setup, other)
  assert encoded == [16, 6]
  after = read(tmp_path, NAMES[0])
  assert len(after) == len(before) and after != before
  add_states(make_setup(model_folder, tmp_path, "other", seed=4), other)
  assert encoded == [16, 6, 16]  # Of the same dev set.


@pytest.mark.integration
def test_what_was_interrupted_is_begun_again(
  trained, model_folder, tmp_path, monkeypatch
):
  setup = make_setup(model_folder, tmp_path)
  encode = hidden_states._encode

  def stop_in_the_middle(experiment, batches, lengths):
    yield next(encode(experiment, batches, lengths))
    raise KeyboardInterrupt

  with monkeypatch.context() as patch:
    patch.setattr(hidden_states, "_encode", stop_in_the_middle)
    with pytest.raises(KeyboardInterrupt):
      add_states(setup, trained.experiment)
  assert not list((tmp_path / "records").glob("*.hidden_states*"))

  # A file that was whole may lose its end.
  whole = pathlib.Path(trained.output_dir) / "records"
  content = (whole / NAMES[0]).read_bytes()
  (tmp_path / "records" / NAMES[0]).write_bytes(content[:-8])
  name = f"{NAMES[0]}.manifest.json"
  shutil.copy(whole / name, tmp_path / "records" / name)
  add_states(setup, trained.experiment)
  assert read(tmp_path, NAMES[0]) == content


@pytest.mark.integration
def test_a_full_disk_is_one_line(trained, model_folder, tmp_path, monkeypatch):
  def fill(descriptor):
    if "hidden_states" in os.readlink(f"/proc/self/fd/{descriptor}"):
      raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

  monkeypatch.setattr(os, "fsync", fill)
  with pytest.raises(OSError) as error:
    add_states(make_setup(model_folder, tmp_path), trained.experiment)
  line = file_errors.explained(error.value)
  assert "train.hidden_states cannot be written (No space left" in line
  assert "make room" in line
  assert not list((tmp_path / "records").glob("*.hidden_states*"))


@pytest.mark.integration
def test_an_object_store_keeps_none(trained, model_folder, tmp_path, caplog):
  setup = make_setup(model_folder, f"file://{tmp_path}")
  add_states(setup, trained.experiment)
  assert "it can only be in a local folder: the frozen" in caplog.text
  assert not list((tmp_path / "records").glob("*.hidden_states*"))
