"""Fine-tunes a text classifier beside KerasHub and transformers' Trainer.

  python benchmarks/classifier_benchmark.py \
    --train_file=ratings_train.txt --test_file=ratings_test.txt \
    --vocab_file=koelectra/vocab.txt \
    --python="KerasHub=/path/to/venv/bin/python" \
    --python="transformers=/path/to/venv/bin/python"

The environments of the others hold keras-hub; torch, transformers and
accelerate. Without them only `kb.TextClassifier` is measured.

Each reads the same reviews of NSMC (tab-separated id, document, label), starts
from the same random encoder, and is used as its documentation shows: strings
in, its own tokenizer and padding, batches of 32, AdamW with linear warm-up and
decay. A training is a process of its own; the contestants take turns, a seed
each. Printed are examples per second of the whole `fit` (tokenizing, tracing
and the setting up of the first step included) and of its last epoch alone,
medians of the seeds, and the accuracy of each seed on the file of tests.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[1]
LENGTH = 128
BATCH = 32
LABELS = ("0", "1")


def read(path, limit=None):
  """Returns (texts, labels 0 or 1) of a file of NSMC."""
  lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()[1:]
  rows = [line.split("\t") for line in lines]
  rows = [(text, int(label)) for _, text, label in rows if text.strip()]
  return tuple(map(list, zip(*rows[:limit], strict=True)))


class Clock:
  """Notes when epochs end, for the callbacks of each library."""

  def __init__(self):
    self.start = time.perf_counter()
    self.ends = []

  def end_epoch(self):
    """Notes the end of an epoch."""
    self.ends.append(time.perf_counter())

  def seconds(self):
    """Returns (seconds of all epochs, seconds of the last)."""
    return self.ends[-1] - self.start, self.ends[-1] - self.ends[-2]


def ours(settings, train, test):
  """Returns (clock, accuracy) of `kb.TextClassifier`."""
  import keras

  import keras_bert_impl as kb

  class Callback(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
      clock.end_epoch()

  classifier = kb.TextClassifier.from_checkpoint(
    settings.encoder, labels=LABELS
  )
  texts, labels = train
  clock = Clock()
  classifier.fit(
    texts,
    labels,
    epochs=settings.epochs,
    batch_size=BATCH,
    max_seq_length=LENGTH,
    learning_rate=settings.learning_rate,
    random_seed=settings.seed,
    use_bias_correction=True,
    adam_epsilon=1e-8,  # Of the Trainer; BERT's 1e-6 is for 1e-4 and less.
    callbacks=[Callback()],
  )
  return clock, classifier.evaluate(*test)["accuracy"]


def keras_hub(settings, train, test):
  """Returns (clock, accuracy) of `keras_hub.models.BertTextClassifier`."""
  import keras
  import keras_hub

  class Callback(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
      clock.end_epoch()

  keras.utils.set_random_seed(settings.seed)
  texts, labels = train
  tokenizer = keras_hub.tokenizers.BertTokenizer(
    vocabulary=settings.vocab_file, lowercase=False
  )
  classifier = keras_hub.models.BertTextClassifier(
    backbone=keras_hub.models.BertBackbone.from_preset(settings.encoder),
    preprocessor=keras_hub.models.BertTextClassifierPreprocessor(
      tokenizer, sequence_length=LENGTH
    ),
    num_classes=2,
  )
  steps = settings.epochs * (len(texts) // BATCH + 1)
  warmup = steps // 10
  decay = keras.optimizers.schedules.PolynomialDecay(
    settings.learning_rate, steps - warmup, 0.0
  )

  class Schedule(keras.optimizers.schedules.LearningRateSchedule):
    """Keras has no linear decay with a warm-up: without, it does not learn."""

    def __call__(self, step):
      rise = keras.ops.cast(step + 1, "float32") / warmup
      return decay(keras.ops.maximum(step - warmup, 0)) * keras.ops.minimum(
        rise, 1.0
      )

  classifier.compile(
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    optimizer=keras.optimizers.AdamW(
      Schedule(),
      weight_decay=0.01,
      global_clipnorm=1.0,
    ),
    metrics=["accuracy"],
    jit_compile=False,  # As ours.
  )
  clock = Clock()
  classifier.fit(
    texts,
    labels,
    batch_size=BATCH,
    epochs=settings.epochs,
    callbacks=[Callback()],
    verbose=0,
  )
  return clock, classifier.evaluate(*test, verbose=0, return_dict=True)[
    "accuracy"
  ]


def transformers(settings, train, test):
  """Returns (clock, accuracy) of transformers' Trainer on torch."""
  import numpy as np
  import torch
  import transformers as library

  class Callback(library.TrainerCallback):
    def on_epoch_end(self, *arguments, **options):
      clock.end_epoch()

  torch.set_num_threads(len(os.sched_getaffinity(0)))
  tokenizer = library.BertTokenizerFast(
    vocab=settings.vocab_file, do_lower_case=False, strip_accents=False
  )
  model = library.AutoModelForSequenceClassification.from_pretrained(
    settings.encoder, num_labels=2
  )

  def rows(texts, labels):
    encoded = tokenizer(texts, truncation=True, max_length=LENGTH)
    return [
      {name: values[i] for name, values in encoded.items()} | {"labels": label}
      for i, label in enumerate(labels)
    ]

  arguments = library.TrainingArguments(
    tempfile.mkdtemp(),
    num_train_epochs=settings.epochs,
    per_device_train_batch_size=BATCH,
    learning_rate=settings.learning_rate,
    weight_decay=0.01,
    warmup_steps=int(0.1 * settings.epochs * len(train[0]) / BATCH),
    seed=settings.seed,
    save_strategy="no",
    report_to=[],
    disable_tqdm=True,
    use_cpu=True,
  )
  clock = Clock()
  trainer = library.Trainer(
    model,
    arguments,
    train_dataset=rows(*train),
    processing_class=tokenizer,
    callbacks=[Callback()],
  )
  trainer.train()
  logits = trainer.predict(rows(*test)).predictions
  return clock, float(np.mean(logits.argmax(-1) == np.array(test[1])))


