"""Losses and gradients do not depend on how rows are packed or padded."""

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
from tests import architectures, slow
from tfrecords.reading import by_length

LENGTH, PREDICTIONS, NUM_WORDS = 24, 5, 20
VOCABULARY = vocabularies.Vocabulary(
  (
    *vocabularies.SPECIAL_TOKENS,
    *(f"w{k}" for k in range(NUM_WORDS)),
    "<extra_id_1>",
    "<extra_id_0>",
  )
)
CONFIG = configs.EncoderConfig(
  **architectures.SMALL
  | {
    "vocab_size": VOCABULARY.size,
    "max_position_embeddings": LENGTH,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
  }
)
# What a configuration needs for the objective.
CHANGES = {
  "bert": {"num_hidden_layers": 1},
  "roberta": {"position_offset": 2, "max_position_embeddings": LENGTH + 2},
  "spanbert": {},
  "electra": {"embedding_size": 8},
  "left_to_right": {"use_causal_mask": True},
  "gpt": {"use_causal_mask": True},
  "right_to_left": architectures.RIGHT_TO_LEFT,
  "bidirectional_pair": architectures.PAIR,
  "modernbert": architectures.MODERNBERT,
  "deberta": architectures.DEBERTA,
  "deberta_v3": architectures.DEBERTA,
}
# These refuse packed rows: see `test_permutation` and `test_elmo_encoder`.
UNPACKED = {
  "albert": {"num_hidden_groups": 1},
  "elmo": architectures.ELMO,
  "xlnet": architectures.XLNET,
}
# So do these, whose rows are tested in `test_text_to_text`.
DECODERS = {
  "bart": {"num_decoder_layers": 1},
  "t5": {"num_decoder_layers": 1},
}
# The others have no loss, mask or kind of position of their own here.
QUICK_PACKED = ("spanbert", "electra", "left_to_right", "modernbert")
QUICK_PADDED = ("bidirectional_pair", "xlnet", "bart")
# Of the texts of two rows, and of three rows of one text.
TEXTS = ((7, 4, 12), (16, 6))
ROWS = (7, 12, 3)
OF_PREDICTIONS = ("masked_lm_positions", "masked_lm_ids", "masked_lm_weights")


def make_task(name, is_packed=False, has_pairs=False, **options):
  """Returns the task of an objective, for a tiny configuration.

  Args:
    name: str, of the objective.
    is_packed: as `PretrainingData`.
    has_pairs: bool, whether records are pairs where the objective needs them.
    **options: of the objective.
  """
  objective = objectives.OBJECTIVES[name]
  make_masking = None
  if objective.masking_policy:
    make_masking = masking.make(
      VOCABULARY,
      LENGTH,
      max_predictions_per_seq=PREDICTIONS,
      masked_lm_prob=0.3,
      masking_policy=objective.masking_policy,
      mask_token_prob=objective.mask_token_prob,
      random_token_prob=objective.random_token_prob,
    )
  return objective.task(
    dataclasses.replace(CONFIG, **(CHANGES | UNPACKED | DECODERS)[name]),
    pretraining.PretrainingData(
      LENGTH,
      make_masking,
      objective.sentence_loss if has_pairs else None,
      is_packed=is_packed,
    ),
    objective.options(**options) if options else None,
  )


def records(rows):
  """Returns clean records of rows of texts, [CLS] A [SEP] [CLS] B [SEP] ..."""
  rng = np.random.default_rng(0)
  ids, texts = [], []
  for lengths in rows:
    ids.append([])
    for n in lengths:
      words = rng.integers(5, 5 + NUM_WORDS, n - 2).tolist()
      ids[-1] += [VOCABULARY.cls_id, *words, VOCABULARY.sep_id]
    texts.append(np.repeat(np.arange(len(lengths)) + 1, lengths).tolist())
  return {
    "input_ids": tf.ragged.constant(ids, tf.int64),
    "sequence_ids": tf.ragged.constant(texts),
  }


def unpacked(batch):
  """Returns a prepared batch with a row for each text, masked alike."""
  rows = []
  for row, lengths in enumerate(TEXTS):
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


