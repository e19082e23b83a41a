"""A student learns from teachers, on a tiny model."""

import collections
import dataclasses

import numpy as np
import pytest

from keras_bert_impl import features
from keras_bert_impl.kinds.texts import sequence_regression
from keras_bert_impl.runs.fine_tuning import run_actions, search, teaching
from keras_bert_impl.tasks.basics import distillation
from tests.official_tasks import scripts
from tests.runs.fine_tuning import toy
from tests.runs.labelled_data import test_hidden_states as tagging


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("model")
  toy.write_model(folder)
  return folder


def train(model_folder, output_dir, **arguments):
  """Returns a finished run."""
  setup = toy.make_setup(
    model_folder, output_dir, **{"num_train_epochs": 4.0} | arguments
  )
  run = toy.make_run(with_teaching(setup))
  run_actions.train(run)
  return run


def with_teaching(setup):
  """Returns a `Run` with the teachers of its settings, as `Job` makes it."""
  if not setup.settings.teachers:
    return setup
  taught = teaching.Teaching(setup.fine_tuning, setup.data, setup.settings)
  return dataclasses.replace(setup, teaching=taught)


@pytest.fixture(scope="module")
def teacher(model_folder, tmp_path_factory):
  return train(model_folder, tmp_path_factory.mktemp("teacher"))


def unlabelled(number):
  """Examples whose labels say nothing: all are animals."""
  return [
    dataclasses.replace(example, label="animal")
    for example in toy.make_examples(number, 1)
  ]


@pytest.mark.integration
def test_a_student_learns_what_no_label_says(model_folder, teacher, tmp_path):
  splits = {"train": unlabelled(96), "dev": toy.make_examples(40, 2)}
  run = train(
    model_folder,
    tmp_path,
    splits=splits,
    teacher_checkpoint=(teacher.output_dir,),
    distillation_weight=1.0,
  )
  right = run_actions.score(teacher, "dev")["accuracy"]
  assert right > 0.8
  assert run_actions.score(run, "dev")["accuracy"] > right - 0.1


@pytest.mark.slow
def test_teachers_outputs_are_kept_and_averaged(
  model_folder, teacher, tmp_path
):
  other = train(model_folder, tmp_path / "other", num_train_epochs=1.0)
  paths = (teacher.output_dir, other.output_dir)
  setup = toy.make_setup(
    model_folder, tmp_path / "student", teacher_checkpoint=paths
  )
  rows = with_teaching(setup).rows("train")
  found = rows[f"{distillation.PREFIX}logits"]
  outputs = [run_actions.outputs(x, "train")[0] for x in (teacher, other)]
  expected = np.mean([each["logits"] for each in outputs], axis=0)
  np.testing.assert_allclose(found, expected, atol=1e-5)
  assert list(rows[features.INPUT_IDS][5]) == list(
    setup.data.rows("train")[features.INPUT_IDS][5]
  )


@pytest.mark.integration
def test_another_weight_or_no_teacher_does_not_continue_a_run(
  model_folder, teacher, tmp_path
):
  options = {"num_train_epochs": 1.0}
  train(
    model_folder, tmp_path, teacher_checkpoint=(teacher.output_dir,), **options
  )
  for change in (
    {},
    {"teacher_checkpoint": (teacher.output_dir,), "distillation_weight": 0.1},
  ):
    with pytest.raises(ValueError, match="holds a run with distillation"):
      train(model_folder, tmp_path, **options, **change)


@pytest.mark.integration
def test_a_search_asks_its_teacher_once(
  model_folder, teacher, tmp_path, monkeypatch
):
  calls = collections.Counter()
  outputs = teaching._Teacher.outputs

  def counted(self, split):
    calls[split] += 1
    return outputs(self, split)

  monkeypatch.setattr(teaching._Teacher, "outputs", counted)
  setup = toy.make_setup(
    model_folder,
    tmp_path,
    teacher_checkpoint=(teacher.output_dir,),
    num_restarts=2,
    num_train_epochs=1.0,
  )
  results = search.run(with_teaching(setup))
  assert results["num_runs"] == 2
  assert calls == {"train": 1}


@pytest.mark.integration
def test_a_teacher_of_texts_has_its_own_tokens(teacher, tmp_path):
  words = [*reversed(scripts.WORDS)]
  toy.write_model(tmp_path / "model")
  tokens = (tmp_path / "model/vocab.txt").read_text().split("\n")
  places = [tokens.index(word) for word in words if word in tokens]
  for place, token in zip(sorted(places), [tokens[p] for p in places]):
    tokens[place] = token
  (tmp_path / "model/vocab.txt").write_text("\n".join(tokens))
  setup = toy.make_setup(
    tmp_path / "model",
    tmp_path / "student",
    teacher_checkpoint=(teacher.output_dir,),
  )
  found = with_teaching(setup).rows("train")[f"{distillation.PREFIX}logits"]
  expected = run_actions.outputs(teacher, "train")[0]["logits"]
  np.testing.assert_allclose(found, expected, atol=1e-5)
  ours = setup.data.rows("train")[features.INPUT_IDS]
  theirs = teacher.data.rows("train")[features.INPUT_IDS]
  assert [*ours[0]] != [*theirs[0]]


