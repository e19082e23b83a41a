"""Leaves tokens that no text needs out of a tokenizer.json."""

import re

# A piece of a byte, which stands in for unknown characters.
_BYTE_PIECE = re.compile(r"<0x[0-9A-F]{2}>")


def needed(values, used):
  """Returns the ids that give texts the tokens that they have now.

  These are the tokens of the texts; the special ones; what merges make them of
  (BPE); and, of a unigram model, the pieces of bytes and that of the lowest
  score, by which the score of what is unknown is measured.

  Args:
    values: the JSON of a tokenizer.json, dict.
    used: set of int, ids that texts have.

  Returns:
    list of int, in order.
  """
  kept = used | {token["id"] for token in values.get("added_tokens", ())}
  model = values["model"]
  vocab = model["vocab"]
  if model["type"] == "WordPiece":
    kept.add(vocab[model["unk_token"]])
  elif model["type"] == "BPE":
    kept |= _with_parts(vocab, model, kept)
  else:
    kept |= {i for i, (x, _) in enumerate(vocab) if _BYTE_PIECE.fullmatch(x)}
    kept |= {min(range(len(vocab)), key=lambda i: vocab[i][1])}
    kept |= {model["unk_id"]} - {None}
  return sorted(kept)


def trimmed(values, ids):
  """Returns the JSON with these tokens only, numbered from 0 in their order.

  Args:
    values: as of `needed`.
    ids: list of int, as `needed` returns them.
  """
  new = {old: index for index, old in enumerate(ids)}
  model = dict(values["model"])
  if model["type"] == "Unigram":
    vocab = model["vocab"]
    model["vocab"] = [vocab[old] for old in ids if old < len(vocab)]
    model["unk_id"] = new.get(model["unk_id"])
  else:
    model["vocab"] = {t: new[i] for t, i in model["vocab"].items() if i in new}
  if model["type"] == "BPE":
    is_there = model["vocab"].__contains__
    model["merges"] = [
      merge
      for merge in model["merges"]
      for left, right in [_parts(merge)]
      if is_there(left) and is_there(right) and is_there(left + right)
    ]
  added = [
    token | {"id": new[token["id"]]} for token in values.get("added_tokens", ())
  ]
  return values | {
    "model": model,
    "added_tokens": added,
    "post_processor": _renumbered(values.get("post_processor"), new),
    "padding": None,
    "truncation": None,
  }


def _with_parts(vocab, model, kept):
  """Returns the ids of single characters, and of all parts of kept tokens."""
  made_of = {}
  for merge in model["merges"]:
    left, right = _parts(merge)
    made_of.setdefault(left + right, []).extend((left, right))
  tokens = {index: token for token, index in vocab.items()}
  waiting = [tokens[i] for i in kept if i in tokens]
  waiting += [token for token in vocab if len(token) == 1]
  waiting += [x for x in vocab if _BYTE_PIECE.fullmatch(x)]
  waiting += [x for x in [model.get("unk_token")] if x in vocab]
  found = set()
  while waiting:
    token = waiting.pop()
    if token not in found:
      found.add(token)
      waiting += [x for x in made_of.get(token, ()) if x in vocab]
  return {vocab[token] for token in found}


def _parts(merge):
  """Returns both sides of a merge, which is "left right" or a list of both."""
  return merge.split(" ") if isinstance(merge, str) else merge


def _renumbered(node, new):
  """Returns a post-processor with the new ids of its special tokens."""
  if isinstance(node, dict):
    node = {key: _renumbered(value, new) for key, value in node.items()}
    if isinstance(node.get("ids"), list):
      node["ids"] = [new[old] for old in node["ids"]]
    for role in ("sep", "cls"):  # Of BertProcessing: [token, id].
      if isinstance(node.get(role), list):
        token, old = node[role]
        node[role] = [token, new[old]]
    return node
  if isinstance(node, list):
    return [_renumbered(each, new) for each in node]
  return node
