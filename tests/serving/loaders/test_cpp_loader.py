"""Exports in a C++ program on TensorFlow's own loader, with no Python inside.

TF Serving loads models with the same function, `tensorflow::LoadSavedModel`.
"""

import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.kinds.embeddings.encoders import sentence_encoder
from keras_bert_impl.serving import export
from tests.serving import all_heads, answers, bad_requests
from tests.serving.loaders import cpp_client

# It takes a compiler half a minute; `test_export` asks the same in a session.
pytestmark = pytest.mark.slow

SENTENCES = pathlib.Path(__file__).parents[2] / "data/sentences"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
  """The program of `cpp_client`."""
  if shutil.which("g++") is None:
    pytest.skip("needs g++")
  path = tmp_path_factory.mktemp("program") / "saved_model_client"
  cpp_client.build(path)
  return path


@pytest.mark.parametrize("name", all_heads.ALL)
def test_the_program_outlives_bad_requests_and_answers_as_the_eager_model(
  program, exports, tmp_path, name
):
  head, version_dir = exports[name]
  bad = [*bad_requests.of(head)]
  requests = [request[:2] for request in bad] + [*head.requests.items()]
  process = cpp_client.run(
    program, tmp_path / "requests", [(version_dir, *r) for r in requests]
  )
  assert process.returncode == 0, process.stderr
  printed = cpp_client.parse(process.stdout)
  for (signature, inputs, message), error in zip(bad, printed, strict=False):
    assert message in error, (signature, inputs)
  found = dict(zip(head.requests, printed[len(bad) :], strict=True))
  for signature, expected in head.expected.items():
    answers.check(found[signature], expected)


def test_vectors_are_those_of_sentence_transformers(program, tmp_path):
  encoder = sentence_encoder.SentenceEncoder.from_checkpoint(SENTENCES)
  version_dir = export.export(encoder.servable(), tmp_path / "served")
  expected = np.load(SENTENCES / "expected.npz")
  texts = [text.encode() for text in expected["texts"]]
  request = (version_dir, "serving_default", {"text": np.array(texts, object)})
  process = cpp_client.run(program, tmp_path / "requests", [request])
  [answer] = cpp_client.parse(process.stdout)
  del answer["is_cut"]
  answers.check(answer, {"embeddings": expected["query"]})


def test_weights_of_int8_are_filled_when_loaded(program, tmp_path):
  head = all_heads.make("regression", tmp_path)
  version_dir = export.export(
    head.servable, tmp_path / "served", weights_dtype="int8"
  )
  request = (version_dir, "token_ids", all_heads.TOKEN_IDS)
  process = cpp_client.run(program, tmp_path / "requests", [request])
  [answer] = cpp_client.parse(process.stdout)
  ids = {name: tf.constant(x) for name, x in all_heads.TOKEN_IDS.items()}
  expected = head.servable.answer_ids(**ids)
  answers.check(answer, {name: x.numpy() for name, x in expected.items()})


def test_there_is_no_python_in_the_program(program):
  linked = subprocess.run(
    ["ldd", program, *cpp_client.OP_LIBRARIES],
    capture_output=True,
    text=True,
    check=True,
  )
  names = [line.split()[0] for line in linked.stdout.splitlines()]
  assert any(name.startswith("libtensorflow_cc") for name in names)
  assert not any(name.startswith("libpython") for name in names)


def test_a_tracked_model_does_not_run(program, exports, tmp_path):
  # Without the recipe of the exports; in Python it runs.
  head = exports["encoder"].head
  module = tf.Module()
  module.model = head.model
  names = [*all_heads.TOKEN_IDS]
  module.encode = tf.function(
    lambda *ids: head.model(dict(zip(names, ids, strict=True))),
    input_signature=[
      tf.TensorSpec([None, None], tf.int32, name) for name in names
    ],
  )
  version_dir = tmp_path / "1"
  tf.saved_model.save(module, str(version_dir), {"token_ids": module.encode})
  loaded = tf.saved_model.load(str(version_dir)).signatures["token_ids"]
  outputs = loaded(
    **{k: tf.constant(v) for k, v in all_heads.TOKEN_IDS.items()}
  )
  expected = head.expected["token_ids"]["pooled_output"]
  np.testing.assert_allclose(outputs["pooled_output"], expected, atol=1e-5)
  request = (version_dir, "token_ids", all_heads.TOKEN_IDS)
  process = cpp_client.run(program, tmp_path / "requests", [request])
  assert "\terror: " in process.stdout
  assert "Could not find variable" in process.stdout
