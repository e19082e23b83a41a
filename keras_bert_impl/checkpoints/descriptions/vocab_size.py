"""Vocabulary size of a checkpoint and of the vocabulary beside it."""

from absl import logging

from keras_bert_impl import files


def check_beside(config, folder, path):
  """Checks the vocabulary beside a checkpoint, if there is one; see `check`.

  Args:
    config: `EncoderConfig`.
    folder: `files.Folder`, where it is.
    path: str, of the checkpoint.
  """
  name, num_tokens = _count(folder, config.family)
  if num_tokens:
    check(config, num_tokens, folder.join(name), path)


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
  """Returns (name, number of tokens) of the vocabulary in a folder, 0 without.

  Args:
    folder: `files.Folder`.
    family: `families.family.Family`, which says what the pieces of a
      SentencePiece model are.
  """
  content = folder.find_json("tokenizer.json")
  if content is not None:
    return "tokenizer.json", _count_json(content)
  ids = folder.find_json("vocab.json")
  if ids is not None:
    return "vocab.json", len(ids)
  for name in folder.names:
    if name.endswith(".model"):
      path = folder.join(name)
      pieces = files.parse_pieces(files.read_bytes(path), path)
      return name, len(family.piece_tokens(pieces))
  has_lines = "vocab.txt" in folder.names
  path = folder.join("vocab.txt")
  return "vocab.txt", files.count_lines(path) if has_lines else 0


def _count_json(content):
  """Returns the number of tokens of a tokenizer.json; 0 if it has none."""
  model, added = content.get("model"), content.get("added_tokens")
  vocab = model.get("vocab") if isinstance(model, dict) else None
  if not isinstance(vocab, dict | list) or not isinstance(added or [], list):
    return 0
  ids = (t.get("id") for t in added or [] if isinstance(t, dict))
  return max([len(vocab), *(i + 1 for i in ids if isinstance(i, int))])
