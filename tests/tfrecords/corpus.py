"""A small vocabulary and small texts for the tests of writing."""

import io
import json
import random
import string

import sentencepiece

from keras_bert_impl.tokenizers.formats import byte_alphabet

WORDS = ("the", "a", "of", "in", "play", "walk", "quiet", "dog", "moon", "sing")
ENDINGS = ("ing", "ed", "s", "ly")


def write_vocabulary(folder):
  """Writes a vocabulary that spells every word of small letters."""
  tokens = ["[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "."]
  tokens += [*string.ascii_lowercase, *WORDS]
  tokens += [f"##{piece}" for piece in (*string.ascii_lowercase, *ENDINGS)]
  path = folder / "vocab.txt"
  path.write_text("".join(f"{token}\n" for token in dict.fromkeys(tokens)))
  return str(path)


def write_byte_pairs(folder):
  """Writes vocab.json and merges.txt of byte-level BPE; returns the former."""
  merges = ("t h", "th e", "Ġ the", "Ġ a", "i n", "in g", "Ġ o", "Ġo f")
  tokens = ["<s>", "<pad>", "</s>", "<unk>", *byte_alphabet.CHARACTERS]
  tokens += [*(merge.replace(" ", "") for merge in merges), "<mask>"]
  path = folder / "vocab.json"
  path.write_text(json.dumps({token: k for k, token in enumerate(tokens)}))
  (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]))
  return str(path)


def write_sentence_pieces(folder):
  """Writes spiece.model, of the shape of ALBERT's; returns its path."""
  rng = random.Random(3)
  model = io.BytesIO()
  sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(_sentence(rng) for _ in range(300)),
    model_writer=model,
    model_type="unigram",
    vocab_size=70,
    pad_id=0,
    unk_id=1,
    bos_id=-1,
    eos_id=-1,
    control_symbols=["[CLS]", "[SEP]", "[MASK]"],
    minloglevel=2,
  )
  path = folder / "spiece.model"
  path.write_bytes(model.getvalue())
  return str(path)


def write_text(folder, num_documents=60, seed=1, name="text.txt"):
  """Writes random sentences, documents of 3 to 12 each."""
  rng = random.Random(seed)
  lines = []
  for _ in range(num_documents):
    for _ in range(rng.randint(3, 12)):
      lines.append(_sentence(rng) + "\n")
    lines.append("\n")
  path = folder / name
  path.write_text("".join(lines))
  return str(path)


def _sentence(rng):
  words = (
    rng.choice(WORDS) + rng.choice(("", *ENDINGS))
    for _ in range(rng.randint(3, 12))
  )
  return " ".join(words) + "."
