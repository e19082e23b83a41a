"""Vocabulary size of a checkpoint and of the vocabulary beside it."""

import os

from absl import logging

from keras_bert_impl import files


def check_beside(config, path):
  """Checks the vocabulary beside a checkpoint, if there is one; see `check`.

  Args:
    config: `EncoderConfig`.
    path: str, of the checkpoint.
  """
  folder = os.path.dirname(path) or "."
  vocabulary, num_tokens = _count(folder, config.family)
  if num_tokens:
    check(config, num_tokens, vocabulary, path)


def check(config, num_tokens, vocabulary, model="the model"):
  """Checks that a model has a row for each token of a vocabulary.

  More rows than tokens are allowed, with a warning.

  Args:
    config: `EncoderConfig`.
    num_tokens: int, of the vocabulary.
    vocabulary: str, its file, for messages.
    model: str, what the configuration is of, for messages.

  Raises:
    ValueError: there are fewer rows than tokens.
  """
  if num_tokens > config.vocab_size:
    raise ValueError(
      f"{vocabulary} holds {num_tokens} tokens, more than the vocab_size "
      f"({config.vocab_size}) of {model}: they do not belong together."
    )
  if num_tokens < config.vocab_size:
    logging.warning(
      "%s holds %d tokens, fewer than the vocab_size (%d) of %s.",
      vocabulary,
      num_tokens,
      config.vocab_size,
      model,
    )


def _count(folder, family):
  """Returns (path, number of tokens) of the vocabulary in a folder, 0 without.

  Args:
    folder: str.
    family: `families.family.Family`, which says what the pieces of a
      SentencePiece model are.
  """
  path = os.path.join(folder, "tokenizer.json")
  content = files.find_json(path)
  if content is not None:
    return path, _count_json(content)
  path = os.path.join(folder, "vocab.json")
  ids = files.find_json(path)
  if ids is not None:
    return path, len(ids)
  for name in files.list_folder(folder):
    if name.endswith(".model"):
      path = os.path.join(folder, name)
      pieces = files.parse_pieces(files.read_bytes(path), path)
      return path, len(family.piece_tokens(pieces))
  path = os.path.join(folder, "vocab.txt")
  return path, files.count_lines(path) if files.exists(path) else 0


def _count_json(content):
  """Returns the number of tokens of a tokenizer.json; 0 if it has none."""
  model, added = content.get("model"), content.get("added_tokens")
  vocab = model.get("vocab") if isinstance(model, dict) else None
  if not isinstance(vocab, dict | list) or not isinstance(added or [], list):
    return 0
  ids = (t.get("id") for t in added or [] if isinstance(t, dict))
  return max([len(vocab), *(i + 1 for i in ids if isinstance(i, int))])
