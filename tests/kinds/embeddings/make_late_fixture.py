"""Makes tests/data/late with PyLate, which tests lack.

    python tests/kinds/embeddings/make_late_fixture.py

A tiny ColBERT with random weights, as PyLate 1.6 writes it, and the vectors and
scores that it computes: expected.npz. Its markers are tokens that PyLate adds.
"""

import pathlib
import tempfile

import numpy as np
import torch
import transformers
from pylate import models, scores

FOLDER = pathlib.Path(__file__).parents[2] / "data/late"
TOKENS = (
  "[PAD] [UNK] [CLS] [SEP] [MASK] the cat ##s sat on mat . , who ? 고양이 ##가"
  " 앉 ##았다"
).split()
TEXTS = [
  "Who sat ?",
  "The CATS, sat on the mat.",
  "",
  "고양이가 앉았다.",
  "cat " * 40,
]


def main():
  """Writes the folder and the vectors."""
  torch.manual_seed(0)
  with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "vocab.txt"
    path.write_text("\n".join(TOKENS) + "\n", encoding="utf-8")
    # Or Hangul would be taken apart.
    tokenizer = transformers.BertTokenizer(str(path), strip_accents=False)
    tokenizer.save_pretrained(folder)
    config = transformers.BertConfig(
      vocab_size=len(TOKENS),
      hidden_size=8,
      num_hidden_layers=2,
      num_attention_heads=2,
      intermediate_size=16,
      max_position_embeddings=24,
      initializer_range=0.5,
    )
    transformers.BertModel(config).save_pretrained(folder)
    model = models.ColBERT(
      folder,
      embedding_size=6,
      query_length=10,
      document_length=14,
      skiplist_words=[".", ","],
      device="cpu",
    )
    model.save(str(FOLDER), create_model_card=False)
  np.savez(FOLDER / "expected.npz", texts=np.array(TEXTS), **vectors())


def vectors():
  """Returns {name: array}: vectors one after the other, lengths, scores."""
  found = {}
  for attend in (False, True):
    model = models.ColBERT(
      str(FOLDER), attend_to_expansion_tokens=attend, device="cpu"
    )
    queries = model.encode(TEXTS, is_query=True)
    documents = model.encode(TEXTS, is_query=False)
    found |= {
      f"queries_{attend}": np.stack(queries),
      f"documents_{attend}": np.concatenate(documents),
      f"lengths_{attend}": np.array([len(rows) for rows in documents]),
      f"scores_{attend}": np.array(
        [
          [scores.colbert_scores(q[None], d[None]).item() for d in documents]
          for q in queries
        ]
      ),
    }
  return found


if __name__ == "__main__":
  main()
