"""Trains an encoder for search, beside sentence-transformers.

  python benchmarks/embedding_benchmark.py --start=folder \
    --squad=dev-v1.1.json --work_dir=vectors \
    --python=/path/to/venv/of/sentence-transformers/bin/python

Both train the same start, a folder that sentence-transformers opens: the same
batches in size, AdamW, a warm-up of a tenth and a linear fall, dropout as
configured. This library scores both. One after the other, once per seed.

  --squad: the questions of all articles but the last ten and their paragraphs,
    softmax over the batch; then questions of the last ten search all
    paragraphs. With --chunk_size both cache gradients.
  --train --dev: pairs with scores, columns sentence1, sentence2 and score, by
    CoSENT; then the correlation with the scores of other pairs.
  --texts --dev: lines of text, each beside itself under other dropout (SimCSE).
  --encode: lines of text, which are encoded by `encode`, by `encode_corpus` and
    there, each round in turns: texts per CPU second. `taskset -c 0` before the
    command gives all one thread, as threads that wait take CPU seconds, too.

Printed of training are real tokens per second of the last epoch (its first one
holds tracing), the peak of memory and the scores.
"""

import argparse
import csv
import itertools
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import asked_process

ROOT = pathlib.Path(__file__).parents[1]
SCALE = 20.0  # 1 / temperature


SCORES = ("mrr@10", "ndcg@10", "spearman", "pearson")


def prepare(given):
  """Writes train.jsonl; of SQuAD also dev.json and all.json."""
  given.work_dir.mkdir(parents=True, exist_ok=True)
  rows = given.texts and texts_of(given.texts)
  rows = rows or (squad_of(given) if given.squad else scored_of(given.train))
  lines = [json.dumps(row) for row in rows]
  path = given.work_dir / "train.jsonl"
  path.write_text("\n".join(lines[: given.num_examples]) + "\n")


def squad_of(given):
  content = json.loads(pathlib.Path(given.squad).read_text())
  articles = content["data"]
  for name, part in (("dev", articles[-10:]), ("all", articles)):
    (given.work_dir / f"{name}.json").write_text(json.dumps({"data": part}))
  return [
    (qa["question"], paragraph["context"])
    for article in articles[:-10]
    for paragraph in article["paragraphs"]
    for qa in paragraph["qas"]
  ]


def scored_of(path):
  with open(path, encoding="utf-8", newline="") as file:
    rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    return [
      (row["sentence1"], row["sentence2"], float(row["score"])) for row in rows
    ]


def texts_of(path):
  lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
  return [(line, line) for line in lines if line.strip()]


def pairs_of(case):
  lines = pathlib.Path(case.data, "train.jsonl").read_text().splitlines()
  return [tuple(json.loads(line)) for line in lines]


def ours(case):
  """Returns the times at which epochs ended."""
  import keras

  import keras_bert_impl as kb

  times = [time.time()]
  encoder = kb.SentenceEncoder.from_checkpoint(case.start)
  encoder.texts = encoder.texts.__class__(case.length)
  rows = pairs_of(case)
  encoder.fit(
    [row[0] for row in rows] if case.texts else rows,
    loss="cosent" if case.train else "in_batch",
    epochs=case.epochs,
    batch_size=case.batch_size,
    chunk_size=case.chunk_size,
    learning_rate=case.learning_rate,
    random_seed=case.seed,
    temperature=1 / SCALE,
    use_bias_correction=True,
    adam_epsilon=1e-8,
    weight_decay_rate=0.0,
    max_seq_length=case.length,
    callbacks=[
      keras.callbacks.LambdaCallback(
        on_epoch_end=lambda *_: times.append(time.time())
      )
    ],
  )
  encoder.save(case.folder)
  return times


