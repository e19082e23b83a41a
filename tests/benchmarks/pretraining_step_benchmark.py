"""Measures the pre-training step of BERT-Base, ours and TF Model Garden's.

  python tests/benchmarks/pretraining_step_benchmark.py \
    --model_garden_python=/path/to/venv/bin/python

The other environment needs tf-models-official and tf_keras; without the flag
only ours is measured. Each contestant lives in a process of its own and they
take turns, a few steps each, so that whatever else the machine does hits both;
the matrix-product peak is measured in the same turns. Printed are medians over
the rounds, but of the peak the best round; its share counts matrix products
only, as the peak does. On a CPU without AVX512_VNNI TensorFlow uses oneDNN only
with TF_ENABLE_ONEDNN_OPTS=1 in the environment; it applies to both contestants.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

BATCH_SIZE = 8
SEQ_LENGTH = 128
NUM_PREDICTIONS = 20
VOCAB_SIZE = 30522
HIDDEN_SIZE = 768
INTERMEDIATE_SIZE = 3072
NUM_LAYERS = 12
PEAK_SIZES = (1024, 2048, 4096)
PEAK_FLOPS = 2 * max(PEAK_SIZES) ** 3

LEARNING_RATE = 1e-4


def flops_per_step(
  batch_size=BATCH_SIZE,
  seq_length=SEQ_LENGTH,
  num_predictions=NUM_PREDICTIONS,
  hidden_size=HIDDEN_SIZE,
  intermediate_size=INTERMEDIATE_SIZE,
  num_layers=NUM_LAYERS,
):
  """Returns the floating-point operations of the step's matrix products.

  Forward: two per weight and row; attention adds two products of [L, L] by
  [L, H] per sequence. Backward costs twice the forward pass.
  """
  h, i = hidden_size, intermediate_size
  per_token = 2 * (4 * h * h + 2 * h * i) + 2 * 2 * seq_length * h
  per_prediction = 2 * (h * h + h * VOCAB_SIZE)
  forward = batch_size * (
    seq_length * num_layers * per_token + num_predictions * per_prediction
  )
  return 3 * forward


def make_batch(
  batch_size=BATCH_SIZE, seq_length=SEQ_LENGTH, num_predictions=NUM_PREDICTIONS
):
  """Returns a random batch of numpy arrays under the original's names."""
  import numpy as np

  rng = np.random.default_rng(0)

  def integers(high, *shape):
    return rng.integers(0, high, (batch_size, *shape)).astype("int32")

  return {
    "input_ids": integers(VOCAB_SIZE, seq_length),
    "input_mask": np.ones((batch_size, seq_length), "int32"),
    "segment_ids": integers(2, seq_length),
    "masked_lm_positions": integers(seq_length, num_predictions),
    "masked_lm_ids": integers(VOCAB_SIZE, num_predictions),
    "masked_lm_weights": np.ones((batch_size, num_predictions), "float32"),
    "next_sentence_labels": integers(2, 1),
  }


def build_ours(dtype, jit_compile):
  """Returns a function that makes n updates with this library's loop."""
  import keras
  import tensorflow as tf

  from keras_bert_impl import configs
  from keras_bert_impl.optimizers import adamw
  from keras_bert_impl.tasks import masked_lm
  from keras_bert_impl.training import config as config_lib
  from keras_bert_impl.training import loop as loop_lib

  if dtype == "bfloat16":
    keras.config.set_dtype_policy("mixed_bfloat16")
  task = masked_lm.MaskedLanguageModelTask(
    configs.EncoderConfig.preset("bert_base")
  )
  loop = loop_lib.TrainingLoop(
    task,
    task.build_model(),
    adamw.AdamW(LEARNING_RATE),
    tf.distribute.get_strategy(),
    config_lib.TrainingConfig(
      train_batch_size=BATCH_SIZE, dtype=dtype, jit_compile=jit_compile
    ),
  )
  dataset = tf.data.Dataset.from_tensors(make_batch()).cache().repeat()
  batches = iter(dataset)
  return lambda num_steps: loop.train(batches, num_steps)


def build_model_garden(dtype, jit_compile):
  """Returns a function that makes n updates as Model Garden's own task does."""
  import tensorflow as tf
  import tf_keras
  from official.modeling import performance
  from official.nlp import optimization
  from official.nlp.configs import bert, encoders
  from official.nlp.data import pretrain_dataloader
  from official.nlp.tasks import masked_lm

  performance.set_mixed_precision_policy(tf.dtypes.as_dtype(dtype))
  task = masked_lm.MaskedLMTask(
    masked_lm.MaskedLMConfig(
      model=bert.PretrainerConfig(
        encoder=encoders.EncoderConfig(
          bert=encoders.BertEncoderConfig(
            vocab_size=VOCAB_SIZE,
            hidden_size=HIDDEN_SIZE,
            num_layers=NUM_LAYERS,
            num_attention_heads=HIDDEN_SIZE // 64,
            intermediate_size=INTERMEDIATE_SIZE,
          )
        ),
        cls_heads=[
          bert.ClsHeadConfig(
            inner_dim=HIDDEN_SIZE, num_classes=2, name="next_sentence"
          )
        ],
      ),
      train_data=pretrain_dataloader.BertPretrainDataConfig(),
    )
  )
  model = task.build_model()
  optimizer = optimization.AdamWeightDecay(
    learning_rate=tf_keras.optimizers.schedules.PolynomialDecay(
      LEARNING_RATE, 1_000_000, 0.0
    ),
    weight_decay_rate=0.01,
    epsilon=1e-6,
    exclude_from_weight_decay=["LayerNorm", "layer_norm", "bias"],
  )
  metrics = task.build_metrics()
  batch = make_batch()
  batch["input_word_ids"] = batch.pop("input_ids")
  batch["input_type_ids"] = batch.pop("segment_ids")
  batches = iter(tf.data.Dataset.from_tensors(batch).cache().repeat())

  @tf.function
  def run(num_steps):
    for _ in tf.range(num_steps):
      task.train_step(next(batches), model, optimizer, metrics)

  return lambda num_steps: run(tf.constant(num_steps))


