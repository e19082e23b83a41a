"""Makes the folders beside it: taggers of seven families, and their answers.

    python tests/data/tagged/make.py

Weights are random, and tokenizers learned from the texts below. `expected.json`
holds what the pipeline "token-classification" of transformers answers, piece by
piece and with aggregation_strategy="first". Needs transformers 5.23 on torch.
"""

import json
import pathlib

import tokenizers
import torch
import transformers
from tokenizers import models, normalizers, pre_tokenizers, processors, trainers

FOLDER = pathlib.Path(__file__).parent
LABELS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
TEXTS = (
  "Ada Lovelace lived in London.",
  'He said: "London (U.K.) isn\'t far - 3,214 miles", then left.',
  "The well-known cat, Tom's, sat  on the mat; the mat was e.g. red...",
  "Email me: tom@example.com or call +44-20-7946.",
  "Visit https://example.com/a_b?c=1 (or don't!)",
  "고양이가 런던(영국)에서 앉았다.",
  "김철수 씨는 2019년 3월, 서울대학교에서 '한국어'를 가르쳤다.",
  "세종대왕은 조선의 네 번째 왕이다.",
  "서울의 집값이 3.5% 올랐다고 한국은행이 밝혔다.",
  "Die Straße nach Köln führt über Bonn, sagte Jürgen Müller.",
  "„Grüße aus München“, schrieb Änne (42) am 3. März.",
  "Der Käse-Preis stieg um 12,5 % – so die F.A.Z. gestern.",
  "Tom 😀 lives in 東京, not in\tParis.\nBye!",
  " Ada ",
  # So often that each word is a piece.
  "the cat the mat the cat the cat the mat",
  "the mat the mat the cat",
  "the cat the cat the mat the cat",
)


def wordpiece():
  tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
  tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
  tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
  special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
  trainer = trainers.WordPieceTrainer(
    vocab_size=300, special_tokens=special, show_progress=False
  )
  tokenizer.train_from_iterator(TEXTS, trainer)
  return {"vocab": tokenizer.get_vocab()}


def byte_pairs(special):
  tokenizer = tokenizers.Tokenizer(models.BPE())
  tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
  trainer = trainers.BpeTrainer(
    vocab_size=360,
    special_tokens=special,
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    show_progress=False,
  )
  tokenizer.train_from_iterator(TEXTS, trainer)
  model = json.loads(tokenizer.to_str())["model"]
  return {"vocab": model["vocab"], "merges": [*map(tuple, model["merges"])]}


def unigram(special):
  tokenizer = tokenizers.Tokenizer(models.Unigram())
  tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
  trainer = trainers.UnigramTrainer(
    vocab_size=300,
    special_tokens=special,
    unk_token="<unk>",
    show_progress=False,
  )
  tokenizer.train_from_iterator(TEXTS, trainer)
  vocab = json.loads(tokenizer.to_str())["model"]["vocab"]
  # Scores of a file are no longer than those of SentencePiece.
  return {"vocab": [(piece, round(score, 4)) for piece, score in vocab]}