def check_equal(found, expected):
  """Compares what `sums_and_gradients` returned."""
  (sums, gradients), (expected_sums, expected_gradients) = found, expected
  assert sums["counts"] == expected_sums["counts"]
  assert sums["losses"] == pytest.approx(expected_sums["losses"], rel=1e-5)
  scale = max(np.abs(gradient).max() for gradient in expected_gradients)
  for a, b in zip(gradients, expected_gradients, strict=True):
    np.testing.assert_allclose(a, b, atol=1e-5 * scale)


@pytest.fixture(autouse=True)
def fixture_draws(monkeypatch):
  """Those of ELECTRA's generator depend on the row and the shape."""
  monkeypatch.setattr(dropout, "draw", lambda layer, shape: tf.fill(shape, 0.5))


@pytest.mark.parametrize("name", slow.all_but(QUICK_PACKED, CHANGES))
def test_packing_changes_neither_losses_nor_gradients(name):
  task, of_texts = make_task(name, is_packed=True), make_task(name)
  batch = task.prepare(records(TEXTS), tf.constant([1, 2]))
  batch = {feature: x.numpy() for feature, x in batch.items()}
  model, model_of_texts = task.build_model(), of_texts.build_model()
  model_of_texts.set_weights(model.get_weights())
  check_equal(
    sums_and_gradients(task, model, batch),
    sums_and_gradients(of_texts, model_of_texts, unpacked(batch)),
  )


@pytest.mark.parametrize(
  "name", slow.all_but(QUICK_PADDED, [*CHANGES, *UNPACKED, "bart"])
)
def test_less_padding_changes_neither_losses_nor_gradients(name):
  task = make_task(name, has_pairs=name == "albert")
  model = task.build_model()
  clean = records([[n] for n in ROWS])
  del clean["sequence_ids"]
  clean["next_sentence_labels"] = tf.constant([[0], [1], [1]])
  padded = task.prepare(clean, tf.constant([1, 2]))
  cut = by_length.cut_padding(padded)
  assert padded["input_ids"].shape[1] == LENGTH
  assert cut["input_ids"].shape[1] == 16
  check_equal(
    sums_and_gradients(task, model, cut),
    sums_and_gradients(task, model, padded),
  )


@pytest.mark.parametrize("name", ("roberta", "spanbert", "left_to_right"))
def test_the_predictions_are_a_share_of_the_whole_row(name):
  task = make_task(name, is_packed=True)
  clean = records(TEXTS)
  batch = task.prepare(dict(clean), tf.constant([1, 2]))
  for row, lengths in enumerate(TEXTS):
    expected = min(PREDICTIONS, round(0.3 * sum(lengths)))
    if objectives.OBJECTIVES[name].masking_policy is None:
      expected = sum(lengths) - len(lengths)  # all but one of a text
    assert batch["masked_lm_weights"][row].numpy().sum() == expected
  # A record that is not packed is a row of one text.
  del clean["sequence_ids"]
  batch = task.prepare(clean, tf.constant([1, 2]))
  np.testing.assert_array_equal(batch["sequence_ids"], batch["input_mask"])


def test_what_cannot_be_packed_is_refused():
  data = pretraining.PretrainingData(
    LENGTH, sentence_loss="next_sentence", is_packed=True
  )
  task = masked_lm.MaskedLanguageModelTask(CONFIG, data)
  with pytest.raises(ValueError, match="the rows hold several texts"):
    task.build_model()

  class Plain(masked_lm.MaskedLanguageModelTask):
    can_pack = False

  data = pretraining.PretrainingData(LENGTH, is_packed=True)
  with pytest.raises(ValueError, match="Plain cannot learn from rows of sever"):
    Plain(CONFIG, data)


def test_every_objective_is_tested_here():
  # Rows of a student are those of `roberta`.
  others = ("distil", "next_sentence_words", "next_sentence_ranking")
  tested = {*CHANGES, *UNPACKED, *DECODERS, *others}
  assert tested == objectives.OBJECTIVES.keys()
