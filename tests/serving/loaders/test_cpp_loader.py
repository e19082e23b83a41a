"""Exports in a C++ program on TensorFlow's own loader, with no Python inside.

TF Serving loads models with the same function, `tensorflow::LoadSavedModel`.
"""

import pathlib
import subprocess

import numpy as np
import pytest

from keras_bert_impl.sentences import sentence_encoder
from keras_bert_impl.serving import export
from tests.serving import all_heads, answers, bad_requests
from tests.serving.loaders import cpp_client, session_process

# It takes a compiler half a minute; `test_export` asks the same in a session.
pytestmark = pytest.mark.slow

SENTENCES = pathlib.Path(__file__).parents[2] / "data/sentences"


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
  # Without the recipe of the exports; in Python it would run.
  model = exports["encoder"].head.model
  session_process.save_tracking_the_model(model, tmp_path / "1")
  ids = np.array([[2, 5, 3]], np.int32)
  inputs = dict.fromkeys(("input_ids", "input_mask", "segment_ids"), ids)
  process = cpp_client.run(
    program, tmp_path / "requests", [(tmp_path / "1", "token_ids", inputs)]
  )
  assert "\terror: " in process.stdout
  assert "Could not find variable" in process.stdout
