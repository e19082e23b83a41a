"""Asks a LiteRT or ONNX file that export_saved_model.py wrote.

    pip install numpy tokenizers onnxruntime    # or ai-edge-litert
    python client.py served/mrpc/1 "He sleeps." "He is asleep."

It needs the folder alone: tokenizer.json makes ids of texts, and model.json
says what the file takes and gives. What is too long for the model is cut.
"""

import json
import pathlib
import sys

import numpy as np
import tokenizers


def load(folder, num_threads=2):
  """Returns model.json, the tokenizer and the model, a function of arrays."""
  folder = newest(folder)
  about = json.loads((folder / "model.json").read_text("utf-8"))
  tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
  finds = about["texts"]["finds_special_tokens"]
  tokenizer.encode_special_tokens = not finds
  tokenizer.no_truncation()
  tokenizer.no_padding()
  return about, tokenizer, open_file(folder, about, about["file"], num_threads)


def newest(folder):
  """Returns the folder of a version, or of the highest of them in a folder."""
  folder = pathlib.Path(folder)
  versions = [int(p.name) for p in folder.glob("[0-9]*") if p.name.isdigit()]
  return folder / str(max(versions)) if versions else folder


def open_file(folder, about, name, num_threads=2):
  """Returns the model in a file of a version, a function of arrays."""
  open_path = _onnx if about["format"] == "onnx" else _litert
  # A file beside it, whatever it says.
  return open_path(str(folder / pathlib.Path(name).name), num_threads)


def make_choices(about, tokenizer, text, choices):
  """Returns the inputs of a text and its choices, {name: int32 [1, C, L]}."""
  rows = make_rows(about, tokenizer, [text] * len(choices), choices)
  return {name: values[None] for name, values in rows.items()}


def make_rows(about, tokenizer, texts, text_pairs=None):
  """Returns the inputs of texts or pairs, {name: int32 [B, L]}."""
  number = 1 if text_pairs is None else 2
  if number not in about["texts"]["num_texts"]:
    raise ValueError(f"The model takes {3 - number} text(s), not {number}.")
  texts = [about.get("prompt", "") + text for text in texts]
  if about["texts"]["do_lower_case"]:
    texts = [text.lower() for text in texts]
  sides = [texts] if text_pairs is None else [texts, text_pairs]
  found = [_encode(about, tokenizer, row) for row in zip(*sides)]
  length = _fixed_length(about) or max(map(len, found), default=0)
  side = about["texts"]["padding"]
  pad = about["texts"]["special_tokens"].get("pad", {"id": 0})["id"]
  segment = 3 if side == "left" else 0
  for row in found:
    row.pad(length, direction=side, pad_id=pad, pad_type_id=segment)
  rows = {
    "input_ids": [row.ids for row in found],
    "input_mask": [row.attention_mask for row in found],
    "segment_ids": [row.type_ids for row in found],
  }
  rows = {name: np.array(values, np.int32) for name, values in rows.items()}
  names = [value["name"] for value in about["inputs"]]
  if "masked_lm_positions" in names:
    is_mask = (
      rows["input_ids"] == about["texts"]["special_tokens"]["mask"]["id"]
    )
    rows["masked_lm_positions"] = is_mask.argmax(1, keepdims=True).astype("i4")
  if "pooling_mask" in names:  # A prompt, with [CLS], is not pooled.
    prompt = tokenizer.encode(about.get("prompt", ""), add_special_tokens=False)
    size = sum(prompt.attention_mask)
    is_text = np.arange(rows["input_ids"].shape[1]) >= (size and size + 1)
    rows["pooling_mask"] = rows["input_mask"] * is_text.astype(np.int32)
  return {name: rows[name] for name in names}


def _fixed_length(about):
  """Returns the tokens that each row has to have, or None."""
  length = about["inputs"][0]["shape"][-1]
  return length if isinstance(length, int) else None


