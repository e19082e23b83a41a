"""Exported models, loaded as TF Serving loads them, against the eager ones.

`tf.saved_model.load` alone would prove nothing: it also loads what TF Serving
refuses.
"""

import json
import os

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
from tests.serving import all_heads, answers, toy
from tests.serving.loaders import session_process


@pytest.mark.parametrize("name", all_heads.EXPORTED)
def test_every_signature_answers_as_the_eager_model(exports, asked, name):
  for signature, expected in exports[name].head.expected.items():
    for part in answers.PARTS:
      answers.check(asked(name)[signature, part], expected, part)


@pytest.fixture(scope="module")
def made_otherwise(exports, tmp_path_factory):
  """The folder of two exports by other ways, and what they answer."""
  folder = tmp_path_factory.mktemp("otherwise")
  model = exports["encoder"].head.model
  session_process.save_tracking_the_model(model, folder / "tracked")
  toy.write_vocabulary(folder / "vocab.txt")
  session_process.run_module(
    "export_under_strategy", folder / "vocab.txt", folder / "mirrored"
  )
  masked = exports["fill_mask"].head.requests["serving_default"]
  requests = {
    "tracked": (str(folder / "tracked"), "token_ids", all_heads.TOKEN_IDS),
    "mirrored": (str(folder / "mirrored/1"), "serving_default", masked),
  }
  return folder, session_process.ask(folder, requests)


@pytest.mark.slow
def test_a_tracked_model_would_not_have_loaded(exports, made_otherwise):
  folder, answer = made_otherwise
  assert "Could not find variable" in answer["tracked"]
  # Although in Python it loads.
  loaded = tf.saved_model.load(str(folder / "tracked"))
  tensors = {k: tf.constant(v) for k, v in all_heads.TOKEN_IDS.items()}
  outputs = loaded.signatures["token_ids"](**tensors)
  expected = exports["encoder"].head.expected["token_ids"]
  np.testing.assert_allclose(
    outputs["pooled_output"], expected["pooled_output"], atol=1e-5
  )


@pytest.mark.slow
def test_a_bfloat16_model_of_two_replicas_is_exported_as_plain_float32(
  made_otherwise,
):
  folder, answer = made_otherwise
  tokenizer = toy.tokenizer(folder / "vocab.txt")
  model = models.PretrainingModel(toy.config(tokenizer))
  with np.load(folder / "mirrored/weights.npz") as weights:
    model.set_weights(list(weights.values()))
  expected = all_heads.fillings(model, top_k=5)
  answers.check(answer["mirrored"], expected)
  refusal = (folder / "mirrored/refusal.txt").read_text()
  assert "strategy.scope()" in refusal


@pytest.mark.parametrize(
  "name",
  slow.all_but(
    ("classification",),
    [name for name in all_heads.NAMES if name not in all_heads.QUICK],
  ),
)
def test_a_model_in_bfloat16_answers_nearly_the_same(name, tmp_path):
  head = all_heads.make(name, tmp_path)
  path = export.export(
    head.servable, tmp_path / "versions", compute_dtype="bfloat16"
  )
  reader = tf.train.load_checkpoint(os.path.join(path, "variables/variables"))
  dtypes = set(reader.get_variable_to_dtype_map().values())
  assert dtypes - {tf.string} == {tf.bfloat16}
  function = tf.saved_model.load(path).signatures["token_ids"]
  # Nothing is left to be cast at each call but what comes out.
  nodes = function.graph.as_graph_def().library.function
  matrices = [n for f in nodes for n in f.node_def if n.op == "MatMul"]
  assert {n.attr["T"].type for n in matrices} == {tf.bfloat16.as_datatype_enum}
  ids = {k: tf.constant(v) for k, v in all_heads.TOKEN_IDS.items()}
  if name == "multiple_choice":
    ids = {k: v[:, tf.newaxis] for k, v in ids.items()}
  outputs = function(**ids)
  for key, expected in head.expected["token_ids"].items():
    assert outputs[key].dtype == tf.float32
    error = np.abs(outputs[key] - expected)
    assert 0 < error.max() < 0.1


def test_a_model_goes_back_to_float32(tmp_path):
  head = all_heads.make("regression", tmp_path)
  before = [np.array(weight) for weight in head.servable.model_weights]
  head.servable.set_dtypes("bfloat16")
  head.servable.set_dtypes("float32", "float32")
  for weight, first in zip(head.servable.model_weights, before, strict=True):
    assert weight.dtype == tf.float32
    np.testing.assert_array_equal(weight, first)


