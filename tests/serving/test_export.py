"""Exported models, loaded as TF Serving loads them, against the eager ones.

`tf.saved_model.load` alone would prove nothing: it also loads what TF Serving
refuses.
"""

import os
import pathlib
import pickle
import subprocess
import sys
import types

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_bert_impl import models
from keras_bert_impl.serving import encoder as encoder_lib
from keras_bert_impl.serving import export, fill_mask
from tests.serving import toy

ROOT = pathlib.Path(__file__).parents[2]

# Text and its pieces, by hand.
TEXTS = {
  "The CATS sat.": "the cat ##s sat .",
  "": "",
  "고양이가 앉았다": "고양이 ##가 앉 ##았다",
  "the [MASK]": "the [ mask ]",
  "cat " * 40: "cat " * (toy.MAX_SEQ_LENGTH - 2),
}
MASKED_TEXTS = {
  "The [MASK] sat on [MASK].": "the [MASK] sat on [MASK] .",
  "the cat": "the cat",
  "cat[MASK]s[MASK][MASK]": "cat [MASK] s [MASK] [MASK]",
  "고양이가 [MASK]": "고양이 ##가 [MASK]",
  "": "",
  # Room for 14 pieces: the second mask is cut off.
  "cat " * 13 + "[MASK] [MASK]": "cat " * 13 + "[MASK]",
}
# A sentence pair and a padded one, as a client sends them.
PAIR = {
  "input_ids": np.array([[2, 5, 6, 3, 5, 11, 3], [2, 6, 3, 6, 3, 0, 0]]),
  "input_mask": np.array([[1] * 7, [1, 1, 1, 1, 1, 0, 0]]),
  "segment_ids": np.array([[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 0, 0]]),
}


def batch_of(pieces_of_texts):
  """Returns the encoder's inputs for lists of pieces, without the library."""
  rows = [["[CLS]", *p.split(), "[SEP]"] for p in pieces_of_texts]
  shape = (len(rows), max(map(len, rows)))
  ids, mask = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
  for row, pieces in enumerate(rows):
    ids[row, : len(pieces)] = [toy.TOKENS.index(piece) for piece in pieces]
    mask[row, : len(pieces)] = 1
  return {
    "input_ids": ids,
    "input_mask": mask,
    "segment_ids": np.zeros(shape, np.int32),
  }


def fillings(model, pieces_of_texts, top_k):
  """Returns [(tokens, scores) of each mask] of each text, by the model."""
  inputs = batch_of(pieces_of_texts)
  length = inputs["input_ids"].shape[1]
  inputs["masked_lm_positions"] = np.tile(
    np.arange(length, dtype=np.int32), (len(pieces_of_texts), 1)
  )
  logits = model(inputs, training=False)["masked_lm_logits"].numpy()
  scores = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
  is_mask = inputs["input_ids"] == toy.TOKENS.index("[MASK]")
  return [
    [_best(one, top_k) for one in row[masks]]
    for row, masks in zip(scores, is_mask)
  ]


def _best(scores, top_k):
  ids = np.argsort(-scores)[:top_k]
  return [toy.TOKENS[index] for index in ids], scores[ids]


def run_module(name, *arguments):
  subprocess.run(
    [sys.executable, "-m", f"tests.serving.{name}", *map(str, arguments)],
    check=True,
    cwd=ROOT,
    env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
  )


def save_tracking_the_model(encoder, path):
  """Exports as one would without the recipe: the negative control."""
  module = tf.Module()
  module.model = encoder
  spec = tf.TensorSpec([None, None], tf.int32)
  module.encode = tf.function(
    lambda input_ids, input_mask, segment_ids: encoder(
      {
        "input_ids": input_ids,
        "input_mask": input_mask,
        "segment_ids": segment_ids,
      }
    ),
    input_signature=[spec] * 3,
  )
  tf.saved_model.save(module, str(path), {"token_ids": module.encode})


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
  """Two models, their exports moved away, and all answers of the exports."""
  folder = tmp_path_factory.mktemp("exported")
  vocab_file = folder / "toy_vocab.txt"
  toy.write_vocabulary(vocab_file)
  tokenizer = toy.tokenizer(vocab_file)
  keras.utils.set_random_seed(0)
  model = models.PretrainingModel(toy.config(tokenizer))

  made = folder / "made"
  length = toy.MAX_SEQ_LENGTH
  export.export(
    encoder_lib.EncoderServable(model.encoder, tokenizer, length),
    made / "encoder",
  )
  export.export(
    fill_mask.FillMaskServable(model, tokenizer, length, top_k=3),
    made / "fill_mask",
  )
  save_tracking_the_model(model.encoder, made / "tracked" / "1")
  run_module("export_under_strategy", vocab_file, made / "mirrored")
  moved = made.rename(folder / "moved")
  vocab_file.unlink()

  def version(name):
    return str(moved / name / "1")

  masked = {"text": list(MASKED_TEXTS)}
  requests = {
    "text": (version("encoder"), "serving_default", {"text": list(TEXTS)}),
    "token_ids": (version("encoder"), "token_ids", PAIR),
    "tracked": (version("tracked"), "token_ids", PAIR),
    "masks": (version("fill_mask"), "serving_default", masked),
    "no_masks": (
      version("fill_mask"),
      "serving_default",
      {"text": ["the cat", ""]},
    ),
    "mirrored": (version("mirrored"), "serving_default", masked),
  }
  (folder / "requests").write_bytes(pickle.dumps(list(requests.values())))
  run_module("session_client", folder / "requests", folder / "responses")
  responses = pickle.loads((folder / "responses").read_bytes())
  return types.SimpleNamespace(
    folder=moved,
    model=model,
    answers=dict(zip(requests, responses, strict=True)),
  )


