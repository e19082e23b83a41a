"""Exports in a C++ program on TensorFlow's own loader, with no Python inside.

TF Serving loads models with the same function, `tensorflow::LoadSavedModel`.
"""

import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text
from google.protobuf import text_format
from tensorflow.core.framework import tensor_pb2

from tests.serving import all_heads, answers, test_export

SOURCE = pathlib.Path(__file__).with_name("saved_model_client.cc")
# The ops of tensorflow-text that the tokenizers are made of.
OP_LIBRARIES = [
  str(pathlib.Path(tensorflow_text.__file__).parent / f"python/ops/_{name}.so")
  for name in (
    "fast_sentencepiece_tokenizer",
    "fast_wordpiece_tokenizer",
    "normalize_ops",
    "regex_split_ops",
    "sentencepiece_tokenizer",
  )
]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
  if shutil.which("g++") is None:
    pytest.skip("needs g++")
  path = tmp_path_factory.mktemp("program") / "saved_model_client"
  libraries = tf.sysconfig.get_lib()
  subprocess.run(
    [
      *("g++", *tf.sysconfig.get_compile_flags(), "-w"),
      *(SOURCE, "-o", path),
      *(f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-Wl,--no-as-needed"),
      *("-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2"),
    ],
    check=True,
  )
  return path


def run(program, file, requests):
  """Runs the program on [(version_dir, signature, {input: array})]."""
  lines = []
  for version_dir, signature, inputs in requests:
    lines.append(f"{version_dir}\t{signature}")
    for name, value in inputs.items():
      tensor = text_format.MessageToString(
        tf.make_tensor_proto(value), as_one_line=True
      )
      lines.append(f"\t{name}\t{tensor}")
  file.write_text("\n".join(lines), encoding="utf-8")
  return subprocess.run(
    [program, file, *OP_LIBRARIES], capture_output=True, text=True
  )


def parse(printed):
  """Returns [{output: array}] of what the program has printed."""
  found = []
  for line in printed.splitlines():
    if not line.startswith("\t"):
      found.append({})
      continue
    _, name, tensor = line.split("\t")
    proto = text_format.Parse(tensor, tensor_pb2.TensorProto())
    found[-1][name] = tf.make_ndarray(proto)
  return found


@pytest.fixture(scope="module")
def printed(program, exports, tmp_path_factory):
  """{(name of a head, signature): {output: array}}, all by one process."""
  requests = {
    (name, signature): (version_dir, signature, inputs)
    for name, (head, version_dir) in exports.items()
    for signature, inputs in head.requests.items()
  }
  file = tmp_path_factory.mktemp("requests") / "requests"
  process = run(program, file, requests.values())
  assert process.returncode == 0, process.stderr
  return dict(zip(requests, parse(process.stdout), strict=True))


@pytest.mark.parametrize("name", all_heads.ALL)
def test_the_program_answers_as_the_eager_model(printed, exports, name):
  for signature, expected in exports[name].head.expected.items():
    answers.check(printed[name, signature], expected)


def test_there_is_no_python_in_the_program(program):
  linked = subprocess.run(
    ["ldd", program, *OP_LIBRARIES], capture_output=True, text=True, check=True
  )
  names = [line.split()[0] for line in linked.stdout.splitlines()]
  assert any(name.startswith("libtensorflow_cc") for name in names)
  assert not any(name.startswith("libpython") for name in names)


def test_a_tracked_model_does_not_run(program, exports, tmp_path):
  # Without the recipe of the exports; in Python it would run.
  model = exports["encoder"].head.model
  test_export.save_tracking_the_model(model, tmp_path / "1")
  ids = np.array([[2, 5, 3]], np.int32)
  inputs = dict.fromkeys(("input_ids", "input_mask", "segment_ids"), ids)
  process = run(
    program, tmp_path / "requests", [(tmp_path / "1", "token_ids", inputs)]
  )
  assert process.returncode == 1
  assert "Could not find variable" in process.stderr
