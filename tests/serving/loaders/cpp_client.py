"""The C++ program that runs SavedModels as TF Serving does."""

import pathlib
import subprocess

import tensorflow as tf
import tensorflow_text
from google.protobuf import text_format
from tensorflow.core.framework import tensor_pb2

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
_ERROR = "\terror: "


def build(path):
  """Compiles the program to `path`."""
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
  """Returns [{output: array} or error's text] of what has been printed."""
  found = []
  for line in printed.splitlines():
    if not line.startswith("\t"):
      found.append({})
      continue
    if line.startswith(_ERROR):
      found[-1] = line.removeprefix(_ERROR)
      continue
    _, name, tensor = line.split("\t")
    proto = text_format.Parse(tensor, tensor_pb2.TensorProto())
    found[-1][name] = tf.make_ndarray(proto)
  return found
