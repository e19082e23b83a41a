"""`kb.export` of Keras models: heads of one's own, and those of the library."""

import json
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl.kinds import model_export
from tests.serving import test_linked_ops, toy
from tests.serving.conftest import fixture_tokenizer  # noqa: F401
from tests.serving.loaders import sessions

TEXTS = ["The CATS sat.", "", "the cat"]
# Without Keras and this library.
FRESH = """
import json, sys
import tensorflow as tf
import tensorflow_text

loaded = tf.saved_model.load(sys.argv[1])
answer = loaded.signatures["serving_default"](text=tf.constant(sys.argv[2:]))
print(json.dumps({name: x.numpy().tolist() for name, x in answer.items()}))
"""


@pytest.fixture(name="encoder", scope="module")
def fixture_encoder(tokenizer):
  return kb.TransformerEncoder(toy.config(tokenizer))


@pytest.fixture(name="pair", scope="module")
def fixture_pair(tokenizer):
  config = toy.config(tokenizer, use_causal_mask=True, causal_direction="both")
  return kb.make_encoder(config, use_pooler=False)


def own_head(encoder, model_class=kb.Model):
  hidden = encoder.hidden_states[-1][:, 0]
  return model_class(encoder.input, keras.layers.Dense(2, name="stars")(hidden))


@pytest.fixture(name="own", scope="module")
def fixture_own(encoder, tokenizer, tmp_path_factory):
  """A model, what it says of TEXTS, and the folder of its export."""
  model = own_head(encoder)
  folder = tmp_path_factory.mktemp("served")
  return model, model(tokenizer(TEXTS)), kb.export(model, tokenizer, folder)


@pytest.mark.slow
def test_a_head_of_ones_own_answers_strings_in_a_fresh_process(own):
  _, expected, version_dir = own
  command = [sys.executable, "-c", FRESH, version_dir, *TEXTS]
  answer = json.loads(subprocess.check_output(command))
  assert answer.keys() == {"stars", "is_cut"}
  np.testing.assert_allclose(answer["stars"], expected, atol=1e-5)


@pytest.mark.integration
def test_a_head_of_ones_own_loads_as_in_tf_serving(own):
  _, expected, version_dir = own
  version_dir = pathlib.Path(version_dir)
  inputs = {"text": np.array([text.encode() for text in TEXTS], object)}
  answer = sessions.ask(version_dir, "serving_default", inputs)
  np.testing.assert_allclose(answer["stars"], expected, atol=1e-5)
  test_linked_ops.check_ops(version_dir)


@pytest.mark.parametrize("kind", ["encoder", "pair"])
def test_outputs_of_any_structure_have_names(kind, tokenizer, request):
  encoder = request.getfixturevalue(kind)
  hidden = encoder.hidden_states[-1]
  score = keras.layers.Dense(1, name="score")(hidden[:, 0])
  best = keras.ops.argmax(hidden, axis=-1)
  for outputs, names in (
    ([score, keras.layers.Dense(3, name="tags")(hidden)], {"score", "tags"}),
    ({"first": hidden[:, 0], "best": best}, {"first", "best"}),
  ):
    model = keras.Model(encoder.input, outputs)
    answer = model_export.make_servable(model, tokenizer, 16).answer(TEXTS)
    assert answer.keys() == names | {"is_cut"}
    expected = model(tokenizer(TEXTS))
    if isinstance(expected, list):
      expected = dict(zip(("score", "tags"), expected))
    for name, values in expected.items():
      np.testing.assert_allclose(answer[name], values, atol=1e-5)


def test_a_head_on_an_encoder_that_is_called_reads_pairs(encoder, tokenizer):
  inputs = {
    name: keras.Input((None,), dtype="int32", name=name)
    for name in encoder.input
  }
  stars = keras.layers.Dense(5)(encoder(inputs)["pooled_output"])
  model = keras.Model(inputs, {"stars": stars})
  servable = model_export.make_servable(model, tokenizer, text_pairs=True)
  assert servable.max_seq_length == 24
  answer = servable.answer(["the cat"], ["the mat"])
  expected = model(tokenizer(["the cat"], ["the mat"]))["stars"]
  np.testing.assert_allclose(answer["stars"], expected, atol=1e-5)


