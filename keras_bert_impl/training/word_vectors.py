"""Word vectors as the start of an embedding table: of a file, or counted.

A file has a word and its numbers on each line, as GloVe, word2vec and fastText
write text; a first line with the number of words and of numbers may stand above
them. A token that begins a word starts as the vector of what it spells, all
others keep their values.

Source: Pennington et al. 2014 (GloVe); Mikolov et al. 2013 (word2vec).
"""

import contextlib

import numpy as np
from absl import logging

from keras_bert_impl import files
from keras_bert_impl.checkpoints.naming import names
from keras_bert_impl.tokenizers.formats import byte_alphabet, vocabulary_files
from keras_bert_impl.training import cooccurrences


def assign(path, vocabulary, weights, deviation):
  """Assigns vectors to the rows of a model's tables of word embeddings.

  They are scaled to one standard deviation, all by one factor: those of GloVe
  are twenty times as long as embeddings start, and the masked language model
  predicts by the same table.

  Args:
    path: str, local or gs://..., UTF-8.
    vocabulary: `Vocabulary` of V tokens.
    weights: list of `keras.Variable` of the model; tables are float [>= V, E].
    deviation: float, of the numbers of the vectors.

  Raises:
    ValueError: a line has other than E numbers, or no word is a token; names
      file and line. FileNotFoundError: there is no such file.
  """
  tables = _tables(weights)
  size = tables[0].shape[1]
  found = read(path, words(vocabulary), size)
  rows, vectors = np.fromiter(found, int), np.stack(list(found.values()))
  _put(tables, rows, vectors, deviation)
  logging.info(
    "Word vectors from %s: %d of %d tokens.", path, len(rows), vocabulary.size
  )


def assign_counted(rows, weights, deviation):
  """Assigns vectors of what stands beside what, and how common tokens are.

  A masked language model predicts by the table and a bias for each token, which
  start from what a few seconds of counting know.

  Args:
    rows: `tf.RaggedTensor` int64 [N, (n)], tokens of training text.
    weights: list of `keras.Variable` of the model; tables are float [V, E],
      biases of language models [V].
    deviation: float, of the numbers of the vectors.
  """
  tables = _tables(weights)
  vocab_size, size = tables[0].shape
  found, vectors = cooccurrences.vectors(rows, vocab_size, size)
  _put(tables, found, vectors, deviation)
  biases = cooccurrences.log_shares(rows, vocab_size)
  for weight in weights:
    if weight.path.endswith("output_bias") and weight.shape == biases.shape:
      weight.assign(biases)
  logging.info("Word vectors from the records: %d tokens.", len(found))


def _tables(weights):
  """Returns the tables of word embeddings among some weights, list."""
  name = names.WORD_EMBEDDINGS.removeprefix("bert/")
  return [weight for weight in weights if weight.path.endswith(name)]


def _put(tables, rows, vectors, deviation):
  """Assigns vectors [T, E] of a standard deviation to rows [T] of tables."""
  vectors = vectors * (deviation / max(np.std(vectors), 1e-12))
  for table in tables:
    values = np.array(table)
    values[rows] = vectors
    table.assign(values)


def words(vocabulary):
  """Returns {word: id} of the tokens that begin a word."""
  starts = {
    _spelled(token, vocabulary.kind): index
    for index, token in enumerate(vocabulary.tokens)
    if not vocabulary.is_continuation[index]
    and index not in vocabulary.special_ids
  }
  starts.pop("", None)  # The mark alone.
  return starts


def read(path, wanted, size):
  """Returns {id: float32 [size]} of the words of a file, the first of each.

  Args:
    path: str, local or gs://...
    wanted: {word: id}, which to read.
    size: int, numbers of a vector.

  Raises:
    ValueError, FileNotFoundError: as `assign`.
  """
  if not files.exists(path):
    raise FileNotFoundError(f"word_vectors ({path}) does not exist.")
  found = {}
  with contextlib.closing(files.open_binary(path)) as file:
    for number, line in enumerate(file, start=1):
      # From the right: a word may hold blanks.
      word, *numbers = (
        line.decode("utf-8", "replace").rstrip().rsplit(" ", size)
      )
      if number == 1 and _is_header(line):
        continue
      index = wanted.get(word)
      if number <= 2 or index is not None and index not in found:
        vector = _vector(numbers, size, f"{path}, line {number}")
        if index is not None:
          found[index] = vector
  if not found:
    raise ValueError(
      f"word_vectors ({path}): none of its words is a token of the vocabulary."
      " Check that both are of one language and case."
    )
  return found


def _is_header(line):
  parts = line.split()
  return len(parts) == 2 and all(part.isdigit() for part in parts)


def _vector(numbers, size, place):
  try:
    vector = np.array(numbers, np.float32)
  except ValueError:
    vector = np.empty(0)
  if len(vector) != size or not np.isfinite(vector).all():
    raise ValueError(
      f"{place} is not a word and {size} numbers, as the embeddings have: give"
      f" vectors of {size} numbers, or a model whose embedding_size is theirs."
    )
  return vector


def _spelled(token, kind):
  """Returns the characters of a token, without the mark of a word's start."""
  if kind == vocabulary_files.BYTE_BPE:
    content = byte_alphabet.to_bytes(token)
    if content is not None:
      token = content.decode("utf-8", "replace")
  return token.replace(vocabulary_files.WORD_START, " ").strip()