def tagged(model_folder, output_dir, **settings):
  return toy.make_setup(
    model_folder,
    output_dir,
    {"train": tagging.make_examples(16, 1)},
    make_parts=tagging.make_parts,
    num_train_epochs=1.0,
    **settings,
  )


@pytest.mark.integration
def test_tags_are_taught_token_by_token(tmp_path):
  toy.write_model(tmp_path / "model", num_hidden_layers=2)
  setup = tagged(tmp_path / "model", tmp_path / "teacher")
  run_actions.train(setup)
  options = {"teacher_checkpoint": (str(tmp_path / "teacher"),)}
  run = with_teaching(
    tagged(tmp_path / "model", tmp_path / "student", **options)
  )
  run_actions.train(run)  # From its frozen encoder's layers, too.
  found = run.rows("train")[f"{distillation.PREFIX}logits"]
  expected = run_actions.outputs(setup, "train")[0]["logits"]
  for ours, theirs in zip(found, expected, strict=True):
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
  history = [*run.folder.results["train"]]
  assert "steps" in history

  vocabulary = tmp_path / "model/vocab.txt"
  vocabulary.write_text(vocabulary.read_text().replace("cat", "zebra"))
  run = tagged(tmp_path / "model", tmp_path / "other", **options)
  with pytest.raises(ValueError, match="has another tokenizer than the studen"):
    run_actions.train(with_teaching(run))


@pytest.mark.integration
def test_a_teacher_that_does_not_fit_is_refused(
  model_folder, teacher, tmp_path
):
  def parts_of(config):
    parts = toy.make_parts(config)
    labels = ("animal", "plant")
    task = dataclasses.replace(parts.task, labels=labels)
    return dataclasses.replace(parts, task=task)

  options = {"teacher_checkpoint": (teacher.output_dir,)}
  for make_parts, message in (
    (parts_of, "has the labels animal, thing, but the student animal, plant:"),
    (tagging.make_parts, "head classification, which cannot teach token_class"),
  ):
    setup = toy.make_setup(
      model_folder, tmp_path, make_parts=make_parts, **options
    )
    with pytest.raises(ValueError, match=message):
      with_teaching(setup).rows("train")


def test_the_loss_is_that_of_hinton_et_al():
  rng = np.random.default_rng(0)
  logits, taught = rng.normal(size=(2, 5, 3)).astype(np.float32)
  labels = np.array([0, 1, 2, 1, 0], np.int32)
  mask = np.array([[1], [1], [1], [1], [0]], np.int32)  # The last is padding.
  config = None
  task = toy.make_parts(config).task
  task = dataclasses.replace(task, labels=("a", "b", "c"))
  student = distillation.DistilledTask(task, temperature=3.0, weight=0.7)
  batch = {
    "input_mask": mask,
    "label_ids": labels,
    f"{distillation.PREFIX}logits": taught,
  }

  def log_softmax(x):
    return x - np.log(np.sum(np.exp(x), axis=-1, keepdims=True))

  hard = -log_softmax(logits)[np.arange(5), labels]
  p, q = log_softmax(taught / 3), log_softmax(logits / 3)
  soft = 9 * np.sum(np.exp(p) * (p - q), axis=-1)
  expected = np.sum((0.3 * hard + 0.7 * soft)[:4])
  found = student.losses(batch, {"logits": logits})["label"]
  np.testing.assert_allclose(found, expected, rtol=1e-5)
  loss, number = student.metrics(batch, {"logits": logits})[
    "label_distillation"
  ]
  np.testing.assert_allclose(loss / number, soft[:4].mean(), rtol=1e-5)


def test_scores_are_drawn_to_those_of_the_teacher():
  task = sequence_regression.SequenceRegressionTask(None)
  student = distillation.DistilledTask(task, temperature=2.0, weight=0.25)
  batch = {
    "input_mask": np.ones((2, 1), np.int32),
    "label_ids": np.array([1.0, 2.0], np.float32),
    f"{distillation.PREFIX}logits": np.array([[3.0], [1.0]], np.float32),
  }
  outputs = {"logits": np.array([[2.0], [2.0]], np.float32)}
  expected = 0.75 * 1.0 + 0.25 * 2.0
  assert float(student.losses(batch, outputs)["label"]) == expected
