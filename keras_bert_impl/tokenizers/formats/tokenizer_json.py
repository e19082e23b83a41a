"""Reads tokenizer.json, the format of the `tokenizers` library.

What the tokenizers here can do is read from it: the vocabulary and its model,
normalisation, added tokens, special tokens, framing and decoder. All else is
refused by name; where the library can do it, it is left to the library.
"""

import dataclasses
import functools
import os

from keras_bert_impl import files
from keras_bert_impl.tokenizers.formats import (
  byte_alphabet,
  piece_model,
  text_rules,
  tokenizer_options,
  vocabulary_content,
  vocabulary_files,
)
from keras_bert_impl.tokenizers.formats import (
  tokenizer_json_pipeline as pipeline,
)
from keras_bert_impl.tokenizers.formats.vocabulary_files import (
  BYTE_BPE,
  CHARACTER_BPE,
  SENTENCEPIECE,
  WORD_LEVEL,
  WORDPIECE,
)

# The kind of each type of model; BPE of characters is another.
_TYPES = {
  "WordPiece": WORDPIECE,
  "BPE": BYTE_BPE,
  "Unigram": SENTENCEPIECE,
  "WordLevel": WORD_LEVEL,
}
_BYTE_PIECES = frozenset(f"<0x{byte:02X}>" for byte in range(256))
# RE2 counts no further.
_MOST_WORD_CHARACTERS = 1000
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
_NONE = type(None)


def read(file):
  """Returns the tokenizer in a `VocabularyFile`.

  Returns:
    (fields, roles, named_roles): {name: value} of `vocabularies.Vocabulary`;
    {role: token} of special tokens with the usual names; {role: token} of the
    special tokens that it uses.

  Raises:
    FileNotFoundError: there is no such file.
    ValueError: it is damaged, or asks for what the tokenizers here cannot do.
  """
  path, options = os.fspath(file), tokenizer_options.of_bert_class(file)
  return _read(files.read_bytes(path, "vocab_file"), path, options)


# A large vocabulary takes a second.
@functools.lru_cache(maxsize=1)
def _read(content, path, options):
  values = parse(content, path)
  kind = _kind(values)
  if options and kind == WORDPIECE:
    values, content = _of_class(values, content, options)
  model = values["model"]
  place = f"model in {path}"
  if kind == SENTENCEPIECE:
    tokens = _piece_names(model, place)
  else:
    tokens = vocabulary_content.by_id(
      files.field(model, "vocab", dict, place), place
    )
  added = _added_tokens(values, path)
  tokens, outside = _with_added(tokens, added, path)
  framing, named = pipeline.framing(values, path)
  unk = _unknown_token(kind, model, place)
  if unk is not None:
    named["unk"] = unk
  for role, token in named.items():
    if token not in tokens:
      raise ValueError(
        f"{path} has no token {token!r}, which it names for {role}."
      )
  try:
    steps = pipeline.text_steps(kind, values, path)
  except text_rules.NotInGraphError as error:
    steps = {"not_in_graph": str(error)}
  rules = text_rules.TextRules(
    added_tokens=added,
    framing=framing,
    outside=outside,
    content=content,
    **steps,
  )
  rules, more = _MODELS[kind](model, place, tokens, rules)
  fields = {"tokens": tuple(tokens), "kind": kind, "rules": rules, **more}
  return fields, _usual_roles(added), named


def parse(content, path):
  """Returns the values of a tokenizer.json, dict.

  Args:
    content: bytes, the whole file.
    path: str, of the file, for messages.

  Raises:
    ValueError: it is no JSON, or its model is of no known type.
  """
  values = files.parse_json(files.decode(content, path), path)
  model = files.field(values, "model", dict, path)
  place = f"model in {path}"
  # Files of older versions leave the type out.
  kind = files.field(model, "type", str, place, _guess_model(model))
  if kind not in _TYPES:
    raise ValueError(
      f"type ({kind!r}) of {place} must be one of {', '.join(_TYPES)}."
    )
  return values | {"model": model | {"type": kind}}


def _guess_model(model):
  if "merges" in model:
    return "BPE"
  return "Unigram" if "unk_id" in model else "WordPiece"


