"""The loss of tags, and what each approach trains."""

import collections

import pytest
import tensorflow as tf

from keras_bert_impl import choices, tokenizers
from keras_bert_impl.tasks import token_classification
from tests.tasks.parts import CONFIG
from tests.tasks.tagged import LABELS, preprocessor, sentence
from tests.tokenizers import vocabularies
from tfrecords.labelled import length_batches
from tfrecords.labelled import rows as rows_lib


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
  return tokenizers.load(vocabularies.write(tmp_path_factory.mktemp("vocab")))


@pytest.mark.parametrize("approach", choices.APPROACHES)
def test_training_lowers_the_loss_of_first_pieces_alone(
  tokenizer, tmp_path, approach
):
  task = token_classification.TokenClassificationTask(
    CONFIG, LABELS, approach, lstm_width=8
  )
  columns = preprocessor().columns
  examples = [sentence("playing a hello b", "B-PER O B-LOC O")] * 3
  path = str(tmp_path / "rows")
  counts = collections.Counter()
  rows_lib.write(
    path,
    preprocessor().make_rows(examples, tokenizer, counts),
    columns,
    {},
    counts,
  )
  rows = rows_lib.read(path, columns)
  # The fourth row of the batch is padding.
  batches, _ = length_batches.evaluation_batches(rows, 4, (16,))
  [batch] = batches
  assert task.denominators(batch)["tag"] == 12.0
  model = task.build_model()
  variables = [v.value for v in model.trainable_variables]
  optimizer = tf.keras.optimizers.Adam(0.02)
  losses = []
  for _ in range(8):
    with tf.GradientTape() as tape:
      loss = task.losses(batch, model(batch))["tag"]
    losses.append(float(loss))
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
  assert losses[-1] < 0.8 * losses[0]
  assert ("bert/embeddings/word_embeddings" in _trained(model)) == (
    approach != "features"
  )


def _trained(model):
  return [variable.path for variable in model.trainable_variables]
