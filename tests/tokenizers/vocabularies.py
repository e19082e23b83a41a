"""Small vocabularies of the tests' own."""

import functools
import io
import json
import os
import pathlib
import random
import shutil
import unicodedata

import pytest
import sentencepiece

from keras_bert_impl.tokenizers.formats import byte_alphabet, vocabularies

DATA = os.environ.get("KERAS_BERT_DATA")
# Both cases, accents, several scripts, jamo and syllables, single symbols.
CHARACTERS = (
  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
  "éèüñçßåÉÜÅøØłŁıİσςΣαΑάжЖёЁйЙאבشسहिन्दीกขაბ中国語日本ひらがなガカ한국어가"
  "\u1112\u1161\u11ab\u1100\u116e\u11a8!?.,;:'\"()[]#@-_/\\&*$^~`…—«»、。！？€©→😀"
  "\u0301\u0308\u093f\u200d"
)
WORDS = (
  "hello world the mask cls token ##s ##ization ##ing play un ##believ ##able "
  "Hello World Café café naive naïve ##é 한국 ##국어"
)
# The special tokens of a byte-level vocabulary, at RoBERTa's ids.
ROBERTA_TOKENS = ("<s>", "<pad>", "</s>", "<unk>")
# In the order in which they are merged; "Ġ" is the blank.
MERGES = (
  "h e|Ġ t|i n|Ġt he|l l|he ll|hell o|in g|Ġ w|o r|Ġw or|l d|Ġwor ld|a a|aa aa|"
  "Ġ c|a t|Ġc at|s at|Ġ sat|Ã ©|ä ¸|ä¸ Ń|1 9|Ġ 19|' s"
).split("|")
SENTENCES = (
  "The cat sat on the mat and the other cats sat near the old mill.",
  "In 1987, she saw 12,345 ships, in 1987, none: why was the sea so 7, 87, 7,?",
  "Café owners said the naïve résumé was fine. The end of the story...",
  "한국어 문장은 여기에 있습니다. 고양이가 매트 위에 앉았다.",
)


def copy(kind, directory):
  """Copies a tokenizer.json of tests/data; returns its path."""
  folder = pathlib.Path(__file__).parents[1] / "data/tokenizers" / kind
  shutil.copytree(folder, directory, dirs_exist_ok=True)
  return str(directory / "tokenizer.json")


def write(directory, tokens=None):
  """Writes vocab.txt into `directory`; returns its path.

  Args:
    directory: path.
    tokens: list of str without the special ones; default: every character
      alone and as a continuation, and some words.
  """
  if tokens is None:
    characters = sorted(set(CHARACTERS))
    tokens = characters + ["##" + c for c in characters] + WORDS.split()
  tokens = list(dict.fromkeys([*vocabularies.SPECIAL_TOKENS, *tokens]))
  path = os.path.join(directory, "vocab.txt")
  with open(path, "w", encoding="utf-8") as file:
    file.write("".join(f"{token}\n" for token in tokens))
  return path


def write_byte_bpe(directory, merges=MERGES):
  """Writes the files of a RoBERTa into `directory`; returns vocab.json."""
  made = [merge.replace(" ", "") for merge in merges]
  tokens = [*ROBERTA_TOKENS, *byte_alphabet.CHARACTERS, *made, "<mask>"]
  path = os.path.join(directory, "vocab.json")
  with open(path, "w", encoding="utf-8") as file:
    json.dump({token: index for index, token in enumerate(tokens)}, file)
  with open(os.path.join(directory, "merges.txt"), "w", encoding="utf-8") as f:
    f.write("\n".join(["#version: 0.2", *merges, ""]))
  with open(os.path.join(directory, "tokenizer_config.json"), "w") as file:
    json.dump({"family": "roberta"}, file)
  return path


def write_sentencepiece(directory, **settings):
  """Writes spiece.model with ALBERT's tokens into `directory`; returns it.

  Args:
    directory: path.
    **settings: of `SentencePieceTrainer.train`, in place of the usual ones.
  """
  path = os.path.join(directory, "spiece.model")
  with open(path, "wb") as file:
    file.write(_sentencepiece_model(json.dumps(settings, sort_keys=True)))
  return path


@functools.cache
def _sentencepiece_model(settings):
  """Returns a model as bytes; `settings` are JSON."""
  model = io.BytesIO()
  sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(SENTENCES * 3),
    model_writer=model,
    minloglevel=2,
    **{
      "vocab_size": 400,
      "hard_vocab_limit": False,
      "model_type": "unigram",
      "pad_id": 0,
      "unk_id": 1,
      "bos_id": -1,
      "eos_id": -1,
      "control_symbols": ["[CLS]", "[SEP]", "[MASK]"],
      **json.loads(settings),
    },
  )
  return model.getvalue()


WRITERS = {
  "wordpiece": write,
  "byte_bpe": write_byte_bpe,
  "sentencepiece": write_sentencepiece,
}


def write_deberta_pieces(directory, vocab_size=400):
  """Writes spm.model with the tokens of DeBERTa-v2; returns its path.

  As in the releases, [MASK] is none of its pieces.
  """
  written = write_sentencepiece(
    directory,
    vocab_size=vocab_size,
    unk_id=3,
    bos_id=1,
    eos_id=2,
    pad_piece="[PAD]",
    unk_piece="[UNK]",
    bos_piece="[CLS]",
    eos_piece="[SEP]",
    control_symbols=[],
  )
  path = os.path.join(directory, "spm.model")
  os.rename(written, path)
  return path


def sentences(seed=0, count=400):
  """Sentences of words made of syllables, frequent ones more often."""
  rng = random.Random(seed)
  syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
  words = [
    "".join(rng.choices(syllables, k=rng.randrange(1, 5))) for _ in range(800)
  ]
  weights = [1 / (rank + 1) for rank in range(len(words))]
  return [
    " ".join(rng.choices(words, weights, k=12)).capitalize() + "."
    for _ in range(count)
  ]


def random_texts(count, seed, *pools):
  """Short texts of the parts in pools, odd characters and ASCII.

  Args:
    count: int.
    seed: int.
    *pools: sequences of str.
  """
  rng = random.Random(seed)
  odd = [
    chr(code)
    for code in range(0x3100)
    # Assigned in every Unicode that Python and the libraries may have.
    if unicodedata.ucd_3_2_0.category(chr(code)) != "Cn"
  ]
  pools = (*pools, odd, [chr(code) for code in range(128)])
  return [
    "".join(rng.choice(rng.choice(pools)) for _ in range(rng.randrange(25)))
    for _ in range(count)
  ]


def examples(name):
  """The examples of a file of reference ids; skips the test without it."""
  if not DATA:
    pytest.skip("KERAS_BERT_DATA is not set")
  path = pathlib.Path(DATA).parent / "parity/tokenizers" / name
  return [json.loads(line) for line in path.read_bytes().splitlines()]


def pieces(tokenizer, text):
  """The tokens of a text, list of str."""
  return [tokenizer.vocabulary.tokens[i] for i in tokenizer.tokenize(text)]