def modernbert():
  learned = byte_pairs(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
  tokenizer = tokenizers.Tokenizer(models.BPE(**learned))
  tokenizer.normalizer = normalizers.NFC()
  tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
  tokenizer.post_processor = processors.TemplateProcessing(
    single="[CLS] $A [SEP]",
    pair="[CLS] $A [SEP] $B [SEP]",
    special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
  )
  return transformers.PreTrainedTokenizerFast(
    tokenizer_object=tokenizer,
    pad_token="[PAD]",
    unk_token="[UNK]",
    cls_token="[CLS]",
    sep_token="[SEP]",
    mask_token="[MASK]",
  )


ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
DEBERTA = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
ALBERT = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
XLNET = ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>"]
TOKENIZERS = {
  "bert": lambda: transformers.BertTokenizer(
    do_lower_case=False, **wordpiece()
  ),
  "roberta": lambda: transformers.RobertaTokenizer(**byte_pairs(ROBERTA)),
  "xlm_roberta": lambda: transformers.XLMRobertaTokenizer(**unigram(ROBERTA)),
  "albert": lambda: transformers.AlbertTokenizer(**unigram(ALBERT)),
  "deberta": lambda: transformers.DebertaTokenizer(**byte_pairs(DEBERTA)),
  "modernbert": modernbert,
  "xlnet": lambda: transformers.XLNetTokenizer(**unigram(XLNET)),
}
NAMES = {
  "bert": "Bert",
  "roberta": "Roberta",
  "xlm_roberta": "XLMRoberta",
  "albert": "Albert",
  "deberta": "Deberta",
  "modernbert": "ModernBert",
  "xlnet": "XLNet",
}
USUAL = {
  "hidden_size": 16,
  "num_hidden_layers": 1,
  "num_attention_heads": 2,
  "intermediate_size": 16,
  "max_position_embeddings": 130,
}
XLNET_SIZES = {"d_model": 16, "n_layer": 1, "n_head": 2, "d_inner": 16}
MORE = {
  "albert": {"embedding_size": 8},
  "deberta": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
  "modernbert": {"attn_implementation": "eager"},
}
# Without this, transformers 5 gives XLNet no segments, which its training had.
SEGMENTS = ["input_ids", "token_type_ids", "attention_mask"]
AS_TRAINED = {"xlnet": {"model_input_names": SEGMENTS}}


def make_model(name, tokenizer):
  """Returns a model whose labels are about equally frequent."""
  torch.manual_seed(0)
  config = getattr(transformers, f"{NAMES[name]}Config")(
    vocab_size=len(tokenizer),
    initializer_range=0.3,
    pad_token_id=tokenizer.pad_token_id,
    id2label=dict(enumerate(LABELS)),
    label2id={label: index for index, label in enumerate(LABELS)},
    **(XLNET_SIZES if name == "xlnet" else USUAL),
    **MORE.get(name, {}),
  )
  model_class = getattr(transformers, f"{NAMES[name]}ForTokenClassification")
  model = model_class(config).eval()
  with torch.no_grad():
    logits = torch.cat(
      [model(**tokenizer(t, return_tensors="pt")).logits[0] for t in TEXTS]
    )
    head = model.classifier
    head.weight.div_(logits.std(0)[:, None])
    head.bias.sub_(logits.mean(0)).div_(logits.std(0))
  return model


def answer(pipeline, text):
  """Returns {what: list} of a text, in the order of its pieces.

  That is ids, labels, whether a piece goes on with the word of the one before,
  and the entities, [label, start, end].
  """
  pieces = pipeline(text, aggregation_strategy="none", ignore_labels=[])
  [inputs] = pipeline.preprocess(text, is_split_into_words=False)
  special = inputs["special_tokens_mask"][0].numpy()
  words = pipeline.gather_pre_entities(
    text,
    inputs["input_ids"][0],
    torch.zeros(len(special), len(LABELS)).numpy(),
    inputs["offset_mapping"][0],
    special,
    "first",
  )
  entities = pipeline(text, aggregation_strategy="first")
  return {
    "text": text,
    "ids": inputs["input_ids"][0][special == 0].tolist(),
    "labels": [piece["entity"] for piece in pieces],
    "goes_on": [int(word["is_subword"]) for word in words],
    "entities": [[e["entity_group"], e["start"], e["end"]] for e in entities],
  }


def main():
  """Writes all folders."""
  for name, make_tokenizer in TOKENIZERS.items():
    folder = FOLDER / name
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(
      folder, **AS_TRAINED.get(name, {})
    )
    model = make_model(name, tokenizer)
    model.save_pretrained(folder)
    pipeline = transformers.pipeline(
      "token-classification", model=model, tokenizer=tokenizer, device="cpu"
    )
    lines = [
      json.dumps(answer(pipeline, text), ensure_ascii=False) for text in TEXTS
    ]
    (folder / "expected.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
  main()
