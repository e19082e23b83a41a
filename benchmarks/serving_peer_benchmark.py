"""Measures raw text to answer beside transformers on torch.

  python benchmarks/serving_peer_benchmark.py --checkpoint=MiniLM \
    --texts=sentences.txt --python=/path/to/venv/bin/python

The checkpoint is a folder of transformers or sentence-transformers; the other
environment holds torch and transformers. Both libraries read the same texts,
sorted by length, 1 and 32 of them in a request, and answer with a vector of
each (the mean of its tokens, of length 1) or with two logits of a classifier,
whose head has random weights. Ours is the SavedModel in a session, as TF
Serving has it; theirs the fast tokenizer and the model in inference mode. They
take ten turns, each with every tenth request. Printed are texts per second, and
that as a multiple of what transformers answer.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

_LENGTH = 128  # tokens at most
_TASKS = ("vectors", "logits")
_NUM_TURNS = 10
_PAUSE = 0.5  # seconds until the threads of the one before sleep


class _Peer:
  """Transformers in a process of its own, which times itself."""

  def __init__(self, python, task, checkpoint):
    self._process = subprocess.Popen(
      [python, __file__, "--answer", task, "--checkpoint", checkpoint],
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      stderr=subprocess.DEVNULL,
      text=True,
    )

  def __call__(self, texts):
    """Returns the seconds for a request, and the first row of the answer."""
    self._process.stdin.write(json.dumps(texts) + "\n")
    self._process.stdin.flush()
    seconds, row = json.loads(self._process.stdout.readline())
    return seconds, row

  def close(self):
    self._process.stdin.close()
    self._process.wait()


def _answer(task, checkpoint):
  """Answers requests on stdin; what transformers' users would write."""
  import torch
  import transformers

  tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
  if task == "vectors":
    model = transformers.AutoModel.from_pretrained(checkpoint).eval()
  else:
    config = transformers.AutoConfig.from_pretrained(checkpoint)
    model = transformers.AutoModelForSequenceClassification.from_config(config)
    model.eval()

  @torch.inference_mode()
  def answer(texts):
    batch = tokenizer(
      texts,
      padding=True,
      truncation=True,
      max_length=_LENGTH,
      return_tensors="pt",
    )
    outputs = model(**batch)
    if task == "logits":
      return outputs.logits
    mask = batch["attention_mask"][..., None]
    mean = (outputs.last_hidden_state * mask).sum(1) / mask.sum(1)
    return torch.nn.functional.normalize(mean)

  for line in sys.stdin:
    texts = json.loads(line)
    start = time.perf_counter()
    rows = answer(texts).numpy()
    seconds = time.perf_counter() - start
    print(json.dumps([seconds, rows[0].tolist()]), flush=True)


class _Ours:
  """Our SavedModel in a session."""

  def __init__(self, task, checkpoint, folder, compute_dtype):
    import tensorflow as tf

    import keras_bert_impl as kb
    from keras_bert_impl import models, tokenizers
    from keras_bert_impl.kinds.embeddings.servables import text_vectors
    from keras_bert_impl.kinds.texts import text_servables
    from keras_bert_impl.serving import export

    tokenizer = tokenizers.load(checkpoint)
    model = kb.from_checkpoint(checkpoint)
    if task == "vectors":
      servable = text_vectors.EncoderServable(
        model, tokenizer, _LENGTH, "mean", normalize=True
      )
    else:
      servable = text_servables.ClassificationServable(
        models.SequenceClassifier(model.config, 2),
        tokenizer,
        _LENGTH,
        ("0", "1"),
        text_pairs=False,
      )
    export_dir = os.path.join(folder, f"{task}_{compute_dtype}")
    version = export.export(servable, export_dir, compute_dtype=compute_dtype)
    session = tf.compat.v1.Session(graph=tf.Graph())
    with session.graph.as_default():
      loaded = tf.compat.v1.saved_model.load(session, ["serve"], version)
    signature = loaded.signature_def["serving_default"]
    output = "embeddings" if task == "vectors" else "probabilities"
    self._run = session.make_callable(
      signature.outputs[output].name, [signature.inputs["text"].name]
    )

  def __call__(self, texts):
    start = time.perf_counter()
    rows = self._run(texts)
    return time.perf_counter() - start, rows[0].tolist()

  def close(self):
    pass


def _compare(contestants, texts, size):
  """Prints texts per second of requests of `size` texts."""
  seconds = dict.fromkeys(contestants, 0.0)
  names = list(contestants)
  requests = [texts[i : i + size] for i in range(0, len(texts), size)]
  for number in range(_NUM_TURNS):
    for turn in range(len(names)):
      name = names[(number + turn) % len(names)]
      contestant = contestants[name]
      time.sleep(_PAUSE)
      contestant(requests[number])  # Not timed: to warm up.
      for request in requests[number::_NUM_TURNS]:
        needed, contestant.row = contestant(request)
        seconds[name] += needed
  peer = seconds["transformers"]
  for name, total in seconds.items():
    print(
      f"{size:4} {name:14} {len(texts) / total:8.1f} texts/s"
      f" {peer / total:6.2f}",
      flush=True,
    )


def main():
  """Prints the tables."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--checkpoint", required=True)
  parser.add_argument("--texts", help="a file with a text on each line")
  parser.add_argument("--num_texts", type=int, default=2000)
  parser.add_argument("--python", help="of the other environment")
  parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
  parser.add_argument("--answer", choices=_TASKS, help=argparse.SUPPRESS)
  arguments = parser.parse_args()
  if arguments.answer:
    _answer(arguments.answer, arguments.checkpoint)
    return
  sys.path[0] = str(pathlib.Path(__file__).parents[1])
  os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
  os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
  lines = pathlib.Path(arguments.texts).read_text("utf-8").splitlines()
  texts = [line for line in lines if line.strip()][: arguments.num_texts]
  texts.sort(key=len)
  for task in _TASKS:
    with tempfile.TemporaryDirectory() as folder:
      contestants = {
        f"ours {dtype}": _Ours(task, arguments.checkpoint, folder, dtype)
        for dtype in arguments.dtypes
      }
      contestants["transformers"] = _Peer(
        arguments.python, task, arguments.checkpoint
      )
      print(f"{task} of {len(texts)} texts; times those of transformers")
      for size in (1, 32):
        _compare(contestants, texts, size)
      if task == "vectors":
        rows = [contestant.row for contestant in contestants.values()]
        products = [sum(map(float.__mul__, r, rows[-1])) for r in rows[:-1]]
        print("cosine of the last vectors", [f"{x:.6f}" for x in products])
      for contestant in contestants.values():
        contestant.close()


if __name__ == "__main__":
  main()
