"""Reads tokenizer.json, the format of the `tokenizers` library.

What the tokenizers here can do is read from it: the vocabulary and its model,
normalisation, added tokens, special tokens and framing. All else is refused by
name.
"""

import base64
import binascii
import dataclasses
import functools
import itertools
import re

from keras_bert_impl import files
from keras_bert_impl.families import family
from keras_bert_impl.tokenizers import (
  piece_model,
  text_rules,
  vocabulary_files,
  white_space,
)
from keras_bert_impl.tokenizers.vocabulary_files import (
  BYTE_BPE,
  SENTENCEPIECE,
  WORDPIECE,
)

_WORD_START = "\u2581"
_BYTE_PIECES = frozenset(f"<0x{byte:02X}>" for byte in range(256))
# RE2 counts no further.
_MOST_WORD_CHARACTERS = 1000
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
# Of regular expressions, what means the same in RE2.
_PLAIN_PATTERN = re.compile(r"([^\\.^$(){}+*?]|\\[nrt]|\{\d+,?\d*\}|[+*?])+")
_NONE = type(None)


@dataclasses.dataclass(frozen=True)
class TokenizerJson:
  """What a tokenizer.json holds.

  Attributes:
    kind: one of the kinds in `vocabulary_files`.
    tokens: tuple of V strings, the token of each id.
    roles: {role: token}, of special tokens with the usual names.
    named_roles: {role: token}, of the special tokens that it uses.
    rules: `text_rules.TextRules`.
    merges: as `vocabulary.Vocabulary`.
    model: bytes, a SentencePiece model made of it.
  """

  kind: str
  tokens: tuple
  roles: dict
  named_roles: dict
  rules: text_rules.TextRules
  merges: tuple = ()
  model: bytes = b""


def read(path):
  """Returns the `TokenizerJson` in the file `path`.

  Raises:
    FileNotFoundError: there is no such file.
    ValueError: it is damaged, or asks for what the tokenizers here cannot do.
  """
  return _read(files.read_bytes(path, "vocab_file"), path)


# A large vocabulary takes a second.
@functools.lru_cache(maxsize=1)
def _read(content, path):
  values = vocabulary_files.read_tokenizer_json(path)
  model = values["model"]
  kind = vocabulary_files.MODELS[model["type"]]
  place = f"model in {path}"
  if kind == SENTENCEPIECE:
    tokens = _piece_names(model, place)
  else:
    tokens = _tokens_by_id(_field(model, "vocab", dict, place), place)
  added = _added_tokens(values, path)
  tokens, outside = _with_added(tokens, added, path)
  framing, named = _framing(values, path)
  unk = _unknown_token(kind, model, place)
  if unk is not None:
    named["unk"] = unk
  for role, token in named.items():
    if token not in tokens:
      raise ValueError(
        f"{path} has no token {token!r}, which it names for {role}."
      )
  rules = text_rules.TextRules(
    normalizers=tuple(_normalizers(values.get("normalizer"), path)),
    added_tokens=added,
    framing=framing,
    outside=outside,
    content=content,
    **_PRE_TOKENIZERS[kind](values.get("pre_tokenizer"), path),
  )
  rules, more = _MODELS[kind](model, place, tokens, rules)
  return TokenizerJson(
    kind, tuple(tokens), _usual_roles(added), named, rules, **more
  )


# Vocabularies.


def _tokens_by_id(ids, place):
  """Returns {id: token} of {token: id}."""
  for token, index in ids.items():
    files.check_type(index, int, f"the id of {token!r} of {place}")
  by_id = {index: token for token, index in ids.items()}
  if len(by_id) < len(ids):
    twice = next(t for t, index in ids.items() if by_id[index] != t)
    raise ValueError(
      f"vocab of {place} gives {twice!r} and {by_id[ids[twice]]!r} the same id"
      f" ({ids[twice]})."
    )
  return by_id


def _piece_names(model, place):
  """Returns {id: piece} of the vocabulary of a unigram model."""
  pieces = _field(model, "vocab", list, place)
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
        f" {_shown(entry)}."
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
    content = _field(entry, "content", str, place)
    index = _field(entry, "id", int, place)
    place = f"added token {content!r} in {path}"
    flags = {name: _field(entry, name, bool, place, False) for name in _FLAGS}
    if not content:
      raise ValueError(f"{place} must not be empty.")
    if flags.pop("single_word"):
      raise ValueError(
        f"single_word (True) of {place} is not supported; only False is."
      )
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
  for index in range(len(all_tokens)):
    if index not in all_tokens:
      raise ValueError(
        f"{path} must give its {len(all_tokens)} tokens the ids from 0 to"
        f" {len(all_tokens) - 1}, but no token has {index}."
      )
  tokens = [all_tokens[index] for index in range(len(all_tokens))]
  return tokens, frozenset(all_tokens.keys() - by_id.keys())


