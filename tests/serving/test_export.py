"""Exported models, loaded as TF Serving loads them, against the eager ones.

`tf.saved_model.load` alone would prove nothing: it also loads what TF Serving
refuses, see `test_cpp_loader`.
"""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import models, tokenizers
from keras_bert_impl.kinds.embeddings.servables import text_vectors
from keras_bert_impl.kinds.fill_mask import fill_mask_servable
from keras_bert_impl.kinds.texts import text_servables
from keras_bert_impl.serving import export
from tests.serving import all_heads, answers, toy
from tests.serving.loaders import sessions


@pytest.mark.parametrize("name", all_heads.QUICK)
def test_every_signature_answers_a_session_as_the_eager_model(exports, name):
  head, version_dir = exports[name]
  for signature, expected in head.expected.items():
    is_default = signature == "serving_default"
    for part in answers.PARTS if is_default else ("all",):
      inputs = answers.part_of(head.requests[signature], part)
      answer = sessions.ask(version_dir, signature, inputs)
      answers.check(answer, expected, part)


@pytest.mark.slow
def test_a_bfloat16_model_of_two_replicas_is_exported_as_plain_float32(
  tokenizer, tmp_path
):
  module = "tests.serving.loaders.export_under_strategy"
  subprocess.run(
    [sys.executable, "-m", module, tmp_path],
    check=True,
    cwd=pathlib.Path(__file__).parents[2],
    env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
  )
  model = models.PretrainingModel(toy.config(tokenizer))
  with np.load(tmp_path / "weights.npz") as weights:
    model.set_weights(list(weights.values()))
  exported = tf.saved_model.load(str(tmp_path / "mirrored/1"))
  texts = list(all_heads.MASKED_TEXTS)
  answer = exported.signatures["serving_default"](text=tf.constant(texts))
  answers.check(
    {name: value.numpy() for name, value in answer.items()},
    all_heads.fillings(model, top_k=5),
  )
  assert "strategy.scope()" in (tmp_path / "refusal.txt").read_text()


def check_computes_in_bfloat16(function, ids, head):
  """Checks a function of ids; its weights are stored so."""
  # Nothing is left to be cast at each call but what comes out.
  graph = function.graph.as_graph_def()
  nodes = [
    *graph.node,
    *(n for f in graph.library.function for n in f.node_def),
  ]
  dtypes = {node.attr["T"].type for node in nodes if node.op == "MatMul"}
  assert dtypes == {tf.bfloat16.as_datatype_enum}
  outputs = function(**{name: tf.constant(x) for name, x in ids.items()})
  for key, expected in head.expected["token_ids"].items():
    assert outputs[key].dtype == tf.float32
    error = np.abs(outputs[key] - expected)
    assert 0 < error.max() < 0.1


def test_a_model_in_bfloat16_answers_nearly_the_same(tmp_path):
  head = all_heads.make("classification_of_pairs", tmp_path)
  before = [np.array(weight) for weight in head.servable.model_weights]
  head.servable.set_dtypes("bfloat16")
  assert {w.dtype for w in head.servable.model_weights} == {tf.bfloat16}
  function = head.servable.signatures["token_ids"].get_concrete_function()
  check_computes_in_bfloat16(function, all_heads.TOKEN_IDS, head)
  head.servable.set_dtypes("float32", "float32")
  for weight, first in zip(head.servable.model_weights, before, strict=True):
    assert weight.dtype == tf.float32
    np.testing.assert_array_equal(weight, first)


@pytest.mark.slow
@pytest.mark.parametrize(
  "name", [name for name in all_heads.NAMES if name not in all_heads.QUICK]
)
def test_a_model_in_bfloat16_is_exported(name, tmp_path):
  head = all_heads.make(name, tmp_path)
  path = export.export(
    head.servable, tmp_path / "versions", compute_dtype="bfloat16"
  )
  reader = tf.train.load_checkpoint(os.path.join(path, "variables/variables"))
  dtypes = set(reader.get_variable_to_dtype_map().values())
  assert dtypes - {tf.string} == {tf.bfloat16}
  function = tf.saved_model.load(path).signatures["token_ids"]
  check_computes_in_bfloat16(function, head.requests["token_ids"], head)


def test_files_for_tf_serving_stand_beside_the_versions(exports):
  name = all_heads.QUICK[0]
  folder = exports[name].version_dir.parent
  models_config = (folder / "models.config").read_text()
  assert f'name: "{name}"' in models_config
  assert f'base_path: "/models/{name}"' in models_config
  batching = (folder / "batching.config").read_text()
  assert "max_batch_size { value: 32 }" in batching
  # TF Serving pads with a row of a request, and aborts where that has none.
  assert "allowed_batch_sizes" not in batching


def test_a_batching_configuration_that_would_harm_is_removed(
  tmp_path, without_saving
):
  # A batch of texts with more and fewer choices would fail as a whole.
  head = all_heads.make("multiple_choice", tmp_path)
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
  tmp_path, without_saving
):
  korean = "서울은 대한민국의 수도이며 가장 큰 도시이다".split()
  tokens = [*toy.TOKENS[:5], *korean]
  (tmp_path / "vocab.txt").write_text("\n".join(tokens), encoding="utf-8")
  tokenizer = tokenizers.load(tmp_path, do_lower_case=False)
  encoder = models.TransformerEncoder(toy.config(tokenizer))
  servable = text_vectors.EncoderServable(encoder, tokenizer, 16)
  version_dir = export.export(servable, tmp_path / "versions")
  with open(f"{version_dir}/assets.extra/model.json") as file:
    assert json.load(file)["main_script"] == "Hangul"


