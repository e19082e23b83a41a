"""What vocabulary files say: tokens by id, and merges."""

import string

from keras_bert_impl import files


def lines(text):
  """Returns the tokens of a vocab.txt, list of str."""
  # strip() and splitting at "\n" only, as the original's load_vocab. A token of
  # white space (U+2028 in Chinese vocabularies) keeps it: it has an id.
  tokens = [
    line.strip() or line.removesuffix("\r") for line in text.split("\n")
  ]
  while tokens and not tokens[-1].strip(string.whitespace):
    tokens.pop()
  return tokens


def by_id(ids, place):
  """Returns {id: token} of {token: id}.

  Raises:
    ValueError: an id is no integer, or that of two tokens.
  """
  for token, index in ids.items():
    files.check_type(index, int, f"the id of {token!r} in {place}")
  tokens = {index: token for token, index in ids.items()}
  for token, index in ids.items():
    if tokens[index] != token:
      raise ValueError(
        f"{place} gives {token!r} and {tokens[index]!r} the same id ({index})."
      )
  return tokens


def in_order(tokens, path):
  """Returns the tokens of {id: token}, list of str.

  Raises:
    ValueError: there is no token of an id.
  """
  for index in range(len(tokens)):
    if index not in tokens:
      raise ValueError(
        f"{path} must give its {len(tokens)} tokens the ids from 0 to"
        f" {len(tokens) - 1}, but no token has {index}."
      )
  return [tokens[index] for index in range(len(tokens))]


def merges(text, path, tokens):
  """Returns the lines of a merges.txt; as `pairs`."""
  numbered = (
    (number, line.removesuffix("\r"))
    for number, line in enumerate(text.split("\n"), start=1)
    if line not in ("", "\r") and not line.startswith("#version")
  )
  return pairs(numbered, tokens, f"{path}, line")


def pairs(merges, tokens, place):
  """Returns merges, tuple of "left right".

  Args:
    merges: iterable of (number, "left right" or [left, right]).
    tokens: iterable of str, the vocabulary.
    place: str, where the numbers count, for messages.

  Raises:
    ValueError: if one is no pair, comes twice, or names or makes what is no
      token.
  """
  known, numbers = frozenset(tokens), {}
  for number, merge in merges:
    pair = merge.split(" ") if isinstance(merge, str) else merge
    if not (
      isinstance(pair, list)
      and len(pair) == 2
      and all(isinstance(part, str) for part in pair)
    ):
      raise ValueError(
        f"{place} {number}: {files.shown(merge)} must be two tokens with a"
        " space between."
      )
    for token in (*pair, "".join(pair)):
      if token not in known:
        raise ValueError(
          f"{place} {number}: {token!r} is not in the vocabulary: give the"
          " merges of the same model."
        )
    merge = " ".join(pair)
    if merge in numbers:
      raise ValueError(
        f"{place} {number}: {merge!r} stands in {numbers[merge]} too: restore"
        " the file."
      )
    numbers[merge] = number
  return tuple(numbers)