def _kind(values):
  """Returns the kind of the vocabulary in the values of a tokenizer.json."""
  kind = _TYPES[values["model"]["type"]]
  of_bytes = _has_type(values.get("pre_tokenizer"), "ByteLevel")
  return CHARACTER_BPE if kind == BYTE_BPE and not of_bytes else kind


def _has_type(part, name):
  """Returns whether a part of a tokenizer.json has a step of a type."""
  if isinstance(part, dict):
    return part.get("type") == name or _has_type([*part.values()], name)
  return isinstance(part, list) and any(_has_type(x, name) for x in part)


def _of_class(values, content, options):
  """Returns what a class of BERT in `transformers` makes of a file.

  Args:
    values: dict, its JSON; returned with `content`, its bytes.
    content: bytes.
    options: `WordPieceOptions` of the class.
  """
  normalizer = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": options.tokenize_chinese_chars,
    "strip_accents": options.strip_accents,
    "lowercase": options.do_lower_case,
  }
  limit = {"max_input_chars_per_word": options.max_input_chars_per_word}
  model = values["model"]
  if values.get("normalizer") == normalizer and limit.items() <= model.items():
    return values, content
  values = values | {"normalizer": normalizer, "model": model | limit}
  return values, files.to_json(values).encode("utf-8")


# Vocabularies.


def _piece_names(model, place):
  """Returns {id: piece} of the vocabulary of a unigram model."""
  pieces = files.field(model, "vocab", list, place)
  for index, entry in enumerate(pieces):
    if not (
      isinstance(entry, list)
      and len(entry) == 2
      and isinstance(entry[0], str)
      and type(entry[1]) in (int, float)
      and abs(entry[1]) < 1e30
    ):
      raise ValueError(
        f"vocab of {place}, entry {index} must be a piece and its score, not"
        f" {files.shown(entry)}."
      )
  return dict(enumerate(piece for piece, _ in pieces))


def _added_tokens(values, path):
  """Returns the `AddedToken`s of a file, tuple."""
  added = []
  entries = values.get("added_tokens")
  for entry in files.check_type(
    [] if entries is None else entries, list, f"added_tokens in {path}"
  ):
    place = f"an entry of added_tokens in {path}"
    content = files.field(entry, "content", str, place)
    index = files.field(entry, "id", int, place)
    place = f"added token {content!r} in {path}"
    flags = {
      name: files.field(entry, name, bool, place, False) for name in _FLAGS
    }
    if not content:
      raise ValueError(f"{place} must not be empty.")
    added.append(text_rules.AddedToken(content, index, **flags))
  return tuple(added)


def _with_added(by_id, added, path):
  """Returns all tokens, and the ids of those that only added_tokens has.

  Args:
    by_id: {id: token}, of the model.
    added: tuple of `AddedToken`.
    path: str.

  Returns:
    (list of str, frozenset of int).
  """
  ids = {token: index for index, token in by_id.items()}
  all_tokens = dict(by_id)
  for token in added:
    index = ids.get(token.content, token.index)
    taken = all_tokens.get(token.index, token.content)
    if index != token.index:
      raise ValueError(
        f"added token {token.content!r} in {path} has the id {token.index}, but"
        f" {index} in the vocab of its model."
      )
    if taken != token.content:
      raise ValueError(
        f"added token {token.content!r} in {path} has the id {token.index},"
        f" which {taken!r} has."
      )
    all_tokens[token.index] = token.content
  tokens = vocabulary_content.in_order(all_tokens, path)
  return tokens, frozenset(all_tokens.keys() - by_id.keys())


def _unknown_token(kind, model, place):
  """Returns the token of what is unknown, or None."""
  if kind == SENTENCEPIECE:
    index = files.field(model, "unk_id", int, place)
    if not 0 <= index < len(model["vocab"]):
      raise ValueError(f"unk_id ({index}) of {place} is no id of its vocab.")
    return model["vocab"][index][0]
  has_words = kind in (WORDPIECE, WORD_LEVEL)
  required = {} if has_words else {"default": None}
  kinds = str if has_words else (str, _NONE)
  return files.field(model, "unk_token", kinds, place, **required)


