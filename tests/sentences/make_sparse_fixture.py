"""Makes tests/data/sparse with sentence-transformers, which tests lack.

    python tests/sentences/make_sparse_fixture.py

A tiny SPLADE with random weights, as sentence-transformers 6.2 writes it, and
the vectors that it computes: expected.npz.
"""

import pathlib
import tempfile

import numpy as np
import torch
import transformers
from sentence_transformers import SparseEncoder
from sentence_transformers.sparse_encoder import modules

FOLDER = pathlib.Path(__file__).parents[1] / "data/sparse"
TOKENS = (
  "[PAD] [UNK] [CLS] [SEP] [MASK] the cat ##s sat on mat . query : 고양이 ##가"
  " 앉 ##았다"
).split()
TEXTS = ["The CATS sat.", "", "고양이가 앉았다", "cat " * 40]
PROMPTS = {"query": "Query: ", "document": ""}


def main():
  """Writes the folder and the vectors."""
  torch.manual_seed(0)
  with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "vocab.txt"
    path.write_text("\n".join(TOKENS) + "\n", encoding="utf-8")
    config = transformers.BertConfig(
      vocab_size=len(TOKENS),
      hidden_size=8,
      num_hidden_layers=1,
      num_attention_heads=2,
      intermediate_size=16,
      max_position_embeddings=24,
      initializer_range=0.5,
    )
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    model = SparseEncoder(
      modules=[
        modules.MLMTransformer(folder, max_seq_length=12),
        modules.SpladePooling(),
      ],
      prompts=PROMPTS,
      device="cpu",
    )
    model.save(str(FOLDER), create_model_card=False)
  vectors = {
    name: model.encode(
      TEXTS, prompt_name=name, convert_to_sparse_tensor=False
    ).numpy()
    for name in PROMPTS
  }
  np.savez(FOLDER / "expected.npz", texts=np.array(TEXTS), **vectors)


if __name__ == "__main__":
  main()
