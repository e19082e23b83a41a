"""Writes text with LiteRT or ONNX files that export_saved_model.py wrote.

    python official_tasks/export_saved_model.py --checkpoint_dir=gpt2 \
      --head=generation --format=onnx --export_dir=small/gpt2
    pip install numpy tokenizers onnxruntime    # or ai-edge-litert
    python generate.py small/gpt2/1 "The cat sat" 20

It needs the folder and client.py, which stands beside this file. The likeliest
token is taken at each step. model.json says which ids begin and end a text;
what is computed of the tokens before, `present`, goes into the next step.
"""

import sys

import client
import numpy as np


def load(folder):
  """Returns model.json, the tokenizer, and functions of the files by name."""
  folder = client.newest(folder)
  about, tokenizer, step = client.load(folder)
  runs = {"step": step}
  if "encoder" in about:
    file = about["encoder"]["file"]
    runs["encoder"] = client.open_file(folder, about, file)
  return about, tokenizer, runs


def generate(about, tokenizer, runs, prompt, max_new_tokens=None):
  """Returns the ids that follow a prompt, list of int, that of the end too."""
  most = max_new_tokens or about["max_new_tokens"]
  tokens, ids = about["tokens"], _prompt_ids(about, tokenizer, prompt)
  shape = {value["name"]: value["shape"] for value in about["inputs"]}["past"]
  past = [1 if isinstance(size, str) else size for size in shape]
  rows = {"input_ids": ids, "past": np.zeros(past, np.float32)}
  if "encoder" in runs:
    rows |= runs["encoder"]({"input_ids": ids})
    rows["input_ids"] = np.array([[tokens["start"]]], np.int32)
  found = []
  while len(found) < most and not {*found} & {*tokens["end"]}:
    outputs = runs["step"](rows)
    scores = outputs["logits"][0]
    scores[tokens["banned"]] = -np.inf
    forced = tokens["first"] if not found else None
    forced = tokens["last"] if len(found) == most - 1 else forced
    found.append(int(scores.argmax()) if forced is None else forced)
    rows |= {
      "input_ids": np.array([found[-1:]], np.int32),
      "past": outputs["present"],
    }
  return found


def _prompt_ids(about, tokenizer, prompt):
  """Returns the ids of a prompt and what frames it, int32 [1, L]."""
  special = about["texts"]["special_tokens"]
  before, after = about["texts"]["framing"][0].split("A")
  pieces = tokenizer.encode(prompt, add_special_tokens=False).ids
  ids = [special[role]["id"] for role in before.split()] + pieces
  if "encoder" in about:  # Else the text goes on.
    ids += [special[role]["id"] for role in after.split()]
  ids = ids[: about["max_seq_length"]] or [about["tokens"]["start"]]
  return np.array([ids], np.int32)


def main():
  """Writes the text that follows that of the command line."""
  if len(sys.argv) not in (3, 4):
    sys.exit(__doc__)
  about, tokenizer, runs = load(sys.argv[1])
  found = generate(about, tokenizer, runs, sys.argv[2], *map(int, sys.argv[3:]))
  print(tokenizer.decode(found))


if __name__ == "__main__":
  main()