def _usual_roles(added):
  """Returns {role: token} of special tokens that are named as usual."""
  special = {token.content for token in added if token.special}
  return {
    role: name
    for role in vocabulary_files.ROLES
    for name in (f"<{role}>", f"[{role.upper()}]")
    if name in special
  }


# Models.


def _read_wordpiece(model, place, tokens, rules):
  pipeline.check(model, "continuing_subword_prefix", ("##",), place, "##")
  most = files.field(model, "max_input_chars_per_word", int, place, 100)
  if not 0 < most <= _MOST_WORD_CHARACTERS:
    raise ValueError(
      f"max_input_chars_per_word ({most}) of {place} must be at most"
      f" {_MOST_WORD_CHARACTERS} and positive."
    )
  rules = dataclasses.replace(rules, max_word_characters=most)
  return _read_word_level(model, place, tokens, rules)


def _read_word_level(model, place, unused_tokens, rules):
  if model["unk_token"] not in model["vocab"]:
    raise ValueError(
      f"unk_token ({model['unk_token']!r}) of {place} is not in its vocab."
    )
  return rules, {}


def _read_bpe(model, place, tokens, rules):
  for name, allowed in (
    ("dropout", (None, 0, 0.0)),
    ("continuing_subword_prefix", (None, "")),
    ("end_of_word_suffix", (None, "")),
    ("ignore_merges", (None, False, True)),
    ("fuse_unk", (None, False, True)),
  ):
    pipeline.check(model, name, allowed, place)
  known = {t for index, t in enumerate(tokens) if index not in rules.outside}
  merges = vocabulary_content.pairs(
    enumerate(files.field(model, "merges", list, place)),
    known,
    f"merges of {place}, entry",
  )
  if any(merge.count(" ") > 1 for merge in merges):
    reason = f"merges of {place} have tokens with blanks, not marks for them."
    rules = dataclasses.replace(rules, not_in_graph=reason)
  fallback = files.field(model, "byte_fallback", (bool, _NONE), place, False)
  if fallback:
    _check_byte_pieces(known, place)
  unk = model.get("unk_token")
  rules = dataclasses.replace(
    rules,
    unk_id=-1 if unk is None else tokens.index(unk),
    fuse_unk=bool(model.get("fuse_unk")),
    byte_fallback=bool(fallback),
    ignore_merges=bool(model.get("ignore_merges")),
  )
  return rules, {"merges": merges}


def _read_byte_bpe(model, place, tokens, rules):
  pipeline.check(model, "byte_fallback", (None, False), place)
  read, more = _read_bpe(model, place, tokens, rules)
  if set(model["vocab"]).issuperset(byte_alphabet.CHARACTERS):
    # No byte is unknown; fingerprints say so.
    read = dataclasses.replace(read, unk_id=-1, fuse_unk=False)
  return read, more


def _check_byte_pieces(pieces, place):
  if not _BYTE_PIECES <= pieces:
    raise ValueError(
      f"byte_fallback (True) of {place} needs a piece for each byte, <0x00> to"
      " <0xFF>, in its vocab."
    )


def _read_unigram(model, place, unused_tokens, rules):
  """Makes a model whose pieces have the ids of the file.

  A piece that no text can have any more gets a name that is in no text: of
  equal ones, all but the last; with a blank inside, where words are split
  before blanks.
  """
  fallback = files.field(model, "byte_fallback", bool, place, False)
  start = vocabulary_files.WORD_START
  last = {piece: index for index, (piece, _) in enumerate(model["vocab"])}
  pieces = [
    (
      piece
      if last[piece] == index
      and piece
      and "\0" not in piece
      and not (rules.split_at_blanks and start in piece[1:])
      else f"\ufdd0{index}\ufdd0",
      float(score),
    )
    for index, (piece, score) in enumerate(model["vocab"])
  ]
  byte_pieces = _BYTE_PIECES if fallback else ()
  if fallback:
    _check_byte_pieces(last.keys(), place)
  content = piece_model.unigram(pieces, model["unk_id"], byte_pieces)
  return rules, {"model": content}


_MODELS = {
  WORDPIECE: _read_wordpiece,
  BYTE_BPE: _read_byte_bpe,
  CHARACTER_BPE: _read_bpe,
  WORD_LEVEL: _read_word_level,
  SENTENCEPIECE: _read_unigram,
}
