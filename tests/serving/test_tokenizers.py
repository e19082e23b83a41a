"""Models with each kind of tokenizer, op by op.

The graphs of these tokenizers are in the exports of `all_heads`.
"""

import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import models, tokenizers
from keras_bert_impl.serving.heads import (
  classification,
  fill_mask,
  text_vectors,
)
from tests.serving import all_heads, toy
from tests.tokenizers import vocabularies

OPTIONS = {
  "byte_bpe": {"add_prefix_space": False},
  "sentencepiece": {"do_lower_case": True, "keep_accents": False},
}
WRITERS = {
  "byte_bpe": vocabularies.write_byte_bpe,
  "sentencepiece": vocabularies.write_sentencepiece,
}
LABELS = ("no", "yes", "maybe")
PAIRS = (["the cat", "", "cat " * 20], ["sat", "cat", "the cat"])
MASKS = {"byte_bpe": "<mask>", "sentencepiece": "[MASK]"}
TEXTS = ["the cat sat", "", "hello worldé 中文 한국어", "cat " * 40]
# Bytes that are no UTF-8: one kind keeps them, the other drops them.
BROKEN = [b"the \xff\0cat\xe4\xb8"]


def _masked(kind):
  mask = MASKS[kind]
  return [f"the {mask} sat {mask}", "cat", f"{mask}"]


@pytest.fixture(scope="module", params=WRITERS)
def served(request, tmp_path_factory):
  """A model with its tokenizer, and what it answers as served."""
  kind = request.param
  folder = tmp_path_factory.mktemp(kind)
  tokenizer = tokenizers.load(WRITERS[kind](folder), **OPTIONS[kind])
  keras.utils.set_random_seed(0)
  model = models.PretrainingModel(toy.config(tokenizer))
  classifier = models.SequenceClassifier(toy.config(tokenizer), len(LABELS))
  arguments = (tokenizer, toy.MAX_SEQ_LENGTH)
  encoder = text_vectors.EncoderServable(model, *arguments)
  filler = fill_mask.FillMaskServable(model, *arguments, top_k=3)
  of_pairs = classification.ClassificationServable(
    classifier, *arguments, LABELS, text_pairs=True
  )
  texts = tf.constant(TEXTS + BROKEN)
  answers = {
    "text": encoder.answer(texts),
    "tokens": encoder.embed_tokens(texts),
    "masks": filler.answer(tf.constant(_masked(kind))),
    "pairs": of_pairs.answer(*map(tf.constant, PAIRS)),
  }
  return types.SimpleNamespace(
    kind=kind,
    model=model,
    classifier=classifier,
    tokenizer=tokenizer,
    answers={
      name: {key: value.numpy() for key, value in answer.items()}
      for name, answer in answers.items()
    },
  )


def _inputs(tokenizer, pieces):
  return tokenizer.assemble(pieces, max_seq_length=toy.MAX_SEQ_LENGTH)


def test_text_is_encoded_as_by_the_eager_model(served):
  pieces = served.tokenizer.tokenize(TEXTS + BROKEN)
  inputs = _inputs(served.tokenizer, pieces)
  expected = served.model.encoder(inputs, training=False)
  mask = inputs["input_mask"].numpy()[:, :, np.newaxis]
  hidden = expected["sequence_output"].numpy() * mask
  np.testing.assert_allclose(
    served.answers["text"]["embeddings"],
    hidden.sum(axis=1) / mask.sum(axis=1),
    atol=1e-5,
  )


def test_masks_are_filled_with_tokens_that_people_can_read(served):
  answer, tokenizer = served.answers["masks"], served.tokenizer
  texts = _masked(served.kind)
  inputs = _inputs(tokenizer, tokenizer.tokenize_around_masks(texts))
  is_mask = inputs["input_ids"].numpy() == tokenizer.vocabulary.mask_id
  np.testing.assert_array_equal(answer["num_masks"], [2, 0, 1])
  np.testing.assert_array_equal(is_mask.sum(1), [2, 0, 1])
  rows, length = is_mask.shape
  inputs["masked_lm_positions"] = tf.tile(tf.range(length)[None], [rows, 1])
  logits = served.model(inputs, training=False)["token_logits"].numpy()
  for row in range(rows):
    for column, place in enumerate(np.flatnonzero(is_mask[row])):
      best = np.argsort(-logits[row, place])[:3]
      assert answer["tokens"][row, column].tolist() == [
        tokenizer.token_texts[index].decode(errors="replace").encode()
        for index in best
      ]


def test_a_pair_is_classified_as_the_tokenizer_joins_it(served):
  # Byte-level BPE has two separators between the texts and one segment.
  inputs = served.tokenizer(*PAIRS, toy.MAX_SEQ_LENGTH)
  logits = served.classifier(inputs, training=False)["logits"].numpy()
  answer = served.answers["pairs"]
  np.testing.assert_allclose(
    answer["probabilities"], all_heads.softmax(logits), atol=1e-5
  )
  assert answer["label"].tolist() == [
    LABELS[index].encode() for index in logits.argmax(axis=1)
  ]


def test_tokens_are_text_that_stands_where_they_say(served):
  answer = served.answers["tokens"]
  pieces = served.tokenizer.tokenize(TEXTS + BROKEN)
  lengths = np.minimum(pieces.row_lengths(), toy.MAX_SEQ_LENGTH - 2)
  np.testing.assert_array_equal(answer["num_tokens"], lengths)
  for row, text in enumerate(TEXTS):
    for column in range(lengths[row]):
      token = answer["tokens"][row, column].decode("utf-8")
      start, end = (answer[name][row, column] for name in ("starts", "ends"))
      # A part of a character stands for all of it.
      if "\ufffd" not in token and token != "<unk>":
        place = served.tokenizer.normalize(tf.constant([text[start:end]]))
        assert token.strip() == place.numpy()[0].decode("utf-8").strip()
  assert (answer["tokens"][1] == b"").all()
  assert not answer["embeddings"][1].any()


def test_a_byte_level_mask_takes_the_blank_before_it(tmp_path):
  tokenizer = tokenizers.load(vocabularies.write_byte_bpe(tmp_path))
  ids = tokenizer.tokenize_around_masks(["the  <mask> cat"])[0].numpy()
  assert [tokenizer.vocabulary.tokens[index] for index in ids] == (
    ["t", "he", "<mask>", "Ġcat"]
  )


def test_a_model_takes_no_more_positions_than_it_has(tmp_path):
  tokenizer = tokenizers.load(vocabularies.write_byte_bpe(tmp_path))
  config = toy.config(tokenizer, num_hidden_layers=1, position_offset=2)
  encoder = models.TransformerEncoder(config)
  with pytest.raises(ValueError, match=r"max_seq_length \(23\) .*\(22\)"):
    text_vectors.EncoderServable(encoder, tokenizer, 23)
