"""Makes tests/data/sentences with sentence-transformers, which tests lack.

    python -m tests.kinds.embeddings.make_fixture

A tiny model with all kinds of modules, as sentence-transformers 6.2 writes it,
and the vectors that it computes: expected.npz.
"""

import pathlib
import tempfile

import numpy as np
import sentence_transformers
import torch
import transformers
from sentence_transformers.sentence_transformer import modules as models

FOLDER = pathlib.Path(__file__).parents[2] / "data/sentences"
TOKENS = (
  "[PAD] [UNK] [CLS] [SEP] [MASK] the cat ##s sat on mat . query : 고양이 ##가"
  " 앉 ##았다"
).split()
TEXTS = [
  "The CATS sat.",
  "",
  "고양이가 앉았다",
  "the dog on the mat",
  "cat " * 40,
]
PROMPTS = {"query": "Query: ", "document": ""}


def make_transformer(folder, model_class=transformers.BertModel):
  """Writes a transformer with random weights."""
  (pathlib.Path(folder) / "vocab.txt").write_text(
    "\n".join(TOKENS) + "\n", encoding="utf-8"
  )
  config = transformers.BertConfig(
    vocab_size=len(TOKENS),
    hidden_size=8,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=16,
    max_position_embeddings=24,
    initializer_range=0.5,
  )
  model_class(config).save_pretrained(folder)


def main():
  """Writes the folder and the vectors."""
  torch.manual_seed(0)
  with tempfile.TemporaryDirectory() as folder:
    make_transformer(folder)
    modes = ("cls", "mean", "max", "weightedmean", "lasttoken")
    modules = [
      models.Transformer(folder, max_seq_length=12),
      models.Pooling(8, pooling_mode=modes, include_prompt=False),
      models.Dense(40, 6, activation_function=torch.nn.Tanh()),
      models.Dense(6, 5, bias=False, activation_function=torch.nn.Identity()),
      models.Normalize(),
    ]
    model = sentence_transformers.SentenceTransformer(
      modules=modules,
      prompts=PROMPTS,
      default_prompt_name="query",
      device="cpu",
    )
    model.save(str(FOLDER), create_model_card=False)
  vectors = {name: model.encode(TEXTS, prompt_name=name) for name in PROMPTS}
  np.savez(FOLDER / "expected.npz", texts=np.array(TEXTS), **vectors)


if __name__ == "__main__":
  main()