def _unknown_token(kind, model, place):
  """Returns the token of what is unknown, or None."""
  if kind == SENTENCEPIECE:
    index = _field(model, "unk_id", int, place)
    if not 0 <= index < len(model["vocab"]):
      raise ValueError(f"unk_id ({index}) of {place} is no id of its vocab.")
    return model["vocab"][index][0]
  required = {} if kind == WORDPIECE else {"default": None}
  kinds = str if kind == WORDPIECE else (str, _NONE)
  return _field(model, "unk_token", kinds, place, **required)


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


def _read_wordpiece(model, place, unused_tokens, rules):
  if model["unk_token"] not in model["vocab"]:
    raise ValueError(
      f"unk_token ({model['unk_token']!r}) of {place} is not in its vocab."
    )
  _check(model, "continuing_subword_prefix", ("##",), place, "##")
  most = _field(model, "max_input_chars_per_word", int, place, 100)
  if not 0 < most <= _MOST_WORD_CHARACTERS:
    raise ValueError(
      f"max_input_chars_per_word ({most}) of {place} must be at most"
      f" {_MOST_WORD_CHARACTERS} and positive."
    )
  return dataclasses.replace(rules, max_word_characters=most), {}


def _read_byte_bpe(model, place, tokens, rules):
  for name, allowed in (
    ("dropout", (None, 0, 0.0)),
    ("continuing_subword_prefix", (None, "")),
    ("end_of_word_suffix", (None, "")),
    ("byte_fallback", (None, False)),
    ("ignore_merges", (None, False)),
  ):
    _check(model, name, allowed, place)
  known = frozenset(
    token for index, token in enumerate(tokens) if index not in rules.outside
  )
  merges = []
  for line, merge in enumerate(_field(model, "merges", list, place)):
    pair = merge.split(" ") if isinstance(merge, str) else merge
    if not (
      isinstance(pair, list)
      and len(pair) == 2
      and all(isinstance(part, str) for part in pair)
    ):
      raise ValueError(
        f"merges of {place}, entry {line} must be two tokens, not"
        f" {_shown(merge)}."
      )
    if not {*pair, "".join(pair)} <= known:
      raise ValueError(
        f"merges of {place}, entry {line}: {_shown(merge)} names or makes what"
        " is not in its vocab."
      )
    merges.append(" ".join(pair))
  return rules, {"merges": tuple(merges)}


def _read_unigram(model, place, unused_tokens, rules):
  """Makes a model whose pieces have the ids of the file.

  A piece that no text can have any more gets a name that is in no text: of
  equal ones, all but the last; with a blank inside, where words are split
  before blanks.
  """
  fallback = _field(model, "byte_fallback", bool, place, False)
  last = {piece: index for index, (piece, _) in enumerate(model["vocab"])}
  pieces = [
    (
      piece
      if last[piece] == index
      and piece
      and "\0" not in piece
      and not (rules.split_at_blanks and _WORD_START in piece[1:])
      else f"\ufdd0{index}\ufdd0",
      float(score),
    )
    for index, (piece, score) in enumerate(model["vocab"])
  ]
  byte_pieces = _BYTE_PIECES if fallback else ()
  if not set(byte_pieces) <= last.keys():
    raise ValueError(
      f"byte_fallback (True) of {place} needs a piece for each byte, <0x00> to"
      " <0xFF>, in its vocab."
    )
  content = piece_model.unigram(pieces, model["unk_id"], byte_pieces)
  return rules, {"model": content}


_MODELS = {
  WORDPIECE: _read_wordpiece,
  BYTE_BPE: _read_byte_bpe,
  SENTENCEPIECE: _read_unigram,
}


# Splitting into words.


def _bert_words(values, path):
  names = [name for name, _, _ in _steps(values, "pretokenizers", path)]
  if names != ["BertPreTokenizer"]:
    _refuse("pre_tokenizer", names, path, "BertPreTokenizer")
  return {}


def _byte_level_words(values, path):
  steps = list(_steps(values, "pretokenizers", path))
  if [name for name, _, _ in steps] != ["ByteLevel"]:
    names = [name for name, _, _ in steps]
    _refuse("pre_tokenizer of BPE", names, path, "ByteLevel")
  [(_, step, place)] = steps
  _check(step, "use_regex", (True,), place, True)
  return {"add_prefix": _field(step, "add_prefix_space", bool, place)}


