"""Makes tests/data/sparse with sentence-transformers, which tests lack.

    python -m tests.kinds.embeddings.make_sparse_fixture

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

from tests.kinds.embeddings import make_fixture

FOLDER = pathlib.Path(__file__).parents[2] / "data/sparse"
TEXTS = ["The CATS sat.", "", "고양이가 앉았다", "cat " * 40]


def main():
  """Writes the folder and the vectors."""
  torch.manual_seed(0)
  with tempfile.TemporaryDirectory() as folder:
    make_fixture.make_transformer(folder, transformers.BertForMaskedLM)
    model = SparseEncoder(
      modules=[
        modules.MLMTransformer(folder, max_seq_length=12),
        modules.SpladePooling(),
      ],
      prompts=make_fixture.PROMPTS,
      device="cpu",
    )
    model.save(str(FOLDER), create_model_card=False)
  vectors = {
    name: model.encode(
      TEXTS, prompt_name=name, convert_to_sparse_tensor=False
    ).numpy()
    for name in make_fixture.PROMPTS
  }
  np.savez(FOLDER / "expected.npz", texts=np.array(TEXTS), **vectors)


if __name__ == "__main__":
  main()
