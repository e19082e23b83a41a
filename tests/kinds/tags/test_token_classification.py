"""The loss of tags, and what each approach trains."""

import collections

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.kinds.tags import token_classification
from tests.kinds.tags.tagged import LABELS, preprocessor, sentence
from tests.tasks.basics import steps
from tests.tasks.basics.parts import CONFIG
from tfrecords.labelled import length_batches, row_files


def make_batches(examples, tokenizer, folder, batch_size, length):
  """Returns the batches of sentences, all padded to a length."""
  columns, counts = preprocessor().columns, collections.Counter()
  rows = preprocessor().make_rows(examples, tokenizer, counts)
  path = str(folder / "rows")
  row_files.write(path, rows, columns, {}, counts)
  rows = row_files.read(path, columns)
  return [
    *length_batches.evaluation_batches(rows, batch_size, (length,), False)[0]
  ]


@pytest.mark.parametrize(
  ("approach", "use_crf"),
  [
    ("fine_tuning", False),
    ("fine_tuning", True),
    ("features", False),
    # Its parts are those of the others.
    pytest.param("fine_tuning_bilstm", True, marks=pytest.mark.slow),
  ],
)
def test_a_step_lowers_the_loss_of_first_pieces_alone(
  tokenizer, tmp_path, approach, use_crf
):
  task = token_classification.TokenClassificationTask(
    CONFIG, LABELS, approach, lstm_width=2, use_crf=use_crf
  )
  examples = [sentence("playing a hello b", "B-PER O B-LOC O")] * 3
  # The fourth row of the batch is padding.
  [batch] = make_batches(examples, tokenizer, tmp_path, 4, 8)
  assert task.denominators(batch)["tag"] == 12.0
  model = task.build_model()
  steps.check_loss_falls(task, model, batch, "tag")
  is_trained = "bert/embeddings/word_embeddings" in [
    variable.path for variable in model.trainable_variables
  ]
  assert is_trained == (approach != "features")


def randomize(model):
  """Gives a field scores that are not zero."""
  rng = np.random.default_rng(0)
  for weight in model.weights:
    if weight.path.startswith("crf/"):
      weight.assign(rng.normal(size=weight.shape))
  return model


def test_the_loss_of_paths_is_that_of_the_rows_however_they_are_batched(
  tokenizer, tmp_path
):
  task = token_classification.TokenClassificationTask(
    CONFIG, LABELS, use_crf=True
  )
  model = randomize(task.build_model())
  examples = [
    sentence("playing a hello b", "B-PER O B-LOC O", "document"),
    sentence("a", "B-LOC", "document"),
    sentence("hello the playing", "O B-PER I-PER"),
  ]
  # One by one, and all at once with more padding.
  found = [
    sum(
      float(task.losses(batch, model(batch))["tag"])
      for batch in make_batches(examples, tokenizer, tmp_path, size, length)
    )
    for size, length in ((1, 8), (3, 16))
  ]
  np.testing.assert_allclose(found, found[0], rtol=1e-5)


@pytest.mark.xla
@pytest.mark.slow  # Compiles what the test above computes.
def test_xla_compiles_a_step_of_paths(tokenizer, tmp_path):
  task = token_classification.TokenClassificationTask(
    CONFIG, LABELS, use_crf=True
  )
  model = randomize(task.build_model())
  variables = [v.value for v in model.trainable_variables]
  examples = [sentence("playing a hello b", "B-PER O B-LOC O")] * 3
  [batch] = make_batches(examples, tokenizer, tmp_path, 4, 8)

  def step():
    with tf.GradientTape() as tape:
      loss = task.losses(batch, model(batch))["tag"]
    gradients = tape.gradient(loss, variables)
    return [loss, *map(tf.convert_to_tensor, gradients)]

  compiled = tf.function(step, jit_compile=True)()
  for found, expected in zip(compiled, step(), strict=True):
    np.testing.assert_allclose(found, expected, atol=1e-4)