def _sentence_piece_words(values, path):
  steps = list(_steps(values, "pretokenizers", path))
  names = [name for name, _, _ in steps]
  if names not in (["Metaspace"], ["WhitespaceSplit", "Metaspace"]):
    allowed = "Metaspace or WhitespaceSplit, Metaspace"
    _refuse("pre_tokenizer of Unigram", names, path, allowed)
  _, step, place = steps[-1]
  _check(step, "replacement", (_WORD_START,), place, _WORD_START)
  # Older files have a bool.
  usual = _field(step, "add_prefix_space", bool, place, True)
  scheme = "always" if usual else "never"
  allowed = ("always",) if len(steps) > 1 else ("always", "never")
  _check(step, "prepend_scheme", allowed, place, scheme)
  return {
    "add_prefix": step.get("prepend_scheme", scheme) == "always",
    "split_white_space": len(steps) > 1,
    "split_at_blanks": _field(step, "split", bool, place, True),
  }


_PRE_TOKENIZERS = {
  WORDPIECE: _bert_words,
  BYTE_BPE: _byte_level_words,
  SENTENCEPIECE: _sentence_piece_words,
}


# Normalisation.


def _normalizers(values, path):
  """Yields the steps of a normalizer, (name in `normalizers`, *arguments)."""
  maps = 0
  for name, step, place in _steps(values, "normalizers", path):
    if name not in _NORMALIZERS:
      _refuse("normalizer", name, path, ", ".join(_NORMALIZERS))
    maps += name == "Precompiled"
    yield from _NORMALIZERS[name](step, place)
  if maps > 1:
    _refuse("normalizer", f"{maps} x Precompiled", path, "one")


def _bert_normalizer(step, place):
  if _field(step, "clean_text", bool, place, True):
    yield ("clean",)
  if _field(step, "handle_chinese_chars", bool, place, True):
    yield ("space_chinese",)
  lowercase = _field(step, "lowercase", bool, place, True)
  strips = _field(step, "strip_accents", (bool, _NONE), place, None)
  if lowercase if strips is None else strips:
    yield ("unicode", "NFD")
    yield ("strip_nonspacing",)
  if lowercase:
    yield ("lower",)


def _replace(step, place):
  pattern = _field(step, "pattern", dict, place)
  content = _field(step, "content", str, place).replace("\\", "\\\\")
  if "String" in pattern:
    text = _field(pattern, "String", str, f"pattern of {place}")
    if not text:
      raise ValueError(f"pattern of {place} must not be empty.")
    yield ("replace", _literal(text), content)
    return
  text = _field(pattern, "Regex", str, f"pattern of {place}")
  white = white_space.pattern(white_space.CODE_POINTS)
  found = text.replace(r"\s", white)
  # Inside of a class of characters it is written otherwise.
  is_plain = _PLAIN_PATTERN.fullmatch(text.replace(r"\s", "s"))
  if not is_plain or re.search(r"\[[^\]]*\\s", text) or "[^" in text:
    raise ValueError(
      f"pattern ({text!r}) of {place} is not supported: only characters,"
      " classes of characters, \\s, |, {}, +, * and ? are."
    )
  yield ("replace", found, content)


def _character_map(step, place):
  text = _field(step, "precompiled_charsmap", (str, _NONE), place)
  if text:
    try:
      charsmap = base64.b64decode(text, validate=True)
    except binascii.Error as error:
      raise ValueError(
        f"precompiled_charsmap of {place} is not base64 ({error})."
      ) from error
    if not piece_model.is_character_map(charsmap):
      raise ValueError(
        f"precompiled_charsmap of {place} is damaged: copy the file again."
      )
    yield ("character_map", charsmap)


_NORMALIZERS = {
  "BertNormalizer": _bert_normalizer,
  **{
    name: lambda step, place: [("unicode", step["type"])]
    for name in ("NFC", "NFD", "NFKC", "NFKD")
  },
  "Lowercase": lambda step, place: [("lower",)],
  "StripAccents": lambda step, place: [("strip_marks",)],
  "Strip": lambda step, place: [
    (
      "strip",
      _field(step, "strip_left", bool, place, True),
      _field(step, "strip_right", bool, place, True),
    )
  ],
  "Replace": _replace,
  "Precompiled": _character_map,
}


# Framing.


