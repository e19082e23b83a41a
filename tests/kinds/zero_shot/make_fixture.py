"""Makes tests/data/zero_shot and zero_shot_bart with transformers.

    python -m tests.kinds.zero_shot.make_fixture

Tiny models of NLI with random weights, BERT's and BART's, as transformers 5.24
writes them, and what its pipeline says of texts: expected.json.
"""

import json
import pathlib

import tokenizers
import torch
import transformers

DATA = pathlib.Path(__file__).parents[2] / "data"
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


def make_bart_tokenizer():
  """Returns a byte-level tokenizer of merges of the words."""
  learner = tokenizers.ByteLevelBPETokenizer()
  special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
  learner.train_from_iterator(
    [WORDS.replace("##", "")], 300, 1, special_tokens=special
  )
  model = json.loads(learner.to_str())["model"]
  return transformers.BartTokenizer(
    vocab=model["vocab"], merges=[*map(tuple, model["merges"])]
  )


def bert():
  """Returns a tokenizer and a model of BERT."""
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
  return tokenizer, transformers.BertForSequenceClassification(config)


def bart():
  """Returns a tokenizer and a model of BART."""
  torch.manual_seed(0)
  tokenizer = make_bart_tokenizer()
  config = transformers.BartConfig(
    vocab_size=len(tokenizer),
    d_model=16,
    encoder_layers=2,
    decoder_layers=3,
    encoder_attention_heads=2,
    decoder_attention_heads=4,
    encoder_ffn_dim=32,
    decoder_ffn_dim=24,
    max_position_embeddings=200,
    init_std=0.5,
    num_labels=3,
  )
  return tokenizer, transformers.BartForSequenceClassification(config)


def write(folder, tokenizer, model, all_names=NAMES, texts=TEXTS):
  """Writes a folder and the answers."""
  model, found = model.eval(), []
  for kind, names in all_names.items():
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
        for each in (pipe(text or " ", **given) for text in texts)
      ]
      found.append({**case, "names": kind, "answers": answers})
    if kind == "last":
      model.save_pretrained(folder)
      tokenizer.save_pretrained(folder)
  path = folder / "expected.json"
  expected = {"texts": texts, "class_names": all_names, "cases": found}
  path.write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n")


def main():
  """Writes both folders."""
  write(DATA / "zero_shot", *bert())
  # A blank is a token here.
  last, texts = {"last": NAMES["last"]}, [*filter(None, TEXTS)]
  write(DATA / "zero_shot_bart", *bart(), last, texts)


if __name__ == "__main__":
  main()