def build_peak(dtype, jit_compile):
  """Returns a function that does n times PEAK_FLOPS in large products.

  Of a few sizes it takes the fastest: the larger is not always the faster.
  """
  import tensorflow as tf

  product = tf.function(tf.linalg.matmul)

  def run(size, num_steps):
    a = tf.ones((size, size), dtype)
    for _ in range(num_steps * (max(PEAK_SIZES) // size) ** 3):
      result = product(a, a)
    return result.numpy()

  def seconds(size):
    run(size, 1)
    start = time.perf_counter()
    run(size, 1)
    return time.perf_counter() - start

  fastest = min(PEAK_SIZES, key=seconds)
  return lambda num_steps: run(fastest, num_steps)


CONTESTANTS = {
  "ours": build_ours,
  "model_garden": build_model_garden,
  "peak": build_peak,
}


def serve(contestant, dtype, jit_compile):
  """Runs as many steps as each line of stdin says; answers with seconds."""
  run = CONTESTANTS[contestant](dtype, jit_compile)
  run(1)  # Traces.
  print("ANSWER 0", flush=True)
  for line in sys.stdin:
    start = time.perf_counter()
    run(int(line))
    print(f"ANSWER {time.perf_counter() - start}", flush=True)


class Contestant:
  """One contestant in a process of its own."""

  def __init__(self, name, python, dtype, jit_compile):
    self.name = name
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    command = [python, os.path.abspath(__file__)]
    command += [f"--serve={name}", f"--dtypes={dtype}"]
    command += ["--jit_compile"] * jit_compile
    self.process = subprocess.Popen(
      command,
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      text=True,
      cwd=os.path.abspath(root),
      env=os.environ
      | {
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "PYTHONPATH": os.path.abspath(root),
        **({"TF_USE_LEGACY_KERAS": "1"} if name == "model_garden" else {}),
      },
    )
    self.seconds = []
    self._answer()

  def run(self, num_steps):
    """Measures the seconds of one step, the mean of `num_steps`."""
    self.process.stdin.write(f"{num_steps}\n")
    self.process.stdin.flush()
    self.seconds.append(self._answer() / num_steps)

  def _answer(self):
    for line in self.process.stdout:
      if line.startswith("ANSWER "):
        return float(line.removeprefix("ANSWER "))
    raise RuntimeError(f"The process of {self.name} ended; see above.")

  def stop(self):
    """Ends the process."""
    self.process.stdin.close()
    self.process.wait()


def measure(arguments, dtype):
  """Returns {contestant: [seconds of one step, a round each]}."""
  pythons = {"ours": sys.executable, "peak": sys.executable}
  if arguments.model_garden_python:
    pythons["model_garden"] = arguments.model_garden_python
  contestants = [
    Contestant(name, python, dtype, arguments.jit_compile and name == "ours")
    for name, python in pythons.items()
  ]
  for _ in range(arguments.rounds):
    for contestant in contestants:
      contestant.run(arguments.steps)
  for contestant in contestants:
    contestant.stop()
  return {contestant.name: contestant.seconds for contestant in contestants}


def report(dtype, seconds):
  """Prints the table of one dtype."""
  peak = PEAK_FLOPS / min(seconds["peak"]) / 1e9
  onednn = os.environ.get("TF_ENABLE_ONEDNN_OPTS", "not set")
  print(
    f"\n{dtype}: matrix-product peak {peak:.0f} GFLOP/s "
    f"(TF_ENABLE_ONEDNN_OPTS {onednn})"
  )
  print(
    f"{'':14}{'examples/s':>12}{'tokens/s':>10}{'GFLOP/s':>10}"
    f"{'of peak':>9}  examples/s by round"
  )
  for name in seconds:
    if name == "peak":
      continue
    step = statistics.median(seconds[name])
    gflops = flops_per_step() / step / 1e9
    rounds = " ".join(f"{BATCH_SIZE / s:.2f}" for s in seconds[name])
    print(
      f"{name:14}{BATCH_SIZE / step:12.2f}"
      f"{BATCH_SIZE * SEQ_LENGTH / step:10.0f}{gflops:10.0f}"
      f"{gflops / peak:9.1%}  {rounds}"
    )
  if "model_garden" in seconds:
    ratios = [
      garden / ours
      for ours, garden in zip(
        seconds["ours"], seconds["model_garden"], strict=True
      )
    ]
    print(
      f"ours / model_garden: {statistics.median(ratios):.3f} (by round: "
      + " ".join(f"{ratio:.3f}" for ratio in ratios)
      + ")"
    )


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--model_garden_python", help="its environment's python")
  parser.add_argument("--dtypes", default="float32,bfloat16")
  parser.add_argument("--rounds", type=int, default=5)
  parser.add_argument("--steps", type=int, default=2, help="per round")
  parser.add_argument("--jit_compile", action="store_true", help="ours only")
  parser.add_argument("--serve", choices=CONTESTANTS, help=argparse.SUPPRESS)
  arguments = parser.parse_args()
  if arguments.serve:
    serve(arguments.serve, arguments.dtypes, arguments.jit_compile)
    return
  for dtype in arguments.dtypes.split(","):
    report(dtype, measure(arguments, dtype))


if __name__ == "__main__":
  main()
