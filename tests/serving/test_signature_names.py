"""Exports whose default signature has the names of `transformers`."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl import models
from keras_bert_impl.kinds.embeddings.servables import text_vectors
from keras_bert_impl.serving import export, signature_names
from tests import slow
from tests.serving import all_heads, toy

RENAMED = {"input_mask": "attention_mask", "segment_ids": "token_type_ids"}
OUTPUTS = {
  "classification_of_pairs": {"logits"},
  "multi_label": {"logits"},
  "multiple_choice": {"logits"},
  "question_answering": {"start_logits", "end_logits"},
  "token_classification": {"logits"},
  "fill_mask": {"logits"},
  "encoder": {"last_hidden_state", "pooler_output"},
  "replaced_tokens": {"logits"},
}


def of_transformers(head):
  """Returns the ids of `token_ids` under the names of `transformers`."""
  ids = head.requests["token_ids"]
  return {RENAMED.get(name, name): tf.constant(x) for name, x in ids.items()}


@pytest.mark.parametrize(
  "name", slow.all_but(("question_answering", "encoder"), OUTPUTS)
)
def test_outputs_have_the_names_and_values_of_the_model(
  name, tmp_path, eagerly
):
  head = all_heads.make(name, tmp_path)
  definitions = signature_names.definitions(head.servable, "transformers")
  found = definitions["serving_default"].function(**of_transformers(head))
  assert found.keys() == OUTPUTS[name]
  ids = head.requests["token_ids"]
  expected = definitions["token_ids"].function(
    **{name: tf.constant(x) for name, x in ids.items()}
  )
  renamed = {
    "logits": "token_logits" if name == "fill_mask" else "logits",
    "last_hidden_state": "sequence_output",
    "pooler_output": "pooled_output",
  }
  for output, values in found.items():
    reference = expected[renamed.get(output, output)]
    np.testing.assert_array_equal(values, reference)


@pytest.mark.integration
def test_an_export_takes_ids_by_default_and_strings_by_name(tmp_path):
  head = all_heads.make("classification_of_pairs", tmp_path)
  version = export.export(
    head.servable, tmp_path / "served", signature_names="transformers"
  )
  loaded = tf.saved_model.load(version)
  signature = loaded.signatures["serving_default"]
  assert signature.structured_input_signature[1].keys() == {
    "input_ids",
    "attention_mask",
    "token_type_ids",
  }
  np.testing.assert_allclose(
    signature(**of_transformers(head))["logits"],
    head.expected["token_ids"]["logits"],
    atol=1e-5,
  )
  texts = {
    name: tf.constant(list(values))
    for name, values in head.requests["serving_default"].items()
  }
  np.testing.assert_allclose(
    loaded.signatures["text"](**texts)["score"],
    head.expected["serving_default"]["score"],
    atol=1e-5,
  )
  with pytest.raises(ValueError, match="signature_names.*google, transformers"):
    export.export(head.servable, tmp_path / "served", signature_names="keras")


def test_models_without_segments_have_no_token_type_ids(tokenizer):
  config = dataclasses.replace(toy.config(tokenizer), type_vocab_size=0)
  servable = text_vectors.EncoderServable(
    models.TransformerEncoder(config), tokenizer, max_seq_length=8
  )
  found = signature_names.definitions(servable, "transformers")
  function, example = found["serving_default"]
  assert example.keys() == {"input_ids", "attention_mask"}
  outputs = function(**{name: tf.constant(x) for name, x in example.items()})
  assert outputs.keys() == {"last_hidden_state", "pooler_output"}


@pytest.mark.integration
def test_a_model_of_ones_own_is_exported_with_the_names(tokenizer, tmp_path):
  encoder = models.TransformerEncoder(toy.config(tokenizer))
  first = encoder.output["sequence_output"][:, 0]
  own = models.Model(encoder.input, {"stars": keras.layers.Dense(1)(first)})
  version = kb.export(own, tokenizer, tmp_path, signature_names="transformers")
  ids = tf.constant([[2, 5, 3]])
  inputs = {"attention_mask": tf.ones_like(ids), "token_type_ids": ids * 0}
  signature = tf.saved_model.load(version).signatures["serving_default"]
  stars = signature(input_ids=ids, **inputs)["stars"]
  expected = own({"input_ids": ids, "input_mask": tf.ones_like(ids)})["stars"]
  np.testing.assert_allclose(stars, expected, atol=1e-5)
