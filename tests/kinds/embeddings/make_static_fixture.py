"""Makes tests/data/static with sentence-transformers, which tests lack.

    python -m tests.kinds.embeddings.make_static_fixture

A static model of random rows, as sentence-transformers 6.2 writes it, and the
vectors that it computes: expected.npz.
"""

import pathlib

import numpy as np
import sentence_transformers
import tokenizers
import torch
from sentence_transformers.sentence_transformer import modules
from tokenizers import models, normalizers, pre_tokenizers, processors

from tests.kinds.embeddings.make_fixture import PROMPTS, TOKENS

FOLDER = pathlib.Path(__file__).parents[2] / "data/static"
TEXTS = [
  "The CATS sat.",
  "",
  "고양이가 앉았다",
  "the dog on the [SEP] mat",
  "cat " * 40,
]


def make_tokenizer():
  """Returns BERT's tokenizer of `TOKENS`, which frames texts."""
  ids = {token: index for index, token in enumerate(TOKENS)}
  tokenizer = tokenizers.Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
  tokenizer.normalizer = normalizers.BertNormalizer(strip_accents=False)
  tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
  tokenizer.post_processor = processors.BertProcessing(
    ("[SEP]", 3), ("[CLS]", 2)
  )
  tokenizer.add_special_tokens(TOKENS[:5])
  return tokenizer


def main():
  """Writes the folder and the vectors."""
  torch.manual_seed(0)
  static = modules.StaticEmbedding(
    make_tokenizer(), embedding_weights=torch.randn(len(TOKENS), 6)
  )
  model = sentence_transformers.SentenceTransformer(
    modules=[static, modules.Normalize()],
    prompts=PROMPTS,
    default_prompt_name="query",
    device="cpu",
  )
  model.save(str(FOLDER), create_model_card=False)
  vectors = {name: model.encode(TEXTS, prompt_name=name) for name in PROMPTS}
  means = static(static.preprocess(TEXTS))["sentence_embedding"]
  np.savez(
    FOLDER / "expected.npz",
    texts=np.array(TEXTS),
    means=means.detach().numpy(),
    **vectors,
  )


if __name__ == "__main__":
  main()
