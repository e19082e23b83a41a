"""Objectives of decoders: batches, losses as in transformers, and errors."""

import pathlib

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl.tasks import objectives
from keras_bert_impl.tasks.basics import pretraining
from tests.tasks.masking import test_denoising as noise_of

DECODERS = pathlib.Path(__file__).parents[2] / "data/decoders"
SEP = noise_of.SEP
LENGTH, START = 32, 7


def config(preset="bart_base", **changes):
  sizes = {
    "vocab_size": noise_of.VOCABULARY.size,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_decoder_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": LENGTH + 2,
  }
  return kb.EncoderConfig.preset(preset, **sizes | changes)


def task_of(name, **options):
  objective = objectives.OBJECTIVES[name]
  policy, noise = objective.masking_policy, None
  if policy:
    noise = noise_of.noise_of(policy, LENGTH)
  return objective.task(
    config(),
    pretraining.PretrainingData(LENGTH, noise, start_id=START),
    objective.options(**options) if options else None,
  )


def records(*lengths):
  rows = noise_of.rows_of(lengths)
  return {"input_ids": tf.ragged.constant(rows, tf.int64, ragged_rank=1)}


@pytest.mark.parametrize("name", ("bart", "t5"))
def test_a_batch_is_the_padded_noise(name):
  task, clean = task_of(name), records(30, 12, 3)
  rows = tf.RaggedTensor.from_row_splits(
    clean["input_ids"].values, tf.ensure_shape(clean["input_ids"].row_splits, 4)
  )
  batch = task.prepare({"input_ids": rows}, tf.constant([1, 2]))
  read, written = (
    x.to_list() for x in task.data.masking(clean, tf.constant([1, 2])).values()
  )
  sizes = dict(
    zip(("input_ids", "masked_lm_ids"), task.data.masking.lengths, strict=True)
  )
  for name, size in sizes.items():
    assert batch[name].shape == (3, size)
  for k in range(3):
    labels = written[k]
    size = len(labels)
    assert batch["input_ids"][k, : len(read[k])].numpy().tolist() == read[k]
    assert batch["input_mask"][k].numpy().sum() == len(read[k])
    assert batch["masked_lm_ids"][k, :size].numpy().tolist() == labels
    assert batch["masked_lm_weights"][k].numpy().sum() == size
    begun = [START, *labels[:-1]]
    assert batch["decoder_ids"][k, :size].numpy().tolist() == begun


def test_a_share_of_the_rows_of_t5_are_prefixes():
  task = task_of("t5", prefix_lm_share=0.5)
  assert task.lengths == (30, 10)
  batch = task.prepare(records(*[30] * 400), tf.constant([1, 2]))
  # A sentinel, a quarter or 15 % of 30 tokens, and the end.
  number = batch["masked_lm_weights"].numpy().sum(axis=1)
  assert set(number) == {1 + 8 + 1, 1 + 4 + 1}
  assert np.mean(number == 10) == pytest.approx(0.5, abs=0.1)


def test_static_and_dynamic_noise_are_the_same():
  task, seed = task_of("bart"), tf.constant([1, 2])
  clean = records(30, 12)
  made = task.data.masking(clean, seed)
  for name, values in task.prepare(dict(clean), seed).items():
    np.testing.assert_array_equal(values, task.prepare(made, None)[name])
  with pytest.raises(ValueError, match="prefix_lm_share .0.5. needs records"):
    task_of("t5", prefix_lm_share=0.5).prepare(made, seed)


def test_standard_rows_of_gpt_begin_with_the_end_of_a_document():
  task = objectives.OBJECTIVES["gpt"].task(
    config("gpt2", num_decoder_layers=0), pretraining.PretrainingData(LENGTH)
  )
  ids = np.array(noise_of.rows_of([LENGTH - 2] * 2), np.int32)
  is_hidden = np.ones(ids.shape, bool)
  is_hidden[:, [0, -1]] = False
  batch = task.hide(ids, is_hidden, None)
  assert (batch["input_ids"][:, 0].numpy() == SEP).all()
  np.testing.assert_array_equal(batch["input_ids"][:, 1:], ids[:, 1:])
  counted = batch["masked_lm_weights"].numpy() > 0
  labels = batch["masked_lm_ids"].numpy()
  np.testing.assert_array_equal(labels[counted], ids[is_hidden])


@pytest.mark.parametrize("name", ("bart", "t5", "next_sentence_words"))
def test_what_is_written_of_other_texts_has_no_standard_scores(name):
  assert task_of(name).hide(np.zeros((1, 4)), None, None) is None


def test_a_sentence_gives_the_words_of_the_next():
  task = task_of("next_sentence_words")
  texts = {"input_ids": [[2, 9, 3]], "target_ids": [[2, 8, 7, 3]]}
  batch = task.prepare(
    {name: tf.ragged.constant(x, tf.int64) for name, x in texts.items()}, None
  )
  assert batch["input_ids"][0, :3].numpy().tolist() == [2, 9, 3]
  assert batch["decoder_ids"][0, :4].numpy().tolist() == [START, 2, 8, 7]
  assert batch["masked_lm_ids"][0, :4].numpy().tolist() == [2, 8, 7, 3]


def check_loss(loss, found):
  # Those of T5 are in the hundreds, as its scores are not scaled.
  assert float(loss) == pytest.approx(float(found["out.loss"]), 1e-5, 1e-5)


@pytest.mark.parametrize("name", ("bart", "mbart", "t5", "t5_v1_1"))
def test_the_loss_is_that_of_transformers(name):
  folder = DECODERS / name
  model = kb.from_checkpoint(str(folder), heads=True)
  found = np.load(folder / "expected.npz")
  labels = found["in.labels"]
  # A text of the fixture is padded with -100.
  written = tf.ragged.boolean_mask(labels.astype("int32"), labels >= 0)
  mask = found["in.attention_mask"] > 0
  read = tf.ragged.boolean_mask(found["in.input_ids"].astype("int32"), mask)
  start = 2 if "bart" in name else 0
  task = objectives.OBJECTIVES["bart"].task(
    model.config, pretraining.PretrainingData(17, start_id=start)
  )
  batch = task.prepare({"input_ids": read, "target_ids": written}, None)
  outputs = model({name: batch[name] for name in model.input})
  [loss] = task.losses(batch, outputs).values()
  [number] = task.denominators(batch).values()
  check_loss(loss / number, found)


def test_the_loss_of_gpt_is_that_of_transformers():
  folder = DECODERS / "gpt2"
  encoder = kb.from_checkpoint(str(folder))
  found = np.load(folder / "expected.npz")
  task = objectives.OBJECTIVES["gpt"].task(
    encoder.config, pretraining.PretrainingData(17)
  )
  mask = found["in.attention_mask"] > 0
  rows = tf.ragged.boolean_mask(found["in.input_ids"], mask)
  batch = task.prepare({"input_ids": rows}, None)
  model = task.build_model()
  model.set_weights(kb.from_checkpoint(str(folder), heads=True).get_weights())
  outputs = model({name: batch[name] for name in model.input})
  loss = task.losses(batch, outputs)["language_model"]
  number = task.denominators(batch)["language_model"]
  check_loss(loss / number, found)


@pytest.mark.parametrize("name", ("bart", "t5", "next_sentence_words"))
def test_a_configuration_without_decoder_is_refused(name):
  message = f"num_decoder_layers .0. must be at least 1 .* the objective {name}"
  with pytest.raises(ValueError, match=message):
    objectives.OBJECTIVES[name].task(config(num_decoder_layers=0))