def test_only_labels_that_the_model_has_are_described(tokenizer):
  def describe(labels):
    model = models.SequenceClassifier(toy.config(tokenizer), 2)
    names = {"0": "bad", "1": "good"}
    return text_servables.ClassificationServable(
      model, tokenizer, 16, labels, label_names=names
    ).describe()

  assert describe(("1", "0"))["label_names"] == {"0": "bad", "1": "good"}
  assert "label_names" not in describe(("no", "yes"))


@pytest.fixture(scope="module")
def encoder(tokenizer):
  return models.TransformerEncoder(toy.config(tokenizer))


@pytest.fixture(scope="module")
def servable(encoder, tokenizer):
  return text_vectors.EncoderServable(encoder, tokenizer, 16)


def test_each_export_is_the_next_version_and_removes_what_killed_ones_left(
  servable, tmp_path, without_saving
):
  # No export has a name like the last one.
  for name in ("8", "tmp-7-1234/variables", "tmp-mine"):
    (tmp_path / name).mkdir(parents=True)
  assert export.export(servable, tmp_path) == str(tmp_path / "9")
  left = ["8", "9", "batching.config", "models.config", "tmp-mine"]
  assert sorted(os.listdir(tmp_path)) == left


def test_an_export_beside_another_takes_the_next_number(
  servable, tmp_path, monkeypatch
):
  written = []

  def write_slowly(module, path, signatures):
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
  servable, tmp_path, monkeypatch, without_saving
):
  (tmp_path / "versions/1/variables").mkdir(parents=True)
  # Versions before the other export was ready, and those that are there now.
  found = iter([[], ["1"]])
  monkeypatch.setattr(tf.io.gfile, "listdir", lambda _: next(found))
  path = export.export(servable, tmp_path / "versions")
  assert path == str(tmp_path / "versions" / "2")


def test_a_failed_export_leaves_nothing(servable, tmp_path, monkeypatch):
  def write_half(module, path, signatures):
    (pathlib.Path(path) / "saved_model.pb").write_bytes(b"half")
    raise OSError("disk full")

  monkeypatch.setattr(tf.saved_model, "save", write_half)
  with pytest.raises(OSError, match="disk full"):
    export.export(servable, tmp_path / "versions")
  assert os.listdir(tmp_path / "versions") == []


def test_an_encoder_without_a_pooler_is_exported(tokenizer):
  encoder = models.TransformerEncoder(toy.config(tokenizer), use_pooler=False)
  servable = text_vectors.EncoderServable(encoder, tokenizer, 16)
  outputs = servable.answer_ids(**tokenizer(["the cat"]))
  assert set(outputs) == {"sequence_output", "embeddings"}
  with pytest.raises(ValueError, match="the encoder has no pooler"):
    text_vectors.EncoderServable(encoder, tokenizer, 16, pooling="pooler")


def test_what_does_not_fit_together_is_refused(encoder, tokenizer):
  make_encoder = text_vectors.EncoderServable
  with pytest.raises(ValueError, match=r"max_seq_length \(25\).*\(24\)"):
    make_encoder(encoder, tokenizer, 25)
  with pytest.raises(ValueError, match=r"max_seq_length \(2\).*at least 3"):
    make_encoder(encoder, tokenizer, 2)
  with pytest.raises(ValueError, match=r"pooling \('median'\).*cls, mean"):
    make_encoder(encoder, tokenizer, 16, pooling="median")
  with pytest.raises(ValueError, match="the weights cls/.* as fill_mask"):
    fill_mask_servable.FillMaskServable(encoder, tokenizer, 16)
  other = models.PretrainingModel(toy.config(tokenizer, vocab_size=7))
  with pytest.raises(ValueError, match=r"vocab.txt .*vocab_size \(7\)"):
    fill_mask_servable.FillMaskServable(other, tokenizer, 16)
  model = models.PretrainingModel(toy.config(tokenizer))
  with pytest.raises(ValueError, match=r"top_k \(21\) must be in .1, 20"):
    fill_mask_servable.FillMaskServable(model, tokenizer, 16, top_k=21)


def test_an_export_that_cannot_be_is_refused_first(servable, tmp_path):
  (tmp_path / "file").write_text("")
  for folder, options, message in (
    ("file", {}, "file.* is a file: name a folder"),
    ("out", {"weights_dtype": "int4"}, r"weights_dtype \('int4'\) .*bfloat16"),
    ("out", {"compute_dtype": "float16"}, r"compute_dtype \('float16'\) .*bfl"),
    ("out", {"model_name": "a/b"}, "must be without / and :"),
    ("out", {"model_name": "a:b"}, "must be without / and :"),
  ):
    with pytest.raises(ValueError, match=message):
      export.export(servable, tmp_path / folder, **options)
  with pytest.raises(ValueError, match="export_dir is empty"):
    export.export(servable, "")
  assert not (tmp_path / "out").exists()
