"""Names of weights, in and out."""

import json
import pathlib

import numpy as np
import pytest
import safetensors.numpy

from keras_bert_impl import heads
from keras_bert_impl.checkpoints import reading, writing
from keras_bert_impl.checkpoints.naming import names
from keras_bert_impl.families import FAMILIES

PARITY = pathlib.Path(__file__).parents[1] / "data/parity"


@pytest.mark.parametrize("name", sorted(path.name for path in PARITY.iterdir()))
def test_every_model_of_transformers_is_written_as_it_was_read(name, tmp_path):
  checkpoint = reading.open_checkpoint(PARITY / name)
  left_out = writing.write_safetensors(
    tmp_path, checkpoint.tensors, checkpoint.described(), 10**9
  )
  assert not left_out
  assert json.loads((tmp_path / "config.json").read_text()) == json.loads(
    (PARITY / name / "config.json").read_text()
  )
  written, expected = (
    safetensors.numpy.load_file(folder / "model.safetensors")
    for folder in (tmp_path, PARITY / name)
  )
  assert written.keys() == expected.keys()
  for key, array in expected.items():
    np.testing.assert_array_equal(written[key], array)
    assert written[key].dtype == array.dtype


@pytest.mark.parametrize(
  ("name", "ours"),
  [
    # A bare encoder.
    ("embeddings.LayerNorm.weight", "bert/embeddings/LayerNorm/gamma"),
    ("pooler.dense.bias", "bert/pooler/dense/bias"),
    (
      "encoder.layer.11.output.dense.weight",
      "bert/encoder/layer_11/output/dense/kernel",
    ),
    # Names of 2018 and 2019.
    ("bert.embeddings.LayerNorm.gamma", "bert/embeddings/LayerNorm/gamma"),
    ("bert.embeddings.LayerNorm.beta", "bert/embeddings/LayerNorm/beta"),
    # Of a model that torch ran on several devices, or compiled.
    ("module.bert.pooler.dense.bias", "bert/pooler/dense/bias"),
    ("_orig_mod.module.pooler.dense.bias", "bert/pooler/dense/bias"),
    # An output matrix, which is often a copy of the table; and constants.
    ("cls.predictions.decoder.weight", names.DECODER),
    ("cls.predictions.decoder.bias", "cls/predictions/output_bias"),
    ("bert.embeddings.position_ids", None),
    ("embeddings.position_ids", None),
    # Nothing that we know.
    ("something.else", "something.else"),
  ],
)
def test_names_of_old_and_bare_files(name, ours):
  assert names.from_transformers(name, FAMILIES["bert"]) == ours


@pytest.mark.parametrize(
  ("model_type", "head", "name", "theirs"),
  [
    (
      "bert",
      heads.ENCODER,
      "bert/pooler/dense/kernel",
      "pooler.dense.weight",
    ),
    (
      "roberta",
      heads.ENCODER,
      "bert/pooler/dense/kernel",
      "pooler.dense.weight",
    ),
    (
      "electra",
      heads.ENCODER,
      "bert/pooler/dense/kernel",
      None,
    ),
    (
      "roberta",
      heads.MULTIPLE_CHOICE,
      "bert/pooler/dense/kernel",
      "roberta.pooler.dense.weight",
    ),
    (
      "electra",
      heads.MULTIPLE_CHOICE,
      "bert/pooler/dense/kernel",
      "sequence_summary.summary.weight",
    ),
    (
      "roberta",
      heads.TOKEN_CLASSIFICATION,
      "classifier/output_weights",
      "classifier.weight",
    ),
    ("bert", heads.QUESTION_ANSWERING, "bert/pooler/dense/kernel", None),
    ("bert", heads.FILL_MASK, "cls/seq_relationship/output_bias", None),
    ("bert", heads.FILL_MASK, "cls/span_boundary/output_bias", None),
    ("electra", heads.REPLACED_TOKENS, "generator/encoder/layer_0/x", None),
    ("electra", heads.REPLACED_TOKENS, "cls/predictions/output_bias", None),
  ],
)
def test_each_architecture_of_transformers_has_its_own_weights(
  model_type, head, name, theirs
):
  assert names.to_transformers(name, FAMILIES[model_type], head) == theirs
  if theirs:
    assert names.from_transformers(theirs, FAMILIES[model_type]) == name


def test_numbers_survive_both_ways():
  ours = "bert/encoder/group_3/attention/self/query/kernel"
  google = names.to_google(ours, FAMILIES["albert"])
  assert google == (
    "bert/encoder/transformer/group_3/inner_group_0/attention_1/self/query"
    "/kernel"
  )
  assert names.from_google(google) == ours
  theirs = names.to_transformers(ours, FAMILIES["albert"], heads.FILL_MASK)
  assert theirs == (
    "albert.encoder.albert_layer_groups.3.albert_layers.0.attention.query.weight"
  )
  assert names.from_transformers(theirs, FAMILIES["albert"]) == ours


def test_the_classifier_of_googles_code_stands_alone():
  assert (
    names.to_google("classifier/output_bias", FAMILIES["bert"]) == "output_bias"
  )
  assert names.from_google("output_weights") == "classifier/output_weights"