def test_a_model_in_mixed_bfloat16_answers_in_float32(tokenizer):
  encoder = kb.TransformerEncoder(toy.config(tokenizer), dtype="mixed_bfloat16")
  servable = model_export.make_servable(own_head(encoder), tokenizer)
  servable.set_dtypes(weights_dtype="bfloat16")
  assert servable.dtypes["compute_dtype"] == "bfloat16"
  assert {w.dtype for x in servable.model_weights for w in x.stored} == {
    tf.bfloat16
  }
  assert servable.answer(TEXTS)["stars"].dtype == tf.float32


def test_heads_of_the_library_are_answered_as_their_servables_do(tokenizer):
  config = toy.config(tokenizer)
  encoder = kb.TransformerEncoder(config)
  for model, options, described in (
    (kb.SequenceClassifier(config, 1), {}, {"head": "regression"}),
    (kb.SequenceClassifier(config, 2), {}, {"labels": ["LABEL_0", "LABEL_1"]}),
    (
      kb.SequenceClassifier(config, 1),
      {"labels": ("욕설",), "multi_label": True},
      {"head": "multi_label", "labels": ["욕설"]},
    ),
    (kb.TokenClassifier(config, 2), {"labels": ("O", "B-X")}, {}),
    (kb.TokenClassifier(config, 2), {}, {"tag_scheme": "none"}),
    (kb.QuestionAnswering(config), {"max_query_length": 9}, {}),
    (kb.MultipleChoice(config), {}, {"max_seq_length": 24}),
    (kb.MaskedLanguageModel(config), {"top_k": 2}, {"head": "fill_mask"}),
    (kb.ReplacedTokenDetector(config), {}, {"head": "replaced_tokens"}),
    (encoder, {"pooling": "cls"}, {"head": "encoder"}),
    (kb.EmbeddingModel(encoder, "max"), {}, {"pooling": "max"}),
  ):
    servable = model_export.make_servable(model, tokenizer, **options)
    assert servable.describe().items() >= described.items()
    assert servable.head != "model"


def test_a_servable_is_exported_as_it_is(encoder, tokenizer, tmp_path):
  servable = model_export.make_servable(encoder, tokenizer)
  with pytest.raises(ValueError, match=r"kb.export\(servable, path\)"):
    kb.export(servable, tokenizer, tmp_path)
  with pytest.raises(ValueError, match=r"kb.export\(servable, path\)"):
    kb.export(servable, tmp_path, top_k=1)


def test_the_rest_is_refused_in_one_line(encoder, tokenizer, tmp_path):
  numbers = keras.Input((3,), name="numbers")
  ids = keras.Input((None,), dtype="int32", name="input_ids")
  hidden = encoder.hidden_states[-1]
  halves = keras.ops.split(hidden, 2, axis=-1)
  own = own_head(encoder)
  for model, options, message in (
    (keras.Sequential([]), {}, "none: it is not functional"),
    ("model", {}, "must be a Keras model"),
    (keras.Model(numbers, -numbers), {}, r"numbers \(None, 3\)\) must be inp"),
    (
      keras.Model(encoder.input | {"numbers": numbers}, hidden),
      {},
      "numbers .*must be input_ids",
    ),
    (
      keras.Model(ids, keras.layers.Embedding(9, 4)(ids)),
      {},
      "no embeddings of an encoder",
    ),
    (kb.Model(encoder.input, halves), {}, "(split.*, ).*different names"),
    (kb.Model(encoder.input, {"is_cut": hidden}), {}, "'is_cut'.*another name"),
    (own, {"labels": ["a"]}, r"labels \(\['a'\]\) is no option.*text_pairs"),
    (own, {"max_seq_length": 25}, r"max_seq_length \(25\).*\(24\)"),
    (own, {"compute_dtype": "bfloat16"}, r"compute_dtype \('bfloat16'\)"),
    (own, {"weights_dtype": "int4"}, r"weights_dtype \('int4'\)"),
  ):
    with pytest.raises(ValueError, match=message) as caught:
      kb.export(model, tokenizer, tmp_path / "out", **options)
    assert "\n" not in str(caught.value)
  with pytest.raises(ValueError, match="tokenizer .'vocab.txt'. must be one"):
    kb.export(model, "vocab.txt", tmp_path / "out")
  with pytest.raises(ValueError, match="export_dir is missing"):
    kb.export(model, tokenizer)
  assert not (tmp_path / "out").exists()
