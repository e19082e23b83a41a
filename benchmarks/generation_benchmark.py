"""Measures tokens a second of generation, here and elsewhere.

  python benchmarks/generation_benchmark.py \
    --python=/path/to/venv/with/torch/and/transformers/bin/python \
    --keras_hub=/path/to/venv/with/keras_hub/bin/python

A BART of random weights, 6 + 6 layers of 512, whose texts do not end: prompts
of 128 tokens, 64 new ones, float32. `--model=gpt2` measures a decoder alone, of
6 layers. Each library lives in a process of its own; they take turns. Printed
are medians over the rounds of tokens a second of the wall clock, of CPU
milliseconds a token, of each round's ratio of the first to ours, and the
seconds of the first call.
"""

import argparse
import os
import pathlib
import statistics
import sys
import time

if __name__ == "__main__":
  # The folder of this file holds benchmarks, not packages.
  sys.path[0] = str(pathlib.Path(__file__).parents[1])

from benchmarks import asked_process

ROOT = pathlib.Path(__file__).parents[1]
_LENGTH, _NEW = 128, 64
_SIZES = {"layers": 6, "hidden": 512, "heads": 8, "inner": 2048}
_VOCAB_SIZE = 50265
_START = 2


def _prompts(rows):
  """Returns ids int32 [B, 128]."""
  import numpy as np

  shape = (rows, _LENGTH)
  return np.random.default_rng(0).integers(5, 50000, shape).astype("int32")


def ours(model, rows, beams):
  """Returns a function that generates once, of this library."""
  import tensorflow as tf

  import keras_bert_impl as kb
  from keras_bert_impl.generation import decoders, search, settings
  from keras_bert_impl.models.heads import masked_language_model

  sizes = {
    "vocab_size": _VOCAB_SIZE,
    "type_vocab_size": 0,
    "num_hidden_layers": _SIZES["layers"],
    "hidden_size": _SIZES["hidden"],
    "num_attention_heads": _SIZES["heads"],
    "intermediate_size": _SIZES["inner"],
    "max_position_embeddings": 1026,
  }
  if model == "bart":
    config = kb.EncoderConfig(
      **sizes,
      num_decoder_layers=_SIZES["layers"],
      position_offset=2,
      decoder_transform=False,
    )
    built = kb.EncoderDecoder(config)
  else:
    config = kb.EncoderConfig(
      **sizes,
      norm_first=True,
      embeddings_norm=False,
      use_causal_mask=True,
      decoder_transform=False,
      decoder_bias=False,
    )
    built = masked_language_model.MaskedLanguageModel(config)
  wanted = settings.SearchSettings(
    max_new_tokens=_NEW, min_new_tokens=_NEW, num_beams=beams
  )
  find = search.Search(
    decoders.of_model(built, _START), wanted, settings.TokenIds(end=(_START,))
  )

  spec = tf.TensorSpec([None, None], tf.int32)  # As served.

  @tf.function(input_signature=[spec], autograph=False)
  def generate(ids):
    return find(find.decoder.begin(ids, tf.ones_like(ids)))["ids"]

  ids = tf.constant(_prompts(rows))
  return lambda: generate(ids).numpy().shape[-1]


def transformers(model, rows, beams):
  """Returns a function that generates once, of transformers on torch."""
  import torch
  import transformers as library

  torch.set_num_threads(len(os.sched_getaffinity(0)))
  if model == "bart":
    config = library.BartConfig(
      vocab_size=_VOCAB_SIZE,
      d_model=_SIZES["hidden"],
      encoder_layers=_SIZES["layers"],
      decoder_layers=_SIZES["layers"],
      encoder_attention_heads=_SIZES["heads"],
      decoder_attention_heads=_SIZES["heads"],
      encoder_ffn_dim=_SIZES["inner"],
      decoder_ffn_dim=_SIZES["inner"],
    )
    built = library.BartForConditionalGeneration(config)
  else:
    config = library.GPT2Config(
      vocab_size=_VOCAB_SIZE,
      n_embd=_SIZES["hidden"],
      n_layer=_SIZES["layers"],
      n_head=_SIZES["heads"],
      bos_token_id=_START,
      eos_token_id=_START,
    )
    built = library.GPT2LMHeadModel(config)
  built.eval()
  ids = torch.tensor(_prompts(rows)).long()
  given = {
    "input_ids": ids,
    "attention_mask": torch.ones_like(ids),
    "max_new_tokens": _NEW,
    "min_new_tokens": _NEW,
    "num_beams": beams,
    "do_sample": False,
    "pad_token_id": 1,
    "forced_eos_token_id": None,
  }

  def generate():
    with torch.inference_mode():
      return built.generate(**given).shape[-1]

  return generate


