"""Measures what a family's encoder costs beside BERT's, here and elsewhere.

  python benchmarks/family_benchmark.py \
    --python=/path/to/venv/with/torch/and/transformers/bin/python

Two layers of 768 (or --layers and --hidden_size), a vocabulary of 1,000, no
heads, float32, dropout as the family has it, rows without padding. EuroBERT has
a third as many heads of keys, as its larger sizes. Forward pass alone, and
forward and backward pass as in training. Each encoder lives in a process of its
own; they take turns. Printed are medians of CPU seconds over the rounds, and of
each round's ratio to BERT in the same library.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

if __name__ == "__main__":
  # The folder of this file holds benchmarks, not packages.
  sys.path[0] = str(pathlib.Path(__file__).parents[1])

from benchmarks import asked_process, length_benchmark

ROOT = pathlib.Path(__file__).parents[1]
PRESETS = length_benchmark.PRESETS
MODES = ("forward", "gradient")
SHAPES = ((8, 128), (2, 512))
_VOCAB_SIZE = 1000


def ours(folder, rows, length):
  """Returns {mode: function that does it once} of this library."""
  import numpy as np
  import tensorflow as tf

  import keras_bert_impl as kb
  from keras_bert_impl.models.encoders import encoder_choice

  config = kb.EncoderConfig.from_json_file(os.path.join(folder, "ours.json"))
  encoder = encoder_choice.make(config)
  ids = np.random.default_rng(0).integers(5, _VOCAB_SIZE, (rows, length))
  inputs = {
    "input_ids": tf.constant(ids, tf.int32),
    "input_mask": tf.ones((rows, length), tf.int32),
    "segment_ids": tf.zeros((rows, length), tf.int32),
  }
  inputs = {name: inputs[name] for name in encoder.input}

  def loss(training):
    return tf.reduce_mean(encoder(inputs, training=training)["sequence_output"])

  @tf.function(autograph=False)
  def forward():
    return loss(training=False)

  @tf.function(autograph=False)
  def gradient():
    with tf.GradientTape() as tape:
      value = loss(training=True)
    weights = [w.value for w in encoder.trainable_weights]
    found = tape.gradient(value, weights)
    return tf.add_n([tf.reduce_sum(g) for g in found if g is not None])

  return {
    "forward": lambda: forward().numpy(),
    "gradient": lambda: gradient().numpy(),
  }


def transformers(folder, rows, length):
  """Returns {mode: function that does it once} of transformers on torch."""
  import torch
  import transformers as library

  torch.set_num_threads(len(os.sched_getaffinity(0)))
  model = library.AutoModel.from_config(
    library.AutoConfig.from_pretrained(folder)
  )
  ids = torch.randint(5, _VOCAB_SIZE, (rows, length))
  inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

  def forward():
    model.eval()
    with torch.inference_mode():
      return model(**inputs).last_hidden_state.mean().item()

  def gradient():
    model.train()
    model.zero_grad(set_to_none=True)
    model(**inputs).last_hidden_state.mean().backward()

  return {"forward": forward, "gradient": gradient}


LIBRARIES = {"ours": ours, "transformers": transformers}


def serve(library, folder, rows, length):
  """Answers each line of stdin, a mode, with CPU seconds."""
  functions = LIBRARIES[library](folder, rows, length)
  for function in functions.values():
    function()  # Traces and compiles.
  print("ANSWER 0", flush=True)
  for line in sys.stdin:
    start = time.process_time()
    functions[line.strip()]()
    print(f"ANSWER {time.process_time() - start}", flush=True)


def _start(library, python, *arguments):
  """Returns the `AskedProcess` of an encoder."""
  return asked_process.AskedProcess(
    [python, __file__, "--serve", library, *map(str, arguments)],
    os.environ | {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"},
  )


def _write_configurations(folder, family, num_layers, hidden_size):
  """Writes the configuration of a family as ours and as transformers'."""
  import keras_bert_impl as kb
  from keras_bert_impl.checkpoints.descriptions import config_json, description

  heads = hidden_size // 64
  of_keys = {"num_key_value_heads": heads // 3}
  preset = kb.EncoderConfig.preset(PRESETS[family])
  config = dataclasses.replace(
    preset,
    vocab_size=_VOCAB_SIZE,
    num_hidden_layers=num_layers,
    hidden_size=hidden_size,
    intermediate_size=preset.intermediate_size
    * hidden_size
    // preset.hidden_size,
    num_attention_heads=heads,
    **(of_keys if family == "eurobert" else {}),
  )
  config.to_json_file(os.path.join(folder, "ours.json"))
  values = config_json.to_dict(description.Description(config))
  pathlib.Path(folder, "config.json").write_text(json.dumps(values))


def _measure(pythons, families, sizes, rows, length, rounds):
  """Returns {(library, family): {mode: [CPU seconds]}}."""
  running, seconds = {}, {}
  with tempfile.TemporaryDirectory() as folder:
    for family in families:
      own = os.path.join(folder, family)
      os.mkdir(own)
      _write_configurations(own, family, *sizes)
      for library, python in pythons.items():
        running[library, family] = _start(library, python, own, rows, length)
    for key in running:
      seconds[key] = {mode: [] for mode in MODES}
    for _ in range(rounds):
      for key, encoder in running.items():
        for mode in MODES:
          seconds[key][mode] += encoder.ask(mode)
    for encoder in running.values():
      encoder.stop()
  return seconds


def main():
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument("--python", help="of an environment with transformers")
  parser.add_argument("--families", nargs="*", choices=PRESETS, default=PRESETS)
  parser.add_argument("--layers", type=int, default=2)
  parser.add_argument("--hidden_size", type=int, default=768)
  parser.add_argument("--rounds", type=int, default=7)
  parser.add_argument("--serve", nargs=4, help="internal")
  os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
  arguments = parser.parse_args()
  if arguments.serve:
    library, folder, rows, length = arguments.serve
    serve(library, folder, int(rows), int(length))
    return
  pythons = {"ours": sys.executable}
  if arguments.python:
    pythons["transformers"] = arguments.python
  families = ["bert", *(f for f in arguments.families if f != "bert")]
  for rows, length in SHAPES:
    sizes = arguments.layers, arguments.hidden_size
    found = _measure(pythons, families, sizes, rows, length, arguments.rounds)
    for mode in MODES:
      print(f"\n{mode}, {rows} x {length}: CPU s, ratio to BERT", flush=True)
      for (library, family), seconds in found.items():
        bert = found[library, "bert"][mode]
        pairs = zip(seconds[mode], bert, strict=True)
        ratio = statistics.median(own / its for own, its in pairs)
        median = statistics.median(seconds[mode])
        print(f"{library:14}{family:12}{median:8.3f}{ratio:8.2f}", flush=True)


if __name__ == "__main__":
  main()