@pytest.mark.parametrize("name", all_heads.QUICK)
def test_files_for_tf_serving_stand_beside_the_versions(exports, name):
  folder = exports[name].version_dir.parent
  models_config = (folder / "models.config").read_text()
  assert f'name: "{name}"' in models_config
  assert f'base_path: "/models/{name}"' in models_config
  batching = (folder / "batching.config").read_text()
  assert "max_batch_size { value: 32 }" in batching
  # TF Serving pads with a row of a request, and aborts where that has none.
  assert "allowed_batch_sizes" not in batching


def test_a_batching_configuration_that_would_harm_is_removed(
  tmp_path, monkeypatch
):
  # A batch of texts with more and fewer choices would fail as a whole.
  head = all_heads.make("multiple_choice", tmp_path)
  monkeypatch.setattr(tf.saved_model, "save", lambda _, p, **__: os.mkdir(p))
  (tmp_path / "versions").mkdir()
  (tmp_path / "versions/batching.config").write_text("of an earlier export")
  export.export(head.servable, tmp_path / "versions")
  assert sorted(os.listdir(tmp_path / "versions")) == ["1", "models.config"]


def test_a_description_says_what_was_trained(exports):
  head, version_dir = exports["classification_of_pairs"]
  path = version_dir / "assets.extra/model.json"
  assert json.loads(path.read_text(encoding="utf-8")) == {
    "head": "classification",
    "labels": list(all_heads.LABELS),
    "max_seq_length": toy.MAX_SEQ_LENGTH,
    "text_pairs": True,
    "main_script": "Latin",
    "model_name": "classification_of_pairs",
    "compute_dtype": "float32",
    "weights_dtype": "float32",
  }


def test_a_description_says_what_most_of_the_vocabulary_is_written_in(
  tmp_path, monkeypatch
):
  korean = "서울은 대한민국의 수도이며 가장 큰 도시이다".split()
  tokens = [*toy.TOKENS[:5], *korean]
  (tmp_path / "vocab.txt").write_text("\n".join(tokens), encoding="utf-8")
  tokenizer = tokenizers.load(tmp_path, do_lower_case=False)
  config = toy.config(tokenizer, num_hidden_layers=1)
  encoder = models.TransformerEncoder(config)
  servable = text_vectors.EncoderServable(encoder, tokenizer, 16)
  monkeypatch.setattr(tf.saved_model, "save", lambda _, p, **__: os.mkdir(p))
  version_dir = export.export(servable, tmp_path / "versions")
  with open(f"{version_dir}/assets.extra/model.json") as file:
    assert json.load(file)["main_script"] == "Hangul"


def test_only_labels_that_the_model_has_are_described(tokenizer):
  def describe(labels):
    model = models.SequenceClassifier(toy.config(tokenizer), 2)
    names = {"0": "bad", "1": "good"}
    return classification.ClassificationServable(
      model, tokenizer, 16, labels, label_names=names
    ).describe()

  assert describe(("1", "0"))["label_names"] == {"0": "bad", "1": "good"}
  assert "label_names" not in describe(("no", "yes"))


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
  path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
  toy.write_vocabulary(path)
  return toy.tokenizer(path)


@pytest.fixture(scope="module")
def encoder(tokenizer):
  return models.TransformerEncoder(toy.config(tokenizer, num_hidden_layers=1))


@pytest.fixture(scope="module")
def servable(encoder, tokenizer):
  return text_vectors.EncoderServable(encoder, tokenizer, 16)


def test_each_export_is_the_next_version(servable, tmp_path, monkeypatch):
  monkeypatch.setattr(tf.saved_model, "save", lambda _, p, **__: os.mkdir(p))
  (tmp_path / "versions" / "8").mkdir(parents=True)
  path = export.export(servable, tmp_path / "versions")
  assert path == str(tmp_path / "versions" / "9")
  assert sorted(os.listdir(tmp_path / "versions")) == (
    ["8", "9", "batching.config", "models.config"]
  )


def test_an_export_beside_another_takes_the_next_number(
  servable, tmp_path, monkeypatch
):
  written = []

  def write_slowly(module, path, signatures):
    os.makedirs(path)
    written.append(path)
    if len(written) == 1:
      # A whole export, while this one has just begun.
      export.export(servable, tmp_path / "versions")
      # It takes this one's folder for nobody's leftover.
      assert os.path.isdir(path)

  monkeypatch.setattr(tf.saved_model, "save", write_slowly)
  path = export.export(servable, tmp_path / "versions")
  assert path == str(tmp_path / "versions" / "2")
  assert sorted(os.listdir(tmp_path / "versions")) == (
    ["1", "2", "batching.config", "models.config"]
  )