def _framing(values, path):
  """Returns the framing of a file and its roles.

  Returns:
    (`Framing` or None, {role: token}).
  """
  steps = [
    step
    for step in _steps(values.get("post_processor"), "processors", path)
    # Only about offsets.
    if step[0] != "ByteLevel"
  ]
  if not steps:
    return None, {}
  names = [name for name, _, _ in steps]
  if len(names) > 1 or names[0] not in (
    "TemplateProcessing",
    "BertProcessing",
    "RobertaProcessing",
  ):
    allowed = "TemplateProcessing, BertProcessing or RobertaProcessing"
    _refuse("post_processor", names, path, allowed)
  [(name, step, place)] = steps
  if name == "TemplateProcessing":
    return _template_framing(step, place)
  roles = {}
  for role in ("cls", "sep"):
    pair = _field(step, role, list, place)
    files.check_type((pair or [None])[0], str, f"{role} of {place}")
    roles[role] = pair[0]
  if name == "BertProcessing":
    return family.Framing(), roles
  return family.Framing(separators=2, segments=False), roles


def _template_framing(step, place):
  single, pair = (
    [_template_entry(entry, place) for entry in _field(step, name, list, place)]
    for name in ("single", "pair")
  )
  named = dict.fromkeys(name for name, _ in single if name != "A")
  for separators, segments, cls_at_end in itertools.product(
    (1, 2), (True, False), (False, True)
  ):
    framing = family.Framing(separators, segments, cls_at_end)
    for roles in itertools.permutations(named, 2):
      named_by = dict(zip(("cls", "sep"), roles, strict=True))
      templates = [
        [(named_by.get(name, name), segment) for name, segment in template]
        for template in map(framing.template, (1, 2))
      ]
      if [single, pair] == templates:
        return framing, _tokens_of(step, named_by, place)
  shown = " ".join(f"{name}:{segment}" for name, segment in pair)
  raise ValueError(
    f"{place} frames pairs as {shown!r}, which is not supported: only"
    " '[CLS] A [SEP] B [SEP]' and 'A [SEP] B [SEP] [CLS]' are, with one or two"
    " [SEP] between A and B and with segments 0 and 1 or none."
  )


def _template_entry(entry, place):
  """Returns (name of a token or text, its segment)."""
  place = f"an entry of a template of {place}"
  files.check_type(entry, dict, place)
  name = "Sequence" if "Sequence" in entry else "SpecialToken"
  value = _field(entry, name, dict, place)
  return _field(value, "id", str, place), _field(
    value, "type_id", int, place, 0
  )


def _tokens_of(step, roles, place):
  """Returns {role: token} of {role: name in a template}."""
  special = _field(step, "special_tokens", dict, place)
  tokens = {}
  for role, name in roles.items():
    entry = _field(special, name, dict, f"special_tokens of {place}")
    several = _field(entry, "tokens", list, f"{name!r} of {place}")
    if len(several) != 1 or not isinstance(several[0], str):
      raise ValueError(f"{name!r} of {place} must be one token.")
    tokens[role] = several[0]
  return tokens


# All of them.


def _steps(values, several, path):
  """Yields (type, object, place) of a part of the file, or of a sequence.

  Args:
    values: the part; None has no steps.
    several: str, what a sequence calls its parts.
    path: str.
  """
  if values is None:
    return
  name = _field(values, "type", str, path)
  place = f"{name} in {path}"
  if name != "Sequence":
    yield name, values, place
    return
  for value in _field(values, several, list, place):
    yield from _steps(value, several, path)


def _field(values, name, kind, place, *default, **named_default):
  return files.field(values, name, kind, place, *default, **named_default)


def _check(values, name, allowed, place, default=None):
  """Raises ValueError if a field has a value that is not allowed."""
  value = values.get(name, default)
  if value not in allowed:
    shown = " or ".join(repr(one) for one in allowed)
    raise ValueError(
      f"{name} ({_shown(value)}) of {place} is not supported; only {shown} is."
    )


def _refuse(what, value, path, allowed):
  if isinstance(value, list):
    value = ", ".join(value) or "none"
  raise ValueError(
    f"{what} ({value}) in {path} is not supported; only {allowed} is."
  )


def _literal(text):
  """Returns the RE2 pattern of a text."""
  return "".join(
    rf"\x{{{ord(c):x}}}" if ord(c) < 128 and not c.isalnum() else c
    for c in text
  )


def _shown(value):
  text = repr(value)
  return text if len(text) <= 60 else f"{text[:60]}..."
