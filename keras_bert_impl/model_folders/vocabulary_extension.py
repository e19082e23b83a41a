"""Adds domain words to a checkpoint and its vocabulary."""

import dataclasses
import os

from keras_bert_impl import files
from keras_bert_impl.checkpoints import extension
from keras_bert_impl.tokenizers.formats import (
  tokenizer_json_writing,
  tokenizer_options,
  vocabularies,
  vocabulary_files,
)


def extend(words_file, source, folder, tensors, description):
  """Writes the extended vocabulary; returns tensors and configuration for it.

  Args:
    words_file: str, UTF-8, a word per line, added as the tokenizer normalises
      it. Words in the vocabulary are passed over.
    source: str, folder of the checkpoint, with its vocabulary.
    folder: str, where the new vocabulary is written.
    tensors: mapping of names -> arrays, with `shapes`.
    description: `description.Description`.

  Returns:
    (tensors, description, number of words added).

  Raises:
    FileNotFoundError: no words file, or no vocabulary.
    ValueError: the vocabulary is not WordPiece, or a word is none to its
      tokenizer.
  """
  old = _load_vocabulary(source)
  options = tokenizer_options.resolve(old.origin)
  tokenizer = _load_tokenizer(old.origin, options)
  lines = {}
  for given, line in _read_words(words_file).items():
    word = _normalize(tokenizer, given)
    if not word:
      raise ValueError(
        f"{words_file}, line {line}: nothing is left of {given!r} as the"
        " tokenizer normalises it: give a word."
      )
    if word not in old.ids:
      lines.setdefault(word, line)
  if not lines:
    raise ValueError(
      f"{words_file} must have a word that is not yet in {old.origin}."
    )
  words = list(lines)
  new = dataclasses.replace(
    tokenizer_json_writing.extended(
      old, extension.place_words(old.tokens, words)
    ),
    origin=os.path.join(folder, vocabularies.file_name(old)),
  )
  new.save(new.origin)
  pieces = tokenizer.tokenize(words).to_list()
  extended = _load_tokenizer(new.origin, options).tokenize(words).to_list()
  for word, ids in zip(words, extended, strict=True):
    if ids != [new.ids[word]]:
      tokens = " ".join(new.tokens[index] for index in ids)
      raise ValueError(
        f"{words_file}, line {lines[word]}: {word!r} would never be found, as "
        f"the tokenizer makes {tokens!r} of it: give it without punctuation."
      )
  tensors = extension.extend(
    tensors,
    {new.ids[word]: ids for word, ids in zip(words, pieces, strict=True)},
  )
  config = dataclasses.replace(
    description.config, vocab_size=extension.vocab_size(tensors)
  )
  return tensors, dataclasses.replace(description, config=config), len(words)


def _load_vocabulary(source):
  vocabulary = vocabularies.Vocabulary.load(source)
  if vocabulary.kind != vocabulary_files.WORDPIECE:
    raise ValueError(
      f"{vocabulary.origin} is not a WordPiece vocabulary: in byte-level BPE"
      " and SentencePiece the pieces of a word follow from learned merges or"
      " scores, so that a word alone cannot be added."
    )
  return vocabulary


def _load_tokenizer(vocab_file, options):
  # Late: nothing else here needs tensorflow_text.
  from keras_bert_impl.tokenizers.graph import wordpiece

  return wordpiece.WordPieceTokenizer(vocab_file, **vars(options))


def _normalize(tokenizer, word):
  """Normalises a word as the tokenizer does."""
  [normalized] = tokenizer.normalize([word]).numpy()
  return normalized.decode("utf-8").strip()


def _read_words(path):
  """Returns {word: number of its first line}."""
  words = {}
  lines = files.read_text(path).split("\n")
  for number, line in enumerate(lines, start=1):
    word = line.strip()
    if len(word.split()) > 1:
      raise ValueError(
        f"{path}, line {number}: {word!r} is several words: give one per line."
      )
    if word:
      words.setdefault(word, number)
  return words
