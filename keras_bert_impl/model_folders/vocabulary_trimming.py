"""Trims a checkpoint's vocabulary to the tokens of a corpus."""

import dataclasses
import itertools
import os

import numpy as np

from keras_bert_impl import files, tokenizers
from keras_bert_impl.checkpoints import extension
from keras_bert_impl.tokenizers.formats import (
  tokenizer_json,
  tokenizer_json_trimming,
  tokenizer_json_writing,
  vocabularies,
  vocabulary_files,
)
from tfrecords.text import sources

_SENTENCES = 1000  # that the tokenizer is given at once


def trim(corpus, source, folder, tensors, description):
  """Writes the trimmed vocabulary; returns tensors and configuration for it.

  Texts of the corpus keep the tokens that they have by a tokenizer.json, which
  get other ids: that is checked for each of them. Other texts may fall into
  smaller pieces, or [UNK].

  Args:
    corpus: list of str, as of `sources.iter_documents`.
    source: str, folder of the checkpoint, with its vocabulary.
    folder: str, where tokenizer.json and its options are written.
    tensors: mapping of names -> arrays, with `shapes`.
    description: `description.Description`.

  Returns:
    (tensors, description, number of tokens left out).

  Raises:
    FileNotFoundError: no corpus, or no vocabulary.
    ValueError: the corpus has no text, or the vocabulary cannot be trimmed so
      that texts keep their tokens.
  """
  given = tokenizers.load(source, description.config.model_type)
  vocabulary, options = given.vocabulary, given.options
  path = os.path.join(folder, vocabulary_files.TOKENIZER_JSON)
  content = tokenizer_json_writing.content(vocabulary, options)
  if isinstance(content, str):
    content = content.encode("utf-8")
  values = tokenizer_json.parse(content, path)
  # Of a SentencePiece model both may cut a text differently where two ways are
  # equally probable.
  files.write_json(path, values)
  old = tokenizers.load(path)
  used = np.zeros(vocabulary.size, bool)
  for batch in _batches(corpus):
    used[old.tokenize(batch).flat_values.numpy()] = True
  if not used.any():
    raise ValueError(
      f"--trim_vocab ({','.join(corpus)}) has no text to keep the tokens of."
    )
  used[[*vocabulary.special_ids]] = True
  kept = tokenizer_json_trimming.needed(
    values, {*np.flatnonzero(used).tolist()}
  )
  files.write_json(path, tokenizer_json_trimming.trimmed(values, kept))
  trimmed = vocabularies.Vocabulary.load(path)
  tokenizer_json_writing.save(folder, trimmed, options)
  _check(corpus, old, tokenizers.load(path), kept)
  config = dataclasses.replace(description.config, vocab_size=len(kept))
  return (
    extension.select(tensors, kept),
    dataclasses.replace(description, config=config),
    vocabulary.size - len(kept),
  )


def _batches(corpus):
  """Yields lists of the sentences of a corpus."""
  documents = sources.iter_documents(corpus)
  sentences = itertools.chain.from_iterable(documents)
  while batch := list(itertools.islice(sentences, _SENTENCES)):
    yield batch


def _check(corpus, old, new, kept):
  """Raises ValueError if a sentence has other tokens now."""
  new_ids = np.full(old.vocabulary.size, -1)
  new_ids[kept] = np.arange(len(kept))
  for batch in _batches(corpus):
    before, after = old.tokenize(batch).to_list(), new.tokenize(batch).to_list()
    for sentence, ids, found in zip(batch, before, after, strict=True):
      if new_ids[ids].tolist() != found:
        raise ValueError(
          f"{old.vocabulary.origin} cannot be trimmed: with fewer tokens it"
          f" cuts {sentence[:60]!r} differently."
        )
