"""A small vocabulary and small texts for the tests of writing."""

import random
import string

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


def write_text(folder, num_documents=60, seed=1, name="text.txt"):
  """Writes random sentences, documents of 3 to 12 each."""
  rng = random.Random(seed)
  lines = []
  for _ in range(num_documents):
    for _ in range(rng.randint(3, 12)):
      words = (
        rng.choice(WORDS) + rng.choice(("", *ENDINGS))
        for _ in range(rng.randint(3, 12))
      )
      lines.append(" ".join(words) + ".\n")
    lines.append("\n")
  path = folder / name
  path.write_text("".join(lines))
  return str(path)