def test_a_number_that_is_taken_at_the_last_moment_is_passed_over(
  servable, tmp_path, monkeypatch
):
  (tmp_path / "versions/1/variables").mkdir(parents=True)
  # Versions before the other export was ready, and those that are there now.
  found = iter([[], ["1"]])
  monkeypatch.setattr(tf.io.gfile, "listdir", lambda _: next(found))
  monkeypatch.setattr(tf.saved_model, "save", lambda _, p, **__: os.mkdir(p))
  path = export.export(servable, tmp_path / "versions")
  assert path == str(tmp_path / "versions" / "2")


def test_what_a_killed_export_left_is_removed(servable, tmp_path, monkeypatch):
  folder = tmp_path / "versions"
  (folder / "tmp-7-1234/variables").mkdir(parents=True)
  (folder / "tmp-mine").mkdir()  # No export is called so.
  monkeypatch.setattr(tf.saved_model, "save", lambda _, p, **__: os.mkdir(p))
  export.export(servable, folder)
  assert sorted(os.listdir(folder)) == (
    ["1", "batching.config", "models.config", "tmp-mine"]
  )


def test_a_failed_export_leaves_nothing(servable, tmp_path, monkeypatch):
  def write_half(module, path, signatures):
    os.makedirs(path)
    raise OSError("disk full")

  monkeypatch.setattr(tf.saved_model, "save", write_half)
  with pytest.raises(OSError, match="disk full"):
    export.export(servable, tmp_path / "versions")
  assert os.listdir(tmp_path / "versions") == []


def test_an_encoder_without_a_pooler_is_exported(tokenizer):
  config = toy.config(tokenizer, num_hidden_layers=1)
  encoder = models.TransformerEncoder(config, use_pooler=False)
  servable = text_vectors.EncoderServable(encoder, tokenizer, 16)
  outputs = servable.signatures["token_ids"](
    **servable.example_inputs["token_ids"]
  )
  assert set(outputs) == {"sequence_output", "embeddings"}
  with pytest.raises(ValueError, match="the encoder has no pooler"):
    text_vectors.EncoderServable(encoder, tokenizer, 16, pooling="pooler")


def test_what_does_not_fit_together_is_refused(encoder, tokenizer, tmp_path):
  make_encoder = text_vectors.EncoderServable
  with pytest.raises(ValueError, match=r"max_seq_length \(25\).*\(24\)"):
    make_encoder(encoder, tokenizer, 25)
  with pytest.raises(ValueError, match=r"max_seq_length \(2\).*at least 3"):
    make_encoder(encoder, tokenizer, 2)
  with pytest.raises(ValueError, match=r"pooling \('median'\).*cls, mean"):
    make_encoder(encoder, tokenizer, 16, pooling="median")
  with pytest.raises(ValueError, match="the weights cls/.* as fill_mask"):
    fill_mask.FillMaskServable(encoder, tokenizer, 16)
  other = models.PretrainingModel(toy.config(tokenizer, vocab_size=7))
  with pytest.raises(ValueError, match=r"vocab.txt .*vocab_size \(7\)"):
    fill_mask.FillMaskServable(other, tokenizer, 16)
  model = models.PretrainingModel(toy.config(tokenizer))
  with pytest.raises(ValueError, match=r"top_k \(21\) must be in .1, 20"):
    fill_mask.FillMaskServable(model, tokenizer, 16, top_k=21)


def test_a_file_or_an_unknown_dtype_is_refused(servable, tmp_path):
  (tmp_path / "file").write_text("")
  with pytest.raises(ValueError, match="file.* is a file: name a folder"):
    export.export(servable, tmp_path / "file")
  with pytest.raises(ValueError, match=r"weights_dtype \('int8'\) .*bfloat16"):
    export.export(servable, tmp_path / "out", weights_dtype="int8")
  with pytest.raises(ValueError, match=r"compute_dtype \('float16'\) .*bfloat"):
    export.export(servable, tmp_path / "out", compute_dtype="float16")
  assert not (tmp_path / "out").exists()


def test_a_name_that_no_path_can_hold_is_refused(servable, tmp_path):
  for name in ("a/b", "a:b"):
    with pytest.raises(ValueError, match="must be without / and :"):
      export.export(servable, tmp_path / "versions", name)
  with pytest.raises(ValueError, match="export_dir is empty"):
    export.export(servable, "")
  assert not (tmp_path / "versions").exists()