CONTESTANTS = {
  "ours": ours,
  "KerasHub": keras_hub,
  "transformers": transformers,
}


def write_encoder(folder, vocab_file):
  """Writes a random encoder of 4 layers of 256, which all of them read."""
  import keras

  from keras_bert_impl import configs, heads, models
  from keras_bert_impl.checkpoints import writing
  from keras_bert_impl.checkpoints.descriptions import description
  from keras_bert_impl.checkpoints.naming import mappings
  from keras_bert_impl.tokenizers.formats import tokenizer_options, vocabularies

  config = configs.EncoderConfig(
    vocab_size=vocabularies.Vocabulary.load(vocab_file).size,
    hidden_size=256,
    num_hidden_layers=4,
    num_attention_heads=4,
    intermediate_size=1024,
    max_position_embeddings=LENGTH,
    # Wide enough for small encoders to learn from random weights.
    initializer_range=1 / 16,
  )
  keras.utils.set_random_seed(0)
  model = models.PretrainingModel(config)
  writing.write_safetensors(
    folder,
    mappings.Arrays({weight.path: weight for weight in model.weights}),
    description.Description(config, heads.PRETRAINING),
    2**30,
  )
  copied = os.path.join(folder, "vocab.txt")
  shutil.copy(vocab_file, copied)
  tokenizer_options.save(
    copied, tokenizer_options.resolve(vocab_file, do_lower_case=False)
  )


def train_once(settings):
  """Trains one contestant; prints [examples/s, those of the last, accuracy]."""
  train = read(settings.train_file, settings.examples)
  test = read(settings.test_file)
  clock, accuracy = CONTESTANTS[settings.contestant](settings, train, test)
  whole, last = clock.seconds()
  number = len(train[0])
  speeds = (settings.epochs * number / whole, number / last)
  print("ANSWER", json.dumps([*speeds, float(accuracy)]), flush=True)


def ask(name, python, seed, encoder, settings):
  """Returns what `train_once` prints in a process of its own."""
  values = vars(settings) | {"seed": seed, "encoder": encoder}
  command = [python, __file__, f"--contestant={name}"]
  command += [f"--{k}={v}" for k, v in values.items() if k in _PASSED]
  environment = os.environ | {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "1"),
    "PYTHONPATH": os.environ.get("PYTHONPATH", "")
    if name != "ours"
    else str(ROOT),
  }
  done = subprocess.run(
    command, capture_output=True, text=True, env=environment
  )
  for line in done.stdout.splitlines():
    if line.startswith("ANSWER "):
      return json.loads(line.removeprefix("ANSWER "))
  raise SystemExit(f"{name} ended:\n{done.stderr[-3000:]}")


_PASSED = (
  "train_file test_file vocab_file examples epochs learning_rate seed encoder"
).split()


def main():
  """Trains in turns and prints the table; with --contestant, trains once."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument("--train_file", required=True, help="of NSMC")
  parser.add_argument("--test_file", required=True, help="of NSMC")
  parser.add_argument("--vocab_file", required=True, help="vocab.txt, cased")
  parser.add_argument("--python", action="append", default=[], help="NAME=PATH")
  parser.add_argument("--seeds", type=int, default=3, help="trainings of each")
  parser.add_argument("--examples", type=int, default=5000, help="to train on")
  parser.add_argument("--epochs", type=int, default=2, help="at least 2")
  parser.add_argument("--learning_rate", type=float, default=5e-4)
  parser.add_argument("--contestant", choices=CONTESTANTS, help="in --python")
  parser.add_argument("--seed", type=int, help="of one training")
  parser.add_argument("--encoder", help="folder that one training starts from")
  settings = parser.parse_args()
  if settings.contestant:
    train_once(settings)
    return
  pythons = {"ours": sys.executable}
  pythons |= dict(item.rsplit("=", 1) for item in settings.python)
  answers = {name: [] for name in pythons}
  with tempfile.TemporaryDirectory() as encoder:
    sys.path.insert(0, str(ROOT))
    write_encoder(encoder, settings.vocab_file)
    for seed in range(1, settings.seeds + 1):
      for name, python in pythons.items():
        answers[name].append(ask(name, python, seed, encoder, settings))
        print(seed, name, *answers[name][-1], flush=True)
  print("| | whole fit, examples/s | last epoch | ours / theirs | accuracies |")
  print("|---|---|---|---|---|")
  first = None
  for name, runs in answers.items():
    whole, last, accuracies = zip(*runs, strict=True)
    first = first or runs
    ratios = [
      statistics.median(a[i] / b[i] for a, b in zip(first, runs))
      for i in (0, 1)
    ]
    scores = " ".join(f"{x:.3f}" for x in accuracies)
    speeds = f"{statistics.median(whole):.0f} | {statistics.median(last):.0f}"
    against = f"{ratios[0]:.2f}, last epoch {ratios[1]:.2f}"
    print(f"| {name} | {speeds} | {against} | {scores} |")


if __name__ == "__main__":
  # The folder of this file holds benchmarks, not packages.
  sys.path.pop(0)
  main()
