"""Makes tests/data/zero_shot with transformers, which tests lack.

    python -m tests.kinds.zero_shot.make_fixture

A tiny model of NLI with random weights, as transformers 5.24 writes it, and
what its pipeline says of texts: expected.json.
"""

import json
import pathlib

import torch
import transformers

FOLDER = pathlib.Path(__file__).parents[2] / "data/zero_shot"
WORDS = (
  "The the This It cat ##s sat on mat a striker scored twice . this example is"
  " it was about sport money play 고양이 ##가 앉았다 이 글은 ##에 관한 것이다"
  " 스포츠 경제 날씨 , !"
)
TEXTS = ["The striker scored twice.", "고양이가 앉았다", "the cat " * 20, ""]
NAMES = {
  "last": ("contradiction", "neutral", "entailment"),
  "first": ("ENTAILMENT", "neutral", "contradiction"),
  "unnamed": ("LABEL_0", "LABEL_1", "LABEL_2"),
}
CASES = [
  {"labels": ["sport", "money", "the cat!"]},
  {"labels": ["sport"]},
  {"labels": ["sport", "money"], "multi_label": True},
  {
    "labels": ["스포츠", "경제", "날씨"],
    "hypothesis_template": "이 글은 {}에 관한 것이다.",
  },
  {
    "labels": ["스포츠", "경제"],
    "hypothesis_template": "{}, it was!",
    "multi_label": True,
  },
]


def make_tokenizer():
  """Returns a tokenizer of the words, of 24 tokens at most."""
  special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
  tokens = [*special, *dict.fromkeys(WORDS.split())]
  vocabulary = {token: place for place, token in enumerate(tokens)}
  return transformers.BertTokenizer(
    vocab=vocabulary, do_lower_case=False, model_max_length=24
  )


def main():
  """Writes the folder and the answers."""
  torch.manual_seed(0)
  tokenizer = make_tokenizer()
  config = transformers.BertConfig(
    vocab_size=len(tokenizer),
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=32,
    initializer_range=0.5,
    num_labels=3,
  )
  model = transformers.BertForSequenceClassification(config).eval()
  found = []
  for kind, names in NAMES.items():
    model.config.id2label = dict(enumerate(names))
    model.config.label2id = {name: place for place, name in enumerate(names)}
    pipe = transformers.pipeline(
      "zero-shot-classification", model=model, tokenizer=tokenizer, device="cpu"
    )
    for case in CASES:
      given = {**case, "candidate_labels": case["labels"]}
      del given["labels"]
      answers = [
        dict(zip(each["labels"], each["scores"], strict=True))
        for each in (pipe(text or " ", **given) for text in TEXTS)
      ]
      found.append({**case, "names": kind, "answers": answers})
    if kind == "last":
      model.save_pretrained(FOLDER)
      tokenizer.save_pretrained(FOLDER)
  path = FOLDER / "expected.json"
  expected = {"texts": TEXTS, "class_names": NAMES, "cases": found}
  path.write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
  main()
