"""Makes tests/data/few_shot.json with torch and transformers, which tests lack.

    python -m tests.kinds.generation.make_few_shot

Questions to tests/data/decoders/gpt2, and what the formulas of
lm-evaluation-harness say of transformers' logits (lm_eval/api/task.py,
lm_eval/utils.py).
"""

import json
import pathlib
import random
import re

import numpy as np
import torch
import transformers

DATA = pathlib.Path(__file__).parents[2] / "data"
PATH, MODEL = DATA / "few_shot.json", DATA / "decoders/gpt2"
LENGTH = 64


def words(size):
  """Returns words of mixed lengths, in characters and in bytes, list of str."""
  stems = (
    "a",
    "일",
    "été",
    "mountain",
    "한국말",
    "to",
    "é",
    "wisdom",
    "x",
    "길",
  )
  return ["[UNK]", *(f"{stems[k % 10]}{k}" for k in range(1, size))]


def main():
  model = transformers.GPT2LMHeadModel.from_pretrained(MODEL).eval()
  known, rng = words(model.config.vocab_size), random.Random(0)
  ids = {word: number for number, word in enumerate(known)}

  def text(least, most):
    return " ".join(rng.choices(known[1:], k=rng.randint(least, most)))

  def log_likelihood(read, predicted):
    with torch.no_grad():
      logits = model(torch.tensor([read])).logits[0]
    shares = torch.log_softmax(logits, dim=-1)[-len(predicted) :]
    return float(sum(row[k] for row, k in zip(shares, predicted)))

  def of_pair(context, continuation):
    context = [ids[word] for word in context.split()]
    continuation = [ids[word] for word in continuation.split()]
    return log_likelihood((context + continuation)[:-1], continuation)

  questions = [
    {
      "text": text(1, 9),
      "choices": [text(1, 6) for _ in range(4)],
      "label": rng.randrange(4),
    }
    for _ in range(63)
  ]
  [example] = [{"text": text(8, 8), "choices": [text(2, 2)] * 2, "label": 1}]
  shot = f"{example['text']} {example['choices'][1]}\n\n"
  expected = {}
  for number in (0, 1):
    right = {"acc": [], "acc_norm": [], "acc_bytes": []}
    sums = []
    for question in questions:
      choices = question["choices"]
      context = number * shot + question["text"]
      found = np.array([of_pair(context, f" {each}") for each in choices])
      sums.append(found.tolist())
      characters = np.array([float(len(each)) for each in choices])
      in_bytes = np.array([float(len(each.encode())) for each in choices])
      for name, values in (
        ("acc", found),
        ("acc_norm", found / characters),
        ("acc_bytes", found / in_bytes),
      ):
        right[name].append(float(np.argmax(values) == question["label"]))
    expected[number] = {"sums": sums}
    for name, values in right.items():
      expected[number][name] = float(np.mean(values))
      error = np.std(values, ddof=1) / len(values) ** 0.5
      expected[number][f"{name}_stderr"] = float(error)
  document = text(150, 150)
  tokens = [ids[word] for word in document.split()]
  total, predicted = 0.0, min(LENGTH, len(tokens))
  total += log_likelihood([0, *tokens[: predicted - 1]], tokens[:predicted])
  while predicted < len(tokens):
    number = min(len(tokens) - predicted, LENGTH)
    end = predicted + number
    read = tokens[end - LENGTH - 1 : end - 1]
    total += log_likelihood(read, tokens[end - number : end])
    predicted += number
  num_bytes = len(document.encode())
  rolling = {
    "word_perplexity": np.exp(-total / len(re.split(r"\s+", document))),
    "byte_perplexity": np.exp(-total / num_bytes),
    "bits_per_byte": -total / num_bytes / np.log(2),
  }
  content = {
    "words": known,
    "questions": questions,
    "example": example,
    "expected": expected,
    "document": document,
    "rolling": {name: float(value) for name, value in rolling.items()},
  }
  PATH.write_text(json.dumps(content, ensure_ascii=False) + "\n")


if __name__ == "__main__":
  main()