def mean_of(outputs, inputs):
  """Returns the mean of what the encoder says of the tokens of each row."""
  hidden = np.array(outputs["sequence_output"])
  return np.array(
    [
      row[mask == 1].mean(axis=0)
      for row, mask in zip(hidden, inputs["input_mask"], strict=True)
    ]
  )


def test_text_is_encoded_as_by_the_eager_model(exported):
  answer = exported.answers["text"]
  inputs = batch_of(TEXTS.values())
  expected = exported.model.encoder(inputs, training=False)
  assert set(answer) == {"embeddings"}
  assert answer["embeddings"].dtype == np.float32
  np.testing.assert_allclose(
    answer["embeddings"], mean_of(expected, inputs), atol=1e-5
  )


def test_token_ids_are_encoded_as_by_the_eager_model(exported):
  answer = exported.answers["token_ids"]
  expected = dict(exported.model.encoder(PAIR, training=False))
  expected["embeddings"] = mean_of(expected, PAIR)
  assert set(answer) == {"sequence_output", "pooled_output", "embeddings"}
  for name in expected:
    np.testing.assert_allclose(answer[name], expected[name], atol=1e-5)


def test_a_tracked_model_would_not_have_loaded(exported):
  assert "Could not find variable" in exported.answers["tracked"]
  # Although in Python it loads.
  loaded = tf.saved_model.load(str(exported.folder / "tracked" / "1"))
  tensors = {k: tf.constant(v, tf.int32) for k, v in PAIR.items()}
  outputs = loaded.signatures["token_ids"](**tensors)
  expected = exported.model.encoder(PAIR, training=False)
  np.testing.assert_allclose(
    outputs["pooled_output"], expected["pooled_output"], atol=1e-5
  )


def check_fillings(answer, expected, top_k):
  num_masks = [len(masks) for masks in expected]
  np.testing.assert_array_equal(answer["num_masks"], num_masks)
  shape = (len(expected), max(num_masks), top_k)
  assert answer["tokens"].shape == answer["scores"].shape == shape
  for row, masks in enumerate(expected):
    for column, (tokens, scores) in enumerate(masks):
      filled = answer["tokens"][row, column]
      assert [token.decode() for token in filled] == tokens
      np.testing.assert_allclose(
        answer["scores"][row, column], scores, atol=1e-5
      )
    assert (answer["tokens"][row, len(masks) :] == b"").all()
    assert (answer["scores"][row, len(masks) :] == 0).all()


def test_masks_are_filled_as_by_the_eager_model(exported):
  expected = fillings(exported.model, list(MASKED_TEXTS.values()), top_k=3)
  assert [len(masks) for masks in expected] == [2, 0, 3, 1, 0, 1]
  check_fillings(exported.answers["masks"], expected, top_k=3)


def test_texts_without_a_mask_get_no_fillings(exported):
  answer = exported.answers["no_masks"]
  np.testing.assert_array_equal(answer["num_masks"], [0, 0])
  assert answer["tokens"].shape == answer["scores"].shape == (2, 0, 3)


def test_a_bfloat16_model_of_two_replicas_is_exported_as_plain_float32(
  exported,
):
  model = models.PretrainingModel(exported.model.encoder.config)
  with np.load(exported.folder / "mirrored" / "weights.npz") as weights:
    model.set_weights(list(weights.values()))
  expected = fillings(model, list(MASKED_TEXTS.values()), top_k=5)
  check_fillings(exported.answers["mirrored"], expected, top_k=5)
  refusal = (exported.folder / "mirrored" / "refusal.txt").read_text()
  assert "strategy.scope()" in refusal


@pytest.mark.parametrize("name", ["encoder", "fill_mask", "mirrored"])
def test_every_weight_is_stored_once(exported, name):
  # Fill-mask needs neither the pooler nor the next-sentence head.
  weights = {
    weight.path: weight
    for weight in (*exported.model.encoder.weights, *exported.model.weights)
    if name == "encoder"
    and weight.path.startswith("bert/")
    or name != "encoder"
    and not weight.path.startswith(("bert/pooler", "cls/seq_relationship"))
  }
  variables = exported.folder / name / "1" / "variables" / "variables"
  shapes = tf.train.load_checkpoint(str(variables)).get_variable_to_shape_map()
  shapes.pop("_CHECKPOINTABLE_OBJECT_GRAPH")
  stored = sum(int(np.prod(shape)) for shape in shapes.values())
  assert stored == sum(int(np.prod(w.shape)) for w in weights.values())


