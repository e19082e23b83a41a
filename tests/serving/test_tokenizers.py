"""Models with each kind of tokenizer, loaded as TF Serving loads them.

The vocabulary's files are gone by then.
"""

import pickle
import types

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_bert_impl import models, tokenizers
from keras_bert_impl.serving import encoder as encoder_lib
from keras_bert_impl.serving import export, fill_mask
from tests.serving import test_export, toy
from tests.tokenizers import vocabularies

OPTIONS = {
  "byte_bpe": {"add_prefix_space": False},
  "sentencepiece": {"do_lower_case": True, "keep_accents": False},
}
WRITERS = {
  "byte_bpe": vocabularies.write_byte_bpe,
  "sentencepiece": vocabularies.write_sentencepiece,
}
MASKS = {"byte_bpe": "<mask>", "sentencepiece": "[MASK]"}
TEXTS = ["the cat sat", "", "hello worldé 中文 한국어", "cat " * 40]
# Bytes that are no UTF-8: one kind keeps them, the other drops them.
BROKEN = [b"the \xff\0cat\xe4\xb8"]


def _masked(kind):
  mask = MASKS[kind]
  return [f"the {mask} sat {mask}", "cat", f"{mask}"]


@pytest.fixture(scope="module", params=list(WRITERS))
def served(request, tmp_path_factory):
  """A model with its tokenizer, and what its exports answer."""
  kind = request.param
  folder = tmp_path_factory.mktemp(kind)
  (folder / "model").mkdir()
  tokenizer = tokenizers.load(WRITERS[kind](folder / "model"), **OPTIONS[kind])
  keras.utils.set_random_seed(0)
  model = models.PretrainingModel(toy.config(tokenizer))
  length = toy.MAX_SEQ_LENGTH
  encoder_dir = export.export(
    encoder_lib.EncoderServable(model, tokenizer, length), folder / "encoder"
  )
  fill_mask_dir = export.export(
    fill_mask.FillMaskServable(model, tokenizer, length, top_k=3),
    folder / "fill_mask",
  )
  requests = {
    "text": (encoder_dir, "serving_default", {"text": TEXTS + BROKEN}),
    "masks": (fill_mask_dir, "serving_default", {"text": _masked(kind)}),
  }
  for path in (folder / "model").iterdir():
    path.unlink()
  (folder / "requests").write_bytes(pickle.dumps(list(requests.values())))
  test_export.run_module(
    "session_client", folder / "requests", folder / "responses"
  )
  responses = pickle.loads((folder / "responses").read_bytes())
  return types.SimpleNamespace(
    kind=kind,
    folder=folder,
    model=model,
    tokenizer=tokenizer,
    answers=dict(zip(requests, responses, strict=True)),
  )


def _inputs(tokenizer, pieces):
  inputs = tokenizer.assemble(pieces, max_seq_length=toy.MAX_SEQ_LENGTH)
  del inputs["word_ids"]
  return inputs


def test_text_is_encoded_as_by_the_eager_model(served):
  pieces = served.tokenizer.tokenize(TEXTS + BROKEN)
  inputs = _inputs(served.tokenizer, pieces)
  expected = served.model.encoder(inputs, training=False)
  np.testing.assert_allclose(
    served.answers["text"]["embeddings"],
    test_export.mean_of(expected, inputs),
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
  logits = served.model(inputs, training=False)["masked_lm_logits"].numpy()
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


def test_tf_serving_links_every_op(served):
  # Beyond TensorFlow's own: tensorflow_text:ops_lib, all of which TF Serving
  # links. Byte-level BPE needs nothing of it.
  linked = {
    "byte_bpe": set(),
    "sentencepiece": {"NormalizeUTF8", "TFText>FastSentencepieceTokenize"},
  }[served.kind]
  saved = saved_model_pb2.SavedModel.FromString(
    (served.folder / "fill_mask" / "1" / "saved_model.pb").read_bytes()
  )
  (meta_graph,) = saved.meta_graphs
  functions = meta_graph.graph_def.library.function
  nodes = [
    *meta_graph.graph_def.node,
    *(node for function in functions for node in function.node_def),
  ]
  ops = {node.op for node in nodes} - {f.signature.name for f in functions}
  assert {op for op in ops if not hasattr(tf.raw_ops, op)} == linked


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
    encoder_lib.EncoderServable(encoder, tokenizer, 23)
