"""Heads that show tokens, with the other kinds of tokenizers, op by op."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import models
from keras_bert_impl.kinds.embeddings.servables import text_vectors
from keras_bert_impl.kinds.fill_mask import fill_mask_servable
from keras_bert_impl.kinds.texts import text_servables
from tests.serving import all_heads, toy

TEXTS = ["the cat sat", "", "hello worldé 中文 한국어", "cat " * 40]
# Bytes that are no UTF-8: one kind keeps them, the other drops them.
BROKEN = [b"the \xff\0cat\xe4\xb8"]


@pytest.fixture(params=["byte_bpe", "sentencepiece"])
def tokenizer(request, tokenizer_of):
  return tokenizer_of(request.param)


def test_masks_are_filled_with_tokens_that_people_can_read(tokenizer):
  model = models.PretrainingModel(toy.config(tokenizer))
  servable = fill_mask_servable.FillMaskServable(model, tokenizer, 16, top_k=3)
  mask = tokenizer.vocabulary.mask_token
  texts = tf.constant([f"the {mask} sat {mask}", "cat", mask])
  answer = {name: x.numpy() for name, x in servable.answer(texts).items()}
  pieces = tokenizer.tokenize_around_masks(texts)
  inputs = tokenizer.assemble(pieces, max_seq_length=16)
  logits = servable.answer_ids(**inputs)["token_logits"].numpy()
  for row, ids in enumerate(inputs["input_ids"].numpy()):
    places = np.flatnonzero(ids == tokenizer.vocabulary.mask_id)
    assert answer["num_masks"][row] == len(places) == [2, 0, 1][row]
    for column, place in enumerate(places):
      best = np.argsort(-logits[row, place])[:3]
      shown = [tokenizer.token_texts[k].decode(errors="replace") for k in best]
      assert [x.decode() for x in answer["tokens"][row, column]] == shown


def test_texts_without_masks_have_none_with_rotary_positions_too(tokenizer_of):
  tokenizer = tokenizer_of("byte_bpe")
  config = toy.config(tokenizer)
  rotary = {"position_embedding_type": "rotary"}
  for changes in ({}, rotary):
    model = models.PretrainingModel(dataclasses.replace(config, **changes))
    servable = fill_mask_servable.FillMaskServable(
      model, tokenizer, 16, top_k=3
    )
    answer = servable.answer(tf.constant(["the cat", ""]))
    assert answer["num_masks"].numpy().tolist() == [0, 0]
    assert answer["tokens"].shape == answer["scores"].shape == (2, 0, 3)


def test_a_pair_is_classified_as_the_tokenizer_joins_it(tokenizer):
  # Byte-level BPE has two separators between the texts and one segment.
  pairs = ["the cat", "", "cat " * 20], ["sat", "cat", "the cat"]
  model = models.SequenceClassifier(toy.config(tokenizer), 3)
  answer = text_servables.ClassificationServable(
    model, tokenizer, 16, all_heads.LABELS, text_pairs=True
  ).answer(*map(tf.constant, pairs))
  logits = model(tokenizer(*pairs, 16), training=False)["logits"].numpy()
  expected = all_heads.softmax(logits)
  np.testing.assert_allclose(answer["probabilities"], expected, atol=1e-5)


def test_tokens_are_text_that_stands_where_they_say(tokenizer):
  encoder = models.TransformerEncoder(toy.config(tokenizer))
  servable = text_vectors.EncoderServable(encoder, tokenizer, 16)
  answer = servable.embed_tokens(tf.constant(TEXTS + BROKEN))
  answer = {name: value.numpy() for name, value in answer.items()}
  pieces = tokenizer.tokenize(TEXTS + BROKEN)
  lengths = np.minimum(pieces.row_lengths(), 14)
  np.testing.assert_array_equal(answer["num_tokens"], lengths)
  for row, text in enumerate(TEXTS):
    for column in range(lengths[row]):
      token = answer["tokens"][row, column].decode("utf-8")
      start, end = (answer[name][row, column] for name in ("starts", "ends"))
      # A part of a character stands for all of it.
      if "\ufffd" not in token and token != "<unk>":
        place = tokenizer.normalize(tf.constant([text[start:end]]))
        assert token.strip() == place.numpy()[0].decode("utf-8").strip()
  assert (answer["tokens"][1] == b"").all()
  assert not answer["embeddings"][1].any()


def test_a_model_takes_no_more_positions_than_it_has(tokenizer):
  encoder = models.TransformerEncoder(toy.config(tokenizer, position_offset=2))
  with pytest.raises(ValueError, match=r"max_seq_length \(23\) .*\(22\)"):
    text_vectors.EncoderServable(encoder, tokenizer, 23)
