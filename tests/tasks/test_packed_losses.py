"""Losses and gradients of packed rows are those of rows of one text."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs
from keras_bert_impl.layers.basics import dropout
from keras_bert_impl.tasks import objectives
from keras_bert_impl.tasks.basics import pretraining
from keras_bert_impl.tasks.masking import masking
from keras_bert_impl.tasks.pretraining import masked_lm
from keras_bert_impl.tokenizers.formats import vocabularies
from tests import architectures

LENGTH, PREDICTIONS = 24, 5
VOCABULARY = vocabularies.Vocabulary(
  (*vocabularies.SPECIAL_TOKENS, *(f"w{k}" for k in range(20)))
)
CONFIG = configs.EncoderConfig(
  vocab_size=VOCABULARY.size,
  hidden_size=16,
  num_hidden_layers=2,
  num_attention_heads=2,
  intermediate_size=32,
  max_position_embeddings=LENGTH,
  hidden_dropout_prob=0.0,
  attention_probs_dropout_prob=0.0,
  initializer_range=0.2,
)
# What a configuration needs for the objective.
CHANGES = {
  "bert": {},
  "roberta": {"position_offset": 2, "max_position_embeddings": LENGTH + 2},
  "spanbert": {},
  "electra": {"embedding_size": 8},
  "left_to_right": {"use_causal_mask": True},
  "right_to_left": architectures.RIGHT_TO_LEFT,
  "bidirectional_pair": architectures.PAIR,
  "modernbert": architectures.MODERNBERT,
  "deberta": architectures.DEBERTA,
  "deberta_v3": architectures.DEBERTA,
}
# Of the texts of two rows.
LENGTHS = ((7, 4, 12), (16, 6))
OF_PREDICTIONS = ("masked_lm_positions", "masked_lm_ids", "masked_lm_weights")


def make_task(name, is_packed):
  objective = objectives.OBJECTIVES[name]
  make_masking = None
  if objective.masking_policy:
    make_masking = masking.Masking(
      VOCABULARY,
      LENGTH,
      PREDICTIONS,
      0.3,
      objective.masking_policy,
      objective.mask_token_prob,
      objective.random_token_prob,
    )
  return objective.make_task(
    dataclasses.replace(CONFIG, **CHANGES[name]),
    pretraining.PretrainingData(LENGTH, make_masking, is_packed=is_packed),
  )


def packed_records():
  """Returns a batch of two clean records, [CLS] A [SEP] [CLS] B [SEP] ..."""
  rng = np.random.default_rng(0)
  ids, texts = [], []
  for lengths in LENGTHS:
    words = [rng.integers(5, VOCABULARY.size, n - 2) for n in lengths]
    ids.append(
      np.concatenate(
        [[VOCABULARY.cls_id, *w, VOCABULARY.sep_id] for w in words]
      )
    )
    texts.append(np.repeat(np.arange(len(lengths)) + 1, lengths))
  return {
    "input_ids": tf.ragged.constant([row.tolist() for row in ids], tf.int64),
    "sequence_ids": tf.ragged.constant([row.tolist() for row in texts]),
  }


def unpacked(batch):
  """Returns a prepared batch with a row for each text, masked alike."""
  rows = []
  for row, lengths in enumerate(LENGTHS):
    ends = np.cumsum(lengths)
    for start, end in zip(ends - lengths, ends, strict=True):
      rows.append(_cut({name: x[row] for name, x in batch.items()}, start, end))
  return {
    name: tf.constant(np.stack([row[name] for row in rows])) for name in rows[0]
  }


def _cut(row, start, end):
  """Returns the row of the text in [start, end) of a packed row."""
  cut = {
    name: np.pad(row[name][start:end], (0, LENGTH - (end - start)))
    for name in ("input_ids", "input_mask", "segment_ids")
  }
  positions, weights = row["masked_lm_positions"], row["masked_lm_weights"]
  is_here = (weights > 0) & (positions >= start) & (positions < end)
  shift = dict.fromkeys(OF_PREDICTIONS, 0) | {"masked_lm_positions": start}
  if "span_boundaries" in row:
    shift["span_boundaries"] = start
  for name, amount in shift.items():
    values = row[name][is_here] - np.array(amount, row[name].dtype)
    padding = [(0, len(is_here) - len(values))] + [(0, 0)] * (values.ndim - 1)
    cut[name] = np.pad(values, padding)
  return cut


def sums_and_gradients(task, model, batch):
  with tf.GradientTape() as tape:
    outputs = model({name: batch[name] for name in model.input})
    losses = task.losses(batch, outputs)
    total = tf.add_n(list(losses.values()))
  variables = [v.value for v in model.trainable_variables]
  gradients = [
    tf.convert_to_tensor(g).numpy() for g in tape.gradient(total, variables)
  ]
  sums = {
    "losses": {name: float(x) for name, x in losses.items()},
    "counts": {n: float(x) for n, x in task.denominators(batch).items()},
  }
  return sums, gradients


@pytest.mark.parametrize("name", CHANGES)
def test_packing_changes_neither_losses_nor_gradients(name, monkeypatch):
  # ELECTRA's draws depend on the row.
  monkeypatch.setattr(dropout, "draw", lambda layer, shape: tf.fill(shape, 0.5))
  task, of_texts = make_task(name, True), make_task(name, False)
  batch = task.prepare(packed_records(), tf.constant([1, 2]))
  batch = {feature: x.numpy() for feature, x in batch.items()}
  model, model_of_texts = task.build_model(), of_texts.build_model()
  model_of_texts.set_weights(model.get_weights())
  found, gradients = sums_and_gradients(task, model, batch)
  expected, expected_gradients = sums_and_gradients(
    of_texts, model_of_texts, unpacked(batch)
  )
  assert found["counts"] == expected["counts"]
  assert found["losses"] == pytest.approx(expected["losses"], rel=1e-5)
  scale = max(np.abs(gradient).max() for gradient in expected_gradients)
  for a, b in zip(gradients, expected_gradients, strict=True):
    np.testing.assert_allclose(a, b, atol=1e-5 * scale)


@pytest.mark.parametrize("name", CHANGES)
def test_fifteen_percent_of_the_row_are_predicted(name):
  batch = make_task(name, True).prepare(packed_records(), tf.constant([1, 2]))
  for row, lengths in enumerate(LENGTHS):
    expected = min(PREDICTIONS, round(0.3 * sum(lengths)))
    if objectives.OBJECTIVES[name].masking_policy is None:
      expected = sum(lengths) - len(lengths)  # all but one of a text
    assert batch["masked_lm_weights"][row].numpy().sum() == expected


def test_a_record_that_is_not_packed_is_a_row_of_one_text():
  records = packed_records()
  del records["sequence_ids"]
  for name in CHANGES:
    batch = make_task(name, True).prepare(dict(records), tf.constant([1, 2]))
    np.testing.assert_array_equal(batch["sequence_ids"], batch["input_mask"])


def test_pairs_are_refused():
  data = pretraining.PretrainingData(
    LENGTH, sentence_loss="next_sentence", is_packed=True
  )
  task = objectives.OBJECTIVES["bert"].make_task(CONFIG, data)
  with pytest.raises(ValueError, match="the rows hold several texts"):
    task.build_model()


def test_a_task_that_does_not_know_packed_rows_refuses_them():
  class Plain(masked_lm.MaskedLanguageModelTask):
    @classmethod
    def make(cls, config, data, options):
      return cls(config, data.masking, None)

  objective = dataclasses.replace(objectives.OBJECTIVES["roberta"], task=Plain)
  data = pretraining.PretrainingData(LENGTH, is_packed=True)
  with pytest.raises(ValueError, match="Plain cannot learn from rows of sever"):
    objective.make_task(CONFIG, data)


def test_every_objective_is_tested_here():
  with_pairs = {
    name for name, x in objectives.OBJECTIVES.items() if x.needs_pairs
  }
  # These refuse packed rows: see `test_permutation` and `test_elmo_encoder`.
  others = {*with_pairs, "xlnet", "elmo"}
  assert CHANGES.keys() == objectives.OBJECTIVES.keys() - others
