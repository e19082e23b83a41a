"""Models with each kind of tokenizer, loaded as TF Serving loads them.

The vocabulary's files are gone by then.
"""

import pathlib
import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import models, tokenizers
from keras_bert_impl.serving import export
from keras_bert_impl.serving.heads import (
  classification,
  fill_mask,
  text_vectors,
)
from tests import slow
from tests.serving import all_heads, session_process, test_linked_ops, toy
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


@pytest.fixture(scope="module", params=slow.all_but(("byte_bpe",), WRITERS))
def served(request, tmp_path_factory):
  """A model with its tokenizer, and what its exports answer."""
  kind = request.param
  folder = tmp_path_factory.mktemp(kind)
  (folder / "model").mkdir()
  tokenizer = tokenizers.load(WRITERS[kind](folder / "model"), **OPTIONS[kind])
  keras.utils.set_random_seed(0)
  model = models.PretrainingModel(toy.config(tokenizer))
  classifier = models.SequenceClassifier(toy.config(tokenizer), len(LABELS))
  arguments = (tokenizer, toy.MAX_SEQ_LENGTH)
  folders = [
    export.export(servable, folder / servable.head)
    for servable in (
      text_vectors.EncoderServable(model, *arguments),
      fill_mask.FillMaskServable(model, *arguments, top_k=3),
      classification.ClassificationServable(
        classifier, *arguments, LABELS, text_pairs=True
      ),
    )
  ]
  for path in (folder / "model").iterdir():
    path.unlink()
  texts, pairs = (
    {"text": TEXTS + BROKEN},
    dict(zip(("text", "text_pair"), PAIRS)),
  )
  answers = session_process.ask(
    folder,
    {
      "text": (folders[0], "serving_default", texts),
      "tokens": (folders[0], "token_embeddings", texts),
      "masks": (folders[1], "serving_default", {"text": _masked(kind)}),
      "pairs": (folders[2], "serving_default", pairs),
    },
  )
  return types.SimpleNamespace(
    kind=kind,
    folder=folder,
    version_dirs=[pathlib.Path(path) for path in folders],
    model=model,
    classifier=classifier,
    tokenizer=tokenizer,
    answers=answers,
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


def test_the_files_of_the_vocabulary_are_assets(served):
  names = {"byte_bpe": {"vocab.json", "merges.txt"}}
  assets = served.folder / "encoder" / "1" / "assets"
  assert {path.name for path in assets.iterdir()} == names.get(
    served.kind, {"spiece.model"}
  )
  # Enough to make the tokenizer again.
  again = tokenizers.load(assets, **OPTIONS[served.kind])
  assert again.tokenize(TEXTS).to_list() == (
    served.tokenizer.tokenize(TEXTS).to_list()
  )


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


def test_tf_serving_links_every_op(served):
  for version_dir in served.version_dirs:
    ops = test_linked_ops.ops_of(version_dir)
    of_others = {op for op in ops if not hasattr(tf.raw_ops, op)}
    assert of_others <= test_linked_ops.TEXT_OPS


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