@pytest.mark.parametrize("name", ["encoder", "fill_mask"])
def test_the_vocabulary_is_an_asset(exported, name):
  (asset,) = (exported.folder / name / "1" / "assets").iterdir()
  assert asset.read_text(encoding="utf-8").split() == toy.TOKENS


@pytest.mark.parametrize("name", ["encoder", "fill_mask"])
def test_tf_serving_links_every_op(exported, name):
  # Beyond TensorFlow's own: of tensorflow-text, in TF Serving since 2.12.
  linked = {
    "FastWordpieceTokenizeWithOffsets",
    "NormalizeUTF8",
    "RegexSplitWithOffsets",
  }
  saved = saved_model_pb2.SavedModel.FromString(
    (exported.folder / name / "1" / "saved_model.pb").read_bytes()
  )
  (meta_graph,) = saved.meta_graphs
  functions = meta_graph.graph_def.library.function
  nodes = [
    *meta_graph.graph_def.node,
    *(node for function in functions for node in function.node_def),
  ]
  ops = {node.op for node in nodes} - {f.signature.name for f in functions}
  assert {op for op in ops if not hasattr(tf.raw_ops, op)} <= linked
  assert not any(f.attr["_XlaMustCompile"].b for f in functions)


@pytest.fixture
def tokenizer(tmp_path):
  toy.write_vocabulary(tmp_path / "vocab.txt")
  return toy.tokenizer(tmp_path / "vocab.txt")


@pytest.fixture
def encoder(tokenizer):
  return models.TransformerEncoder(toy.config(tokenizer, num_hidden_layers=1))


def test_each_export_is_the_next_version(encoder, tokenizer, tmp_path):
  (tmp_path / "versions" / "8").mkdir(parents=True)
  servable = encoder_lib.EncoderServable(encoder, tokenizer, 16)
  path = export.export(servable, tmp_path / "versions")
  assert path == str(tmp_path / "versions" / "9")
  assert sorted(os.listdir(tmp_path / "versions")) == (
    ["8", "9", "batching.config", "models.config"]
  )


def test_a_failed_export_leaves_nothing(
  encoder, tokenizer, tmp_path, monkeypatch
):
  def write_half(module, path, signatures):
    os.makedirs(path)
    raise OSError("disk full")

  monkeypatch.setattr(tf.saved_model, "save", write_half)
  with pytest.raises(OSError, match="disk full"):
    export.export(
      encoder_lib.EncoderServable(encoder, tokenizer, 16),
      tmp_path / "versions",
    )
  assert os.listdir(tmp_path / "versions") == []


def test_an_encoder_without_a_pooler_is_exported(tokenizer):
  config = toy.config(tokenizer, num_hidden_layers=1, use_pooler=False)
  encoder = models.TransformerEncoder(config)
  servable = encoder_lib.EncoderServable(encoder, tokenizer, 16)
  outputs = servable.signatures["token_ids"](
    **servable.example_inputs["token_ids"]
  )
  assert set(outputs) == {"sequence_output", "embeddings"}
  with pytest.raises(ValueError, match="'pooler', but the encoder has none"):
    encoder_lib.EncoderServable(encoder, tokenizer, 16, pooling="pooler")


def test_what_does_not_fit_together_is_refused(encoder, tokenizer, tmp_path):
  make_encoder = encoder_lib.EncoderServable
  with pytest.raises(ValueError, match=r"max_seq_length \(25\).*\(24\)"):
    make_encoder(encoder, tokenizer, 25)
  with pytest.raises(ValueError, match=r"max_seq_length \(2\).*at least 3"):
    make_encoder(encoder, tokenizer, 2)
  with pytest.raises(ValueError, match=r"pooling \('max'\).*cls, mean, pooler"):
    make_encoder(encoder, tokenizer, 16, pooling="max")
  with pytest.raises(ValueError, match="no weights cls/.* as fill_mask"):
    fill_mask.FillMaskServable(encoder, tokenizer, 16)
  other = models.PretrainingModel(toy.config(tokenizer, vocab_size=7))
  with pytest.raises(ValueError, match=r"vocab_size \(7\).*vocab.txt"):
    fill_mask.FillMaskServable(other, tokenizer, 16)
  model = models.PretrainingModel(toy.config(tokenizer))
  with pytest.raises(ValueError, match=r"top_k \(21\).*between 1 and .* 20"):
    fill_mask.FillMaskServable(model, tokenizer, 16, top_k=21)


def test_a_file_or_an_unknown_dtype_is_refused(encoder, tokenizer, tmp_path):
  servable = encoder_lib.EncoderServable(encoder, tokenizer, 16)
  (tmp_path / "file").write_text("")
  with pytest.raises(ValueError, match="file.* is a file: name a folder"):
    export.export(servable, tmp_path / "file")
  with pytest.raises(ValueError, match=r"weights_dtype \('int8'\) .*bfloat16"):
    export.export(servable, tmp_path / "out", weights_dtype="int8")
  assert not (tmp_path / "out").exists()