def _encode(about, tokenizer, sides):
  """Returns the `Encoding` of a text or pair, cut from the longer one's end."""
  is_framed = about["texts"]["framing"][0] != "A"
  found = tokenizer.encode_batch(list(sides), add_special_tokens=False)
  if longest := _fixed_length(about) or about["max_seq_length"]:
    special = tokenizer.num_special_tokens_to_add(len(found) > 1)
    room, first = longest - is_framed * special, len(found[0])
    second = len(found[1]) if len(found) > 1 else 0
    in_longer = about["texts"].get("odd_token") == "longer"
    share = room // 2 + (room % 2) * (first > second or not in_longer)
    shares = (max(share, room - second), max(room - share, room - first))
    for text, length in zip(found, shares):
      text.truncate(length)
  return tokenizer.post_process(*found, add_special_tokens=is_framed)


def read(about, tokenizer, rows, outputs):
  """Returns what the outputs of a row say, of heads that are easy to read."""
  head, labels = about["head"], about["labels"]
  if head in ("encoder", "sparse"):
    return outputs["embeddings"]
  if head == "regression":
    return outputs["logits"][:, 0]
  if head == "fill_mask":
    best = np.argsort(-outputs["token_logits"][:, 0], axis=-1)[:, :5]
    return [[tokenizer.id_to_token(int(k)) for k in row] for row in best]
  if head == "question_answering" and "start_logits" in outputs:
    # The first text is the question; an answer lies in the second.
    is_text = (rows["segment_ids"] == 1) & (rows["input_mask"] == 1)
    scores = (
      np.where(is_text, outputs["start_logits"], -1e9)[:, :, None]
      + np.where(is_text, outputs["end_logits"], -1e9)[:, None]
    )
    length = about["max_answer_length"]
    near = np.tril(np.triu(np.ones(scores.shape[1:])), length - 1) > 0
    best = np.where(near, scores, -2e9).reshape(len(scores), -1).argmax(1)
    spans = [divmod(int(place), scores.shape[1]) for place in best]
    return [
      tokenizer.decode(row[first : last + 1])
      for row, (first, last) in zip(rows["input_ids"], spans)
    ]
  if head == "multi_label":
    shares = 1 / (1 + np.exp(-outputs["logits"]))
    return [dict(zip(labels, row.tolist())) for row in shares]
  if head == "classification":
    shares = np.exp(
      outputs["logits"] - outputs["logits"].max(-1, keepdims=True)
    )
    shares /= shares.sum(-1, keepdims=True)
    return [(labels[row.argmax()], float(row.max())) for row in shares]
  if head == "multiple_choice":
    return outputs["logits"].argmax(-1)
  return [
    {name: values[k] for name, values in outputs.items()}
    for k in range(len(rows["input_ids"]))
  ]


def _onnx(path, num_threads):
  import onnxruntime

  options = onnxruntime.SessionOptions()
  options.intra_op_num_threads = num_threads
  session = onnxruntime.InferenceSession(path, options)
  names = [output.name for output in session.get_outputs()]
  return lambda rows: dict(zip(names, session.run(names, rows)))


def _litert(path, num_threads):
  from ai_edge_litert.interpreter import Interpreter

  model = Interpreter(path, num_threads=num_threads)
  runner = model.get_signature_runner()
  takes, gives = runner.get_input_details(), runner.get_output_details()

  def run(rows):
    for name, values in rows.items():
      model.resize_tensor_input(takes[name]["index"], values.shape)
    model.allocate_tensors()
    for name, values in rows.items():
      model.set_tensor(takes[name]["index"], values)
    model.invoke()
    return {name: model.get_tensor(x["index"]) for name, x in gives.items()}

  return run


def main():
  """Answers the text, the two texts or the choices of the command line."""
  if len(sys.argv) < 3:
    sys.exit(__doc__)
  folder, *texts = sys.argv[1:]
  about, tokenizer, run = load(folder)
  if about["head"] == "late":
    sys.exit("Late interaction has rows of its own: see docs/small.md.")
  try:
    if about["head"] == "multiple_choice":
      rows = make_choices(about, tokenizer, texts[0], texts[1:])
    else:
      rows = make_rows(about, tokenizer, *([text] for text in texts))
  except ValueError as error:
    sys.exit(str(error))
  print(read(about, tokenizer, rows, run(rows))[0])


if __name__ == "__main__":
  main()
