"""A vocabulary and an encoder small enough to export many times."""

import numpy as np

from keras_bert_impl import configs
from keras_bert_impl.tokenizers.graph import wordpiece
from tests.tokenizers import vocabularies

TOKENS = (
  "[PAD] [UNK] [CLS] [SEP] [MASK] the cat ##s s sat on mat . [ ] mask "
  "고양이 ##가 앉 ##았다"
).split()
MAX_SEQ_LENGTH = 16

# How a tokenizer of each kind is written, and its options.
KINDS = {
  "wordpiece": (vocabularies.write, {"do_lower_case": True}),
  "byte_bpe": (vocabularies.write_byte_bpe, {}),
  "sentencepiece": (
    vocabularies.write_sentencepiece,
    {"do_lower_case": True, "keep_accents": False, "remove_space": True},
  ),
  # Texts without [CLS] and [SEP], without [SEP] and without [CLS].
  "kobart": (lambda folder: vocabularies.copy("kobart", folder), {}),
  "llama2": (lambda folder: vocabularies.copy("llama2", folder), {}),
  "t5": (lambda folder: vocabularies.copy("t5", folder), {}),
}


def write_vocabulary(path):
  path.write_text("\n".join(TOKENS) + "\n", encoding="utf-8")


def tokenizer(vocab_file):
  return wordpiece.WordPieceTokenizer(
    str(vocab_file), do_lower_case=True, compose_hangul=True
  )


def config(tokenizer, **changes):
  fields = dict(
    vocab_size=tokenizer.vocabulary.size,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=24,
    # Far apart, so that a wrong answer cannot be near the right one.
    initializer_range=0.5,
  )
  return configs.EncoderConfig(**{**fields, **changes})


def batch_of(*pieces_of_texts):
  """Returns a model's inputs of texts or pairs, without the library.

  Args:
    *pieces_of_texts: a list of "piece piece ..." for each side.

  Returns:
    {name: int32 [B, L]}.
  """
  rows = []
  for sides in zip(*pieces_of_texts, strict=True):
    row = [("[CLS]", 0)]
    for segment, pieces in enumerate(sides):
      row += [(piece, segment) for piece in (*pieces.split(), "[SEP]")]
    rows.append(row)
  ids, mask, segments = np.zeros((3, len(rows), max(map(len, rows))), np.int32)
  for index, row in enumerate(rows):
    ids[index, : len(row)] = [TOKENS.index(piece) for piece, _ in row]
    segments[index, : len(row)] = [segment for _, segment in row]
    mask[index, : len(row)] = 1
  return {"input_ids": ids, "input_mask": mask, "segment_ids": segments}
