"""Measures what models know after minutes of pre-training, beside others.

  python benchmarks/pretraining_benchmark.py --work_dir=learned --minutes=20 \
    --python="Model Garden=/path/to/venv/bin/python" \
    --python="KerasHub=/path/to/venv/bin/python" \
    --python="transformers=/path/to/venv/bin/python"

The environments are those of step_benchmark.py. All read the default text of
run_pretraining.py with the same vocabulary and train a model of two layers of
128 for the same time: ours is `--recipe=fast`; the others are a BERT, trained
by their own model, masking, optimizer and loop, 15 % of the tokens 80/10/10 of
full rows of 64, AdamW with a warm-up of a tenth and a linear fall. Their
documented learning rates are for larger models and learn nothing here: they get
--learning_rate. The time is that of the training process from its start, with
imports and tracing; the number of steps follows from its first ones. Then
run_pretraining.py scores all weights on the held-out text (standard scores).
One after the other; run several seeds with --seed.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).parents[1]
LENGTH, BATCH, LAYERS, HIDDEN = 64, 32, 2, 128
# What is left for a model to be written, in seconds.
_TO_WRITE = 10
# Building takes seconds, more or less: the second is long beside that.
_PROBES = (10, 200)


def steps_in(run, minutes):
  """Returns how many steps fit: `run(n)` builds a model and makes n steps."""
  seconds = []
  for num_steps in _PROBES:
    start = time.monotonic()
    run(num_steps)
    seconds.append(time.monotonic() - start)
  a_step = (seconds[1] - seconds[0]) / (_PROBES[1] - _PROBES[0])
  to_build = max(seconds[1] - _PROBES[1] * a_step, 0)
  left = 60 * minutes - (time.time() - float(os.environ["STARTED"]))
  return int((left - to_build - _TO_WRITE) / a_step)


def transformers(rows, case):
  """Trains BertForMaskedLM by the Trainer, as run_mlm.py does."""
  import torch
  import transformers as library

  torch.set_num_threads(len(os.sched_getaffinity(0)))
  tokenizer = library.BertTokenizerFast(case.vocab)
  collator = library.DataCollatorForLanguageModeling(tokenizer)
  examples = [{"input_ids": row} for row in rows.tolist()]

  def trained(num_steps):
    library.set_seed(case.seed)
    model = library.BertForMaskedLM(
      library.BertConfig(
        vocab_size=case.vocab_size,
        hidden_size=HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HIDDEN // 64,
        intermediate_size=4 * HIDDEN,
        max_position_embeddings=LENGTH,
      )
    )
    arguments = library.TrainingArguments(
      os.path.join(case.folder, "trainer"),
      per_device_train_batch_size=BATCH,
      max_steps=num_steps,
      learning_rate=case.learning_rate,
      warmup_steps=num_steps // 10,
      weight_decay=0.01,
      save_strategy="no",
      report_to=[],
      seed=case.seed,
      use_cpu=True,
      disable_tqdm=True,
      logging_steps=500,
    )
    library.Trainer(
      model, arguments, train_dataset=examples, data_collator=collator
    ).train()
    return model

  trained(trained_steps := steps_in(trained, case.minutes)).save_pretrained(
    case.folder
  )
  tokenizer.save_pretrained(case.folder)
  return trained_steps


def _masked(rows, case):
  """Yields masked batches of rows without end: 15 %, 80/10/10."""
  rng = np.random.default_rng(case.seed)
  count = round(0.15 * LENGTH)
  while True:
    for start in range(0, len(rows) - BATCH + 1, BATCH):
      if not start:
        rows = rng.permutation(rows)
      batch = rows[start : start + BATCH]
      places = np.argsort(rng.random((BATCH, LENGTH - 2)), axis=1)
      places = np.sort(places[:, :count] + 1, axis=1).astype("int32")
      labels = np.take_along_axis(batch, places, 1)
      draws = rng.random(places.shape)
      random = rng.integers(5, case.vocab_size, places.shape)
      new = np.where(draws < 0.8, case.mask_id, labels)
      new = np.where(draws >= 0.9, random, new)
      batch = batch.copy()
      np.put_along_axis(batch, places, new.astype(batch.dtype), 1)
      yield batch, places, labels


def model_garden(rows, case):
  """Trains BertPretrainer by its MaskedLMTask."""
  import tensorflow as tf
  import tf_keras
  from official.nlp import optimization
  from official.nlp.configs import bert, encoders
  from official.nlp.data import pretrain_dataloader
  from official.nlp.tasks import masked_lm

  task = masked_lm.MaskedLMTask(
    masked_lm.MaskedLMConfig(
      model=bert.PretrainerConfig(
        encoder=encoders.EncoderConfig(
          bert=encoders.BertEncoderConfig(
            vocab_size=case.vocab_size,
            hidden_size=HIDDEN,
            num_layers=LAYERS,
            num_attention_heads=HIDDEN // 64,
            intermediate_size=4 * HIDDEN,
            max_position_embeddings=LENGTH,
          )
        )
      ),
      train_data=pretrain_dataloader.BertPretrainDataConfig(
        use_next_sentence_label=False
      ),
    )
  )

  def batches():
    for ids, places, labels in _masked(rows, case):
      yield {
        "input_word_ids": ids,
        "input_mask": np.ones_like(ids),
        "input_type_ids": np.zeros_like(ids),
        "masked_lm_positions": places,
        "masked_lm_ids": labels,
        "masked_lm_weights": np.ones(places.shape, "float32"),
      }

  signature = {
    name: tf.TensorSpec(value.shape, value.dtype)
    for name, value in next(batches()).items()
  }

  def trained(num_steps):
    tf_keras.utils.set_random_seed(case.seed)
    model = task.build_model()
    optimizer = optimization.AdamWeightDecay(
      learning_rate=optimization.WarmUp(
        case.learning_rate,
        tf_keras.optimizers.schedules.PolynomialDecay(
          case.learning_rate, num_steps, 0.0
        ),
        max(num_steps // 10, 1),
      ),
      weight_decay_rate=0.01,
      epsilon=1e-6,
      exclude_from_weight_decay=["LayerNorm", "layer_norm", "bias"],
    )
    metrics = task.build_metrics()
    data = tf.data.Dataset.from_generator(batches, output_signature=signature)
    iterator = iter(data.prefetch(4))

    @tf.function
    def run(steps):
      for _ in tf.range(steps):
        task.train_step(next(iterator), model, optimizer, metrics)

    run(tf.constant(num_steps))
    return model

  num_steps = steps_in(trained, case.minutes)
  model = trained(num_steps)
  tf.train.Checkpoint(model=model).write(f"{case.folder}/model.ckpt")
  config = {
    "vocab_size": case.vocab_size,
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HIDDEN // 64,
    "intermediate_size": 4 * HIDDEN,
    "max_position_embeddings": LENGTH,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
  }
  path = pathlib.Path(case.folder, "bert_config.json")
  path.write_text(json.dumps(config))
  return num_steps


def keras_hub(rows, case):
  """Trains BertMaskedLM by fit."""
  import keras
  import keras_hub as library
  import tensorflow as tf

  generator = library.layers.MaskedLMMaskGenerator(
    case.vocab_size,
    mask_selection_rate=0.15,
    mask_token_id=case.mask_id,
    mask_selection_length=round(0.15 * LENGTH),
    unselectable_token_ids=case.special_ids,
  )

  def mask(ids):
    masked = generator(ids)
    inputs = {
      "token_ids": masked["token_ids"],
      "segment_ids": tf.zeros_like(ids),
      "padding_mask": tf.ones_like(ids),
      "mask_positions": masked["mask_positions"],
    }
    return inputs, masked["mask_ids"], masked["mask_weights"]

  data = tf.data.Dataset.from_tensor_slices(rows).shuffle(len(rows)).repeat()
  data = data.batch(BATCH, drop_remainder=True).map(mask, tf.data.AUTOTUNE)

  class Rate(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, num_steps):
      self.num_steps = float(max(num_steps, 10))

    def __call__(self, step):
      step = keras.ops.cast(step, "float32")
      warmup = self.num_steps / 10
      fall = (self.num_steps - step) / (self.num_steps - warmup)
      return case.learning_rate * keras.ops.minimum(step / warmup, fall)

    def get_config(self):
      return {"num_steps": self.num_steps}

  def trained(num_steps):
    keras.utils.set_random_seed(case.seed)
    backbone = library.models.BertBackbone(
      vocabulary_size=case.vocab_size,
      num_layers=LAYERS,
      num_heads=HIDDEN // 64,
      hidden_dim=HIDDEN,
      intermediate_dim=4 * HIDDEN,
      max_sequence_length=LENGTH,
    )
    model = library.models.BertMaskedLM(backbone, preprocessor=None)
    model.compile(
      optimizer=keras.optimizers.AdamW(
        Rate(num_steps), weight_decay=0.01, global_clipnorm=1.0
      ),
      loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    model.fit(data, steps_per_epoch=num_steps, epochs=1, verbose=0)
    return model

  num_steps = steps_in(trained, case.minutes)
  trained(num_steps).save_to_preset(case.folder)
  return num_steps


CONTESTANTS = {
  "transformers": transformers,
  "Model Garden": model_garden,
  "KerasHub": keras_hub,
}


def worker(name, case):
  """Trains one contestant in its own environment."""
  case = argparse.Namespace(**json.loads(case))
  num_steps = CONTESTANTS[name](np.load(case.rows), case)
  print(f"STEPS {num_steps}")


def prepare(folder):
  """Writes text, vocabulary and rows of ids; returns the facts of them."""
  path = folder / "rows.npy"
  text = folder / "default" / "corpus"
  if not path.exists():
    run_script("--num_train_steps=1", f"--output_dir={folder / 'default'}")
    from keras_bert_impl import tokenizers

    tokenizer = tokenizers.load(str(folder / "default" / "vocab.txt"))
    ids = []
    for file in sorted(text.glob("*train*")):
      lines = filter(None, file.read_text().splitlines())
      for row in tokenizer.tokenize([*lines]).to_list():
        ids += row
    whole = len(ids) // (LENGTH - 2)
    body = np.array(ids[: whole * (LENGTH - 2)], "int32").reshape(whole, -1)
    vocab = (folder / "default" / "vocab.txt").read_text().splitlines()
    begin, end = (
      np.full((whole, 1), vocab.index(token), "int32")
      for token in ("[CLS]", "[SEP]")
    )
    np.save(path, np.concatenate([begin, body, end], axis=1))
  vocab = (folder / "default" / "vocab.txt").read_text().splitlines()
  return {
    "rows": str(path),
    "vocab": str(folder / "default" / "vocab.txt"),
    "vocab_size": len(vocab),
    "mask_id": vocab.index("[MASK]"),
    "special_ids": [k for k, token in enumerate(vocab) if token[:1] == "["][:5],
  }


def run_script(*flags, **environment):
  """Runs run_pretraining.py of this checkout."""
  subprocess.run(
    [sys.executable, "official_tasks/run_pretraining.py", "--quiet", *flags],
    cwd=ROOT,
    env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
    check=True,
    stdout=subprocess.DEVNULL,
  )


def ours(folder, arguments, facts):
  """Trains --recipe=fast on the default text for the time.

  Returns:
    (steps, seconds).
  """
  probe, flags = folder.parent / f"{folder.name}_probe", ["--recipe=fast"]
  flags += [f"--vocab_file={facts['vocab']}", f"--random_seed={arguments.seed}"]
  flags += ["--nodo_eval", "--nodo_export", "--save_checkpoints_steps=1000000"]
  seconds = []
  for steps in (100, 300):
    start = time.monotonic()
    run_script(
      f"--num_train_steps={steps}", f"--output_dir={probe}_{steps}", *flags
    )
    seconds.append(time.monotonic() - start)
  a_step = (seconds[1] - seconds[0]) / 200
  steps = int((60 * arguments.minutes - seconds[0] - _TO_WRITE) / a_step) + 100
  start = time.monotonic()
  run_script(
    f"--num_train_steps={steps}",
    f"--num_warmup_steps={steps // 10}",
    f"--output_dir={folder}",
    *flags,
  )
  return steps, time.monotonic() - start


def train(name, python, folder, arguments, facts):
  """Trains a contestant; returns (steps, seconds)."""
  start = time.time()
  if name == "ours":
    return ours(folder, arguments, facts)
  case = facts | {
    "folder": str(folder),
    "minutes": arguments.minutes,
    "seed": arguments.seed,
    "learning_rate": arguments.learning_rate,
  }
  folder.mkdir(parents=True)
  environment = os.environ | {"STARTED": str(start), "PYTHONPATH": ""}
  if name == "Model Garden":
    environment["TF_USE_LEGACY_KERAS"] = "1"
  output = subprocess.run(
    [python, __file__, "--worker", name, json.dumps(case)],
    env=environment,
    check=True,
    capture_output=True,
    text=True,
  ).stdout
  [line] = [x for x in output.splitlines() if x.startswith("STEPS ")]
  return int(line.split()[1]), time.time() - start


def score(name, folder, facts):
  """Returns the standard scores of a trained folder."""
  corpus = pathlib.Path(facts["vocab"]).parent / "corpus"
  held_out = ",".join(map(str, sorted(corpus.glob("*held_out*"))))
  checkpoint = folder / "model.ckpt" if name == "Model Garden" else folder
  scored = folder.parent / f"{folder.name}_scored"
  run_script(
    "--do_eval",
    f"--objective={'modernbert' if name == 'ours' else 'roberta'}",
    f"--init_checkpoint={checkpoint}",
    f"--vocab_file={facts['vocab']}",
    f"--eval_text_file={held_out}",
    f"--output_dir={scored}",
    f"--max_seq_length={LENGTH}",
  )
  results = json.loads((scored / "results.json").read_text())
  return results["eval"]["standard"]


def main():
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
  parser.add_argument("--work_dir", type=pathlib.Path)
  parser.add_argument("--minutes", type=float, default=20)
  parser.add_argument("--learning_rate", type=float, default=1e-3)
  parser.add_argument("--seed", type=int, default=1)
  parser.add_argument("--without_ours", action="store_true")
  parser.add_argument(
    "--python", action="append", default=[], metavar="NAME=PATH"
  )
  arguments = parser.parse_args()
  if arguments.worker:
    worker(*arguments.worker)
    return
  work_dir = arguments.work_dir.resolve()
  facts = prepare(work_dir)
  pythons = {} if arguments.without_ours else {"ours": None}
  pythons |= dict(item.rsplit("=", 1) for item in arguments.python)
  for name, python in pythons.items():
    title = f"{name.replace(' ', '_')}_{arguments.minutes:g}_{arguments.seed}"
    folder = work_dir / title
    steps, seconds = train(name, python, folder, arguments, facts)
    scores = score(name, folder, facts)
    print(
      f"{title:24} {steps:6} steps in {seconds:5.0f} s:"
      f" {scores['accuracy']:.1%}, {scores['bits_per_byte']:.3f} bits per byte",
      flush=True,
    )


if __name__ == "__main__":
  # The folder of this file holds benchmarks, not packages.
  sys.path[0] = str(ROOT)
  main()