def theirs(case):
  """Returns the times at which epochs ended."""
  import datasets
  import sentence_transformers as library
  import torch
  import transformers
  from sentence_transformers import losses

  torch.set_num_threads(len(os.sched_getaffinity(0)))
  times = [time.time()]

  class Clock(transformers.TrainerCallback):
    def on_epoch_end(self, *arguments, **named):
      times.append(time.time())

  transformers.set_seed(case.seed)
  model = library.SentenceTransformer(case.start, device="cpu")
  model.max_seq_length = case.length
  columns = zip(*pairs_of(case), strict=True)
  names = ("anchor", "positive", "score")
  data = datasets.Dataset.from_dict(
    {name: list(column) for name, column in zip(names, columns, strict=False)}
  )
  loss = losses.MultipleNegativesRankingLoss(model, scale=SCALE)
  if case.train:
    loss = losses.CoSENTLoss(model, scale=SCALE)
  elif case.chunk_size:
    loss = losses.CachedMultipleNegativesRankingLoss(
      model, scale=SCALE, mini_batch_size=case.chunk_size
    )
  arguments = library.SentenceTransformerTrainingArguments(
    os.path.join(case.folder, "trainer"),
    num_train_epochs=case.epochs,
    per_device_train_batch_size=case.batch_size,
    learning_rate=case.learning_rate,
    warmup_ratio=0.1,
    seed=case.seed,
    save_strategy="no",
    report_to=[],
    use_cpu=True,
    disable_tqdm=True,
    dataloader_drop_last=True,
    logging_steps=1000,
  )
  library.SentenceTransformerTrainer(
    model, arguments, train_dataset=data, loss=loss, callbacks=[Clock()]
  ).train()
  model.save_pretrained(case.folder)
  return times


def encode_ours(case):
  """Returns a function that encodes texts."""
  import keras_bert_impl as kb

  encoder = kb.SentenceEncoder.from_checkpoint(case.start)
  return lambda texts: encoder.encode(texts, batch_size=case.batch_size)


def encode_corpus(case):
  """Returns a function that writes the vectors of texts."""
  import keras_bert_impl as kb

  encoder = kb.SentenceEncoder.from_checkpoint(case.start)

  def encode(texts):
    with tempfile.TemporaryDirectory() as folder:
      vectors = encoder.encode_corpus(texts, folder, batch_size=case.batch_size)
      return next(vectors.blocks())

  return encode


def encode_theirs(case):
  """Returns a function that encodes texts."""
  import sentence_transformers as library
  import torch

  torch.set_num_threads(len(os.sched_getaffinity(0)))
  model = library.SentenceTransformer(case.start, device="cpu")
  return lambda texts: model.encode(texts, batch_size=case.batch_size)


ENCODERS = {
  "encode": encode_ours,
  "encode_corpus": encode_corpus,
  "theirs": encode_theirs,
}


