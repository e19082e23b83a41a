"""Tokens of a vocabulary as people read them."""

import re

from keras_bert_impl.tokenizers.formats import byte_alphabet, vocabulary_files

BYTE_PIECE = re.compile(r"<0x([0-9A-F]{2})>")


def of(vocabulary):
  """Returns a list of V bytes, each token as people read it.

  A blank in front means that it starts a word; in WordPiece, "##" that it does
  not. A token of byte-level BPE may be a part of a character.

  Args:
    vocabulary: `vocabularies.Vocabulary`.
  """
  if vocabulary.kind == vocabulary_files.BYTE_BPE:
    return _of_bytes(vocabulary)
  if vocabulary.kind in (
    vocabulary_files.SENTENCEPIECE,
    vocabulary_files.CHARACTER_BPE,
  ):
    return [*map(of_piece, vocabulary.tokens)]
  return [token.encode("utf-8") for token in vocabulary.tokens]


def _of_bytes(vocabulary):
  added = vocabulary.rules.added_tokens if vocabulary.rules else ()
  special = {*vocabulary.special_ids, *(token.index for token in added)}
  texts = []
  for index, token in enumerate(vocabulary.tokens):
    content = None if index in special else byte_alphabet.to_bytes(token)
    texts.append(token.encode("utf-8") if content is None else content)
  return texts


def of_piece(token):
  """Returns the text of a piece of SentencePiece, bytes, with its blank."""
  text = token.replace(vocabulary_files.WORD_START, " ").encode("utf-8")
  return byte_of(token) or text


def byte_of(token):
  """Returns the byte, bytes, that a token such as "<0x0A>" is, or None."""
  found = BYTE_PIECE.fullmatch(token)
  return bytes([int(found[1], 16)]) if found else None
