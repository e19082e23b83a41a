"""XLNet's objective: what is predicted, in what order, and what each sees."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs
from keras_bert_impl.tasks.basics import pretraining
from keras_bert_impl.tasks.masking import masked_contexts, masking
from keras_bert_impl.tasks.pretraining import permutation
from keras_bert_impl.tokenizers.formats import vocabularies
from tests import architectures

LENGTH, PREDICTIONS, ROWS = 64, 16, 32
VOCABULARY = vocabularies.Vocabulary(
  (
    *vocabularies.SPECIAL_TOKENS,
    *(f"w{k}" for k in range(60)),
    *(f"##x{k}" for k in range(20)),
  )
)
CLS, SEP, PAD = VOCABULARY.cls_id, VOCABULARY.sep_id, VOCABULARY.pad_id
CONFIG = configs.EncoderConfig(
  **architectures.SMALL
  | architectures.XLNET
  | {"vocab_size": VOCABULARY.size, "initializer_range": 0.3}
)


def task_of(**options):
  masks = masking.Masking(
    VOCABULARY, LENGTH, PREDICTIONS, 1 / 6, "context", 0.0, 0.0
  )
  return permutation.PermutationTask(
    CONFIG,
    pretraining.PretrainingData(LENGTH, masks),
    permutation.PermutationOptions(**options),
  )


def make_records():
  """Returns clean records of two segments, and them as a batch."""
  rng = np.random.default_rng(0)
  rows = []
  for size in rng.integers(20, LENGTH - 3, ROWS):
    words = rng.integers(5, VOCABULARY.size, size).tolist()
    half = size // 2
    rows.append([CLS, *words[:half], SEP, *words[half:], SEP])
  labels = np.zeros((ROWS, 1), "int64")
  return rows, {
    "input_ids": tf.ragged.constant(rows, tf.int64),
    "next_sentence_labels": labels,
  }


def prepare(**options):
  rows, records = make_records()
  batch = task_of(**options).prepare(records, tf.constant([1, 2]))
  return rows, {name: values.numpy() for name, values in batch.items()}


def test_cls_moves_to_the_end_and_segments_follow():
  rows, batch = prepare()
  for row, ids, segments in zip(
    rows, batch["input_ids"], batch["segment_ids"], strict=True
  ):
    expected = [*row[1:], CLS]
    assert ids.tolist() == expected + [PAD] * (LENGTH - len(row))
    first = expected.index(SEP) + 1
    rest = len(row) - 1 - first
    padding = [3] * (LENGTH - len(row))
    assert segments.tolist() == [0] * first + [1] * rest + [2] + padding


def test_predictions_are_a_sixth_of_the_ordinary_tokens_as_they_stand():
  rows, batch = prepare()
  weights, positions = batch["masked_lm_weights"], batch["masked_lm_positions"]
  share = weights.sum() / sum(len(row) - 3 for row in rows)
  assert 0.13 < share < 0.2
  np.testing.assert_array_equal(positions >= 0, weights > 0)
  found = np.take_along_axis(batch["input_ids"], positions.clip(0), 1)
  np.testing.assert_array_equal(
    np.where(weights > 0, found, 0), batch["masked_lm_ids"]
  )
  assert not np.isin(found[weights > 0], [CLS, SEP, PAD]).any()


def test_every_other_row_runs_backwards():
  rows, batch = prepare(bi_data=True)
  assert batch["is_reversed"].tolist() == [0, 1] * (ROWS // 2)
  for index, row in enumerate(rows):
    inner = row[1:-1][:: -1 if index % 2 else 1]
    ids = batch["input_ids"][index, : len(row)]
    assert ids.tolist() == [*inner, SEP, CLS]
  order = np.take_along_axis(
    batch["permutation_order"], batch["masked_lm_positions"].clip(0), 1
  )
  assert (order[batch["masked_lm_weights"] > 0] >= 0).all()


def test_nothing_of_the_memory_is_predicted():
  _, batch = prepare(mem_len=24)
  places = batch["masked_lm_positions"][batch["masked_lm_weights"] > 0]
  assert places.min() >= 24 and len(places) > ROWS


@pytest.mark.parametrize(
  "options", [{}, {"bi_data": True, "mem_len": 8}], ids=["plain", "options"]
)
def test_a_prediction_depends_on_those_before_it_alone(options):
  _, batch = prepare(**options)
  model = task_of(**options).build_model()

  def logits(ids):
    inputs = {**batch, "input_ids": ids.astype("int32")}
    return np.asarray(model(inputs)["token_logits"])

  before = logits(batch["input_ids"])
  assert before.shape == (ROWS, PREDICTIONS, VOCABULARY.size)
  weights, places = batch["masked_lm_weights"], batch["masked_lm_positions"]
  order = np.take_along_axis(batch["permutation_order"], places.clip(0), 1)
  rows = np.flatnonzero(weights.sum(1) > 2)
  changed = batch["input_ids"].copy()
  middle = {}
  for row in rows:
    ranked = np.argsort(np.where(weights[row] > 0, order[row], 10**6))
    middle[row] = ranked[1]
    changed[row, places[row, ranked[1]]] = 7
  change = np.abs(logits(changed) - before).max(-1)
  for row in rows:
    is_later = (order[row] > order[row, middle[row]]) & (weights[row] > 0)
    assert (change[row][~is_later & (weights[row] > 0)] == 0).all()
  assert change.max() > 1e-3


def test_spans_have_contexts_of_their_own():
  rng = np.random.default_rng(0)
  begins = tf.constant(rng.random((500, 512)) < 0.8)
  budget = tf.fill([500], 85)
  positions = masked_contexts.choose(
    begins, tf.ones_like(begins), 1 / 6, budget, 90, tf.constant([1, 2])
  ).numpy()
  assert (np.diff(positions[:, :85]) > 0).all()
  assert (positions[:, :85] < 512).all() and (positions[:, 85:] == 512).all()
  chosen = np.zeros((500, 513), bool)
  np.put_along_axis(chosen, positions, True, 1)
  by_column = chosen[:, 5:400].mean(0)
  assert 0.1 < by_column.min() and by_column.max() < 0.25
  # Most words are chosen whole, next to others.
  is_next = ~begins.numpy()[:, 1:]
  same = chosen[:, 1:512] == chosen[:, :511]
  assert same[is_next].mean() > 0.95
  assert 0.5 < chosen[:, 1:512][chosen[:, :511]].mean() < 0.75


def test_wrong_configurations_and_records_are_refused():
  bert = dataclasses.replace(CONFIG, position_embedding_type="learned")
  with pytest.raises(ValueError, match="must be 'transformer_xl'"):
    permutation.PermutationTask(bert)
  with pytest.raises(ValueError, match="mem_len .64. must be below"):
    task_of(mem_len=LENGTH)
  data = pretraining.PretrainingData(LENGTH, is_packed=True)
  with pytest.raises(ValueError, match="cannot learn from rows of several"):
    permutation.XLNET.task(CONFIG, data)
  data = pretraining.PretrainingData(LENGTH, by_length=True)
  options = permutation.PermutationOptions(mem_len=4)
  with pytest.raises(ValueError, match="leave out bucket_by_length"):
    permutation.PermutationTask(CONFIG, data, options)
  _, records = make_records()
  with pytest.raises(ValueError, match="masked already"):
    task_of().prepare(
      {**records, "masked_lm_positions": tf.zeros((ROWS, 2))}, [1, 2]
    )