def encode_worker(name, case):
  """Encodes the next texts at each line, and answers CPU seconds."""
  case = argparse.Namespace(**json.loads(case))
  encode = ENCODERS[name](case)
  lines = pathlib.Path(case.encode).read_text(encoding="utf-8").splitlines()
  texts = lines[: case.num_examples]
  size = -(-len(texts) // case.rounds)
  encode(texts[:size:7])  # Traces, and starts threads.
  print("ANSWER 0", flush=True)
  for start in range(0, len(texts), size):
    sys.stdin.readline()
    started = time.process_time()
    vectors = encode(texts[start : start + size])
    seconds = time.process_time() - started
    print("ANSWER", seconds, len(vectors), *vectors[0][:8], flush=True)


def compare_encoding(given):
  """Prints texts per CPU second, and how far vectors differ."""
  workers = {
    name: asked_process.AskedProcess(
      [python, __file__, "--encode_worker", name, json.dumps(vars(given))],
      os.environ | {"PYTHONPATH": str(ROOT) if name != "theirs" else ""},
    )
    for name in ENCODERS
    if (python := given.python if name == "theirs" else sys.executable)
  }
  totals = {name: [0, 0] for name in workers}
  for number in range(given.rounds):
    order = [*workers][:: (-1) ** number]
    found = {name: workers[name].ask() for name in order}
    for name, (seconds, texts, *_) in found.items():
      totals[name][0] += seconds
      totals[name][1] += texts
    furthest = max(
      abs(x - y)
      for one, two in itertools.combinations(found.values(), 2)
      for x, y in zip(one[2:], two[2:], strict=True)
    )
    speeds = {name: n / s for name, (s, n) in totals.items()}
    line = ", ".join(f"{name} {x:.1f}" for name, x in speeds.items())
    print(f"texts per CPU s: {line}; apart by {furthest:.1g}", flush=True)
  for asked in workers.values():
    asked.stop()


def worker(name, case):
  """Trains one of both and prints what it took."""
  case = argparse.Namespace(**json.loads(case))
  times = {"ours": ours, "theirs": theirs}[name](case)
  peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
  print("RESULT", json.dumps({"times": times, "peak": peak}))


def score(case, folder):
  """Returns the scores of a folder on what is held out."""
  import keras_bert_impl as kb

  encoder = kb.SentenceEncoder.from_checkpoint(str(folder))
  if not case.dev:
    data = pathlib.Path(case.data)
    corpus = str(data / "all.json")
    return encoder.evaluate(str(data / "dev.json"), corpus=corpus)
  return encoder.evaluate(scored_of(case.dev))


def main():
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
  parser.add_argument("--encode_worker", nargs=2, help=argparse.SUPPRESS)
  parser.add_argument("--start")
  parser.add_argument("--encode")
  parser.add_argument("--rounds", type=int, default=10, help="of --encode")
  parser.add_argument("--squad")
  parser.add_argument("--train")
  parser.add_argument("--texts")
  parser.add_argument("--dev")
  parser.add_argument("--work_dir", type=pathlib.Path)
  parser.add_argument("--python", help="of sentence-transformers")
  parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
  parser.add_argument("--epochs", type=int, default=2)
  parser.add_argument("--batch_size", type=int, default=32)
  parser.add_argument("--chunk_size", type=int)
  parser.add_argument("--num_examples", type=int)
  parser.add_argument("--without_scores", action="store_true")
  parser.add_argument("--length", type=int, default=128)
  parser.add_argument("--learning_rate", type=float, default=2e-4)
  arguments = parser.parse_args()
  if arguments.worker:
    worker(*arguments.worker)
    return
  if arguments.encode_worker:
    encode_worker(*arguments.encode_worker)
    return
  if arguments.encode:
    arguments.work_dir = None
    compare_encoding(arguments)
    return
  prepare(arguments)
  given = vars(arguments)
  for seed in arguments.seeds:
    for name, python in (
      ("ours", sys.executable),
      ("theirs", arguments.python),
    ):
      if not python:
        continue
      folder = arguments.work_dir / f"{name}_{arguments.batch_size}_{seed}"
      case = given | {
        "work_dir": None,
        "seed": seed,
        "folder": str(folder),
        "data": str(arguments.work_dir),
      }
      output = subprocess.run(
        [python, __file__, "--worker", name, json.dumps(case)],
        env=os.environ | {"PYTHONPATH": str(ROOT) if name == "ours" else ""},
        check=True,
        capture_output=True,
        text=True,
      ).stdout
      [line] = [x for x in output.splitlines() if x.startswith("RESULT ")]
      report(name, seed, json.loads(line.removeprefix("RESULT ")), case, folder)


def report(name, seed, result, case, folder):
  """Prints one line."""
  import keras_bert_impl as kb

  case = argparse.Namespace(**case)
  encoder = kb.SentenceEncoder.from_checkpoint(case.start)
  texts = [text for row in pairs_of(case) for text in row[:2]]
  tokens = 0
  for start in range(0, len(texts), 1000):
    batch = encoder.tokenizer(
      texts[start : start + 1000], max_seq_length=case.length
    )
    tokens += int(batch["input_mask"].numpy().sum())
  times = result["times"]
  line = (
    f"{name:8} seed {seed}: {tokens / (times[-1] - times[-2]):7.0f} tokens/s in"
    f" the last epoch, {times[-1] - times[0]:5.0f} s in all,"
    f" {result['peak']:5.0f} MiB"
  )
  if not case.without_scores:
    scores = score(case, folder)
    for name in SCORES:
      line += f", {name} {scores[name]:.4f}" if name in scores else ""
  print(line, flush=True)


if __name__ == "__main__":
  # The folder of this file holds benchmarks, not packages.
  sys.path[0] = str(ROOT)
  main()
