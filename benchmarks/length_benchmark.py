"""Measures time and memory of a training step against the length of a row.

  python benchmarks/length_benchmark.py --families=bert,deberta_v3

Two layers of 768, one row without padding, question answering, dropout, AdamW,
float32, `--rematerialize`; vocabularies are those of the released models. Each
case is a fresh process. `--packed` measures the masked language model on rows
of many texts instead.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

if __name__ == "__main__":
  # The folder of this file holds benchmarks, not packages.
  sys.path[0] = str(pathlib.Path(__file__).parents[1])

ROOT = pathlib.Path(__file__).parents[1]
PRESETS = {
  "bert": "bert_base",
  "deberta_v3": "deberta_v3_small",
  "xlnet": "xlnet_base",
  "modernbert": "modernbert_base",
  "nomic_bert": "nomic_bert_base",
  "eurobert": "eurobert_210m",
  "longformer": "longformer_base_4096",
}
_NUM_ASKED = 20  # tokens of the question, which are global in Longformer
_NUM_TEXTS = 8  # of a packed row
_NUM_PREDICTIONS = 20


def make_batch(length, is_packed):
  """Returns a batch of one row of random ids."""
  import numpy as np

  rng = np.random.default_rng(0)
  ids = rng.integers(5, 30000, (1, length))
  ids[:, _NUM_ASKED] = ids[:, -1]  # The separator after the question.
  batch = {
    "input_ids": ids,
    "input_mask": np.ones((1, length)),
    "segment_ids": np.zeros((1, length)),
    "start_positions": [3],
    "end_positions": [5],
    "answer_weights": np.float32([1]),
  }
  if is_packed:
    places = np.sort(rng.permutation(length)[:_NUM_PREDICTIONS])[None]
    batch |= {
      "sequence_ids": 1 + np.arange(length)[None] * _NUM_TEXTS // length,
      "masked_lm_positions": places,
      "masked_lm_ids": np.take_along_axis(batch["input_ids"], places, axis=1),
      "masked_lm_weights": np.ones(places.shape, "float32"),
    }
  return {
    name: x if "weights" in name else np.asarray(x, "int32")
    for name, x in batch.items()
  }


def make_loop(preset, length, num_layers, is_packed):
  """Returns the `TrainingLoop` of a case."""
  import tensorflow as tf

  from keras_bert_impl import configs
  from keras_bert_impl.kinds.answers import question_answering
  from keras_bert_impl.optimizers import adamw
  from keras_bert_impl.tasks.basics import pretraining
  from keras_bert_impl.tasks.pretraining import masked_lm
  from keras_bert_impl.training import training_config
  from keras_bert_impl.training import training_loop as loop

  offset = configs.PRESETS[preset].position_offset
  config = configs.EncoderConfig.preset(
    preset,
    num_hidden_layers=num_layers,
    max_position_embeddings=max(length, 512) + offset,
  )
  task = question_answering.QuestionAnsweringTask(config)
  if is_packed:
    task = masked_lm.MaskedLanguageModelTask(
      config, pretraining.PretrainingData(is_packed=True)
    )
  return loop.TrainingLoop(
    task,
    task.build_model(),
    adamw.AdamW(1e-4),
    tf.distribute.get_strategy(),
    training_config.TrainingConfig(train_batch_size=1, rematerialize=True),
  )


def run(preset, length, num_layers, is_packed, num_steps):
  """Prints the least seconds of a step and the peak of memory in GiB."""
  import tensorflow as tf

  loop = make_loop(preset, length, num_layers, is_packed)
  batch = make_batch(length, is_packed)
  batches = iter(tf.data.Dataset.from_tensors(batch).repeat())
  seconds = []
  for _ in range(num_steps + 1):
    start = time.perf_counter()
    loop.train(batches, 1)
    seconds.append(time.perf_counter() - start)
  peak = next(
    int(line.split()[1]) / 2**20
    for line in pathlib.Path("/proc/self/status").read_text().splitlines()
    if line.startswith("VmHWM:")
  )
  print("ANSWER", json.dumps([min(seconds[1:] or seconds), peak]), flush=True)


def measure(*case, root):
  """Returns what `run` prints of a case, in a fresh process; or None."""
  result = subprocess.run(
    [sys.executable, __file__, "run", *map(str, case)],
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
    text=True,
    env=os.environ | {"PYTHONPATH": str(root), "TF_ENABLE_ONEDNN_OPTS": "1"},
  )
  answers = [a for a in result.stdout.splitlines() if a.startswith("ANSWER ")]
  return json.loads(answers[-1].removeprefix("ANSWER ")) if answers else None


def main():
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument("--families", default=",".join(PRESETS))
  parser.add_argument("--lengths", default="512,1024,2048,4096,8192")
  parser.add_argument("--layers", type=int, default=2)
  parser.add_argument("--packed", action="store_true")
  parser.add_argument("--steps", type=int, default=2)
  parser.add_argument("--root", default=str(ROOT), help="another checkout")
  arguments = parser.parse_args()
  names = arguments.families.split(",")
  print("| tokens | " + " | ".join(names) + " |")
  print("|---:|" + "---|" * len(names))
  for length in map(int, arguments.lengths.split(",")):
    cells = []
    for name in names:
      sizes = (length, arguments.layers, int(arguments.packed), arguments.steps)
      found = measure(PRESETS[name], *sizes, root=arguments.root)
      text = "failed"
      if found:
        text = f"{found[0]:.1f} s, {found[1]:.1f} GiB"
      cells.append(text)
    print(f"| {length:,} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
  if sys.argv[1:2] == ["run"]:
    # PYTHONPATH says which checkout.
    del sys.path[0]
    run(sys.argv[2], *map(int, sys.argv[3:]))
  else:
    main()