def keras_hub(model, rows, beams):
  """Returns a function that generates once, of KerasHub on TensorFlow."""
  import keras_hub
  import numpy as np

  sampler = "greedy" if beams == 1 else keras_hub.samplers.BeamSampler(beams)
  ids = _prompts(rows)
  if model == "bart":
    backbone = keras_hub.models.BartBackbone(
      vocabulary_size=_VOCAB_SIZE,
      num_layers=_SIZES["layers"],
      num_heads=_SIZES["heads"],
      hidden_dim=_SIZES["hidden"],
      intermediate_dim=_SIZES["inner"],
      max_sequence_length=1024,
    )
    built = keras_hub.models.BartSeq2SeqLM(backbone, preprocessor=None)
    written = np.full((rows, 1 + _NEW), _START, "int32")
    inputs = {
      "encoder_token_ids": ids,
      "encoder_padding_mask": np.ones_like(ids),
      "decoder_token_ids": written,
      "decoder_padding_mask": (np.arange(1 + _NEW) < 1) & (written > 0),
    }
    answer = "decoder_token_ids"
  else:
    backbone = keras_hub.models.GPT2Backbone(
      vocabulary_size=_VOCAB_SIZE,
      num_layers=_SIZES["layers"],
      num_heads=_SIZES["heads"],
      hidden_dim=_SIZES["hidden"],
      intermediate_dim=_SIZES["inner"],
      max_sequence_length=1024,
    )
    built = keras_hub.models.GPT2CausalLM(backbone, preprocessor=None)
    whole = np.pad(ids, [[0, 0], [0, _NEW]])
    mask = np.arange(_LENGTH + _NEW) < _LENGTH
    inputs = {
      "token_ids": whole,
      "padding_mask": np.broadcast_to(mask, whole.shape),
    }
    answer = "token_ids"
  built.compile(sampler=sampler)
  return lambda: built.generate(inputs, stop_token_ids=None)[answer].shape[-1]


LIBRARIES = {
  "ours": ours,
  "transformers": transformers,
  "keras_hub": keras_hub,
}


def serve(library, model, rows, beams):
  """Answers each line of stdin with the seconds of a call: wall, CPU."""
  generate = LIBRARIES[library](model, int(rows), int(beams))

  def timed():
    start = time.perf_counter(), time.process_time()
    generate()
    wall, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    print(f"ANSWER {wall} {cpu}", flush=True)

  timed()
  for _ in sys.stdin:
    timed()


def _start(library, python, *arguments):
  """Returns the `AskedProcess` of a library."""
  return asked_process.AskedProcess(
    [python, __file__, "--serve", library, *map(str, arguments)],
    os.environ | {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"},
  )


def _measure(pythons, model, rows, beams, rounds):
  """Prints the table of one case."""
  running = {
    library: _start(library, python, model, rows, beams)
    for library, python in pythons.items()
  }
  seconds = {library: [] for library in running}
  for _ in range(rounds):
    for library, generator in running.items():
      seconds[library].append(generator.ask())
  print(f"\n{model}, batch of {rows}, {beams} beams", flush=True)
  print(f"{'':14}{'tokens/s':>10}{'CPU ms':>9}{'ratio':>8}{'first s':>9}")
  tokens = rows * _NEW
  for library, generator in running.items():
    wall = statistics.median(wall for wall, _ in seconds[library])
    cpu = statistics.median(cpu for _, cpu in seconds[library])
    pairs = zip(seconds[library], seconds["ours"], strict=True)
    ratio = statistics.median(its[0] / own[0] for its, own in pairs)
    print(
      f"{library:14}{tokens / wall:10.1f}{1000 * cpu / tokens:9.2f}"
      f"{ratio:8.2f}{generator.first[0]:9.1f}",
      flush=True,
    )
    generator.stop()


def main():
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument("--python", help="of an environment with transformers")
  parser.add_argument("--keras_hub", help="of an environment with keras_hub")
  parser.add_argument("--model", choices=("bart", "gpt2"), default="bart")
  parser.add_argument("--rows", type=int, nargs="*", default=[1, 32])
  parser.add_argument("--beams", type=int, nargs="*", default=[1, 4])
  parser.add_argument("--rounds", type=int, default=5)
  parser.add_argument("--serve", nargs=4, help="internal")
  os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
  arguments = parser.parse_args()
  if arguments.serve:
    serve(*arguments.serve)
    return
  pythons = {
    "ours": sys.executable,
    "transformers": arguments.python,
    "keras_hub": arguments.keras_hub,
  }
  pythons = {library: python for library, python in pythons.items() if python}
  for rows in arguments.rows:
    for beams in arguments.beams:
      _measure(pythons, arguments.model, rows, beams, arguments.rounds)


if __name__ == "__main__":
  main()
