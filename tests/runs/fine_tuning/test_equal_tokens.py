"""A token counts as any other: batches by length change nothing but speed."""

import dataclasses
import random

import numpy as np
import pytest

from keras_bert_impl.kinds.answers import question_answering
from keras_bert_impl.kinds.tags import (
  tag_rows,
  tag_scores,
  token_classification,
)
from keras_bert_impl.runs.fine_tuning import fine_tuning_run
from keras_bert_impl.tasks.basics import example_types, fine_tuning
from tests.runs.fine_tuning import toy

LABELS = ("O", "B-ANI")
LENGTH, ROWS, BATCH = 48, 32, 4


def make_run(folder, use_crf=False, **settings):
  """Returns a `Run` of sentences of 1 to 40 words, without dropout."""

  def make_parts(config):
    return fine_tuning.FineTuning(
      tag_rows.TagPreprocessor(LENGTH, LABELS, context="sentence"),
      token_classification.TokenClassificationTask(
        config, LABELS, use_crf=use_crf
      ),
      tag_scores.TagEvaluator(LABELS),
    )

  rng = random.Random(0)
  words = [rng.choices(toy.ANIMALS + toy.FILLERS, k=40) for _ in range(ROWS)]
  words = [row[: rng.choice((1, 2, 40))] for row in words]
  examples = [
    example_types.TaggedSentence(
      tuple(row), tuple("O" if w in toy.FILLERS else "B-ANI" for w in row)
    )
    for row in words
  ]
  toy.write_model(
    folder / "model",
    attention_probs_dropout_prob=0.0,
    max_position_embeddings=LENGTH,
  )
  return toy.make_setup(
    folder / "model",
    folder / "run",
    {"train": examples},
    {"train_batch_size": BATCH, "learning_rate": 0.0, "clip_norm": 0.0},
    make_parts=make_parts,
    max_seq_length=LENGTH,
    num_train_epochs=1.0,
    **settings,
  )


def epoch_gradients(run):
  """Returns the gradients of an epoch, summed, a list, and its lengths."""
  loop, found, lengths = run.experiment.loop, [], set()

  def update_step(gradient, *unused):
    found.append(gradient.numpy())

  loop.optimizer.update_step = update_step
  for batch in run.batches(0).take(ROWS // BATCH):
    lengths.add(batch["input_ids"].shape[1])
    loop.train_step(batch)
  number = len(loop.variables)
  run.close()
  return [sum(found[place::number]) for place in range(number)], lengths


@pytest.mark.parametrize(
  "use_crf", [False, pytest.param(True, marks=pytest.mark.slow)]
)
def test_an_epoch_has_the_same_gradient_in_batches_by_length(tmp_path, use_crf):
  found, lengths = epoch_gradients(make_run(tmp_path / "a", use_crf))
  assert len(lengths) > 1  # Rows are sorted.
  expected, lengths = epoch_gradients(
    make_run(tmp_path / "b", use_crf, bucket_by_length=False)
  )
  assert lengths == {LENGTH}
  largest = max(np.abs(gradient).max() for gradient in expected)
  for ours, theirs in zip(found, expected, strict=True):
    np.testing.assert_allclose(ours, theirs, atol=1e-5 * largest)


def test_a_run_of_an_older_version_goes_on_as_it_was_begun(tmp_path):
  run = make_run(tmp_path)
  found = fine_tuning_run.denominators(run)
  assert found["tag"] > BATCH and run.fixed()["denominators"] == found
  later = dataclasses.replace(run, begun={"learning_rate": 0.0})
  assert not fine_tuning_run.denominators(later)
  assert "denominators" not in later.fixed()


def test_windows_whose_answer_is_unknown_weigh_on_no_other():
  weights = np.array([1.0, 0.0, 1.0, 1.0], np.float32)
  total = question_answering.QuestionAnsweringTask(None).total_denominators(
    {"answer_weights": weights}
  )
  assert total == {"answer_start": 3.0, "answer_end": 3.0}
