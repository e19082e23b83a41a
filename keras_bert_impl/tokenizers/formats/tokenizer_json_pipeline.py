"""Reads the steps of a tokenizer.json around its model.

The `tokenizers` library calls them the pipeline: normalizer, pre_tokenizer,
post_processor and decoder.
"""

import base64
import binascii
import itertools
import re

from keras_bert_impl import files
from keras_bert_impl.families import family
from keras_bert_impl.tokenizers.formats import (
  characters,
  piece_model,
  text_rules,
  vocabulary_files,
  word_patterns,
)
from keras_bert_impl.tokenizers.formats.vocabulary_files import (
  BYTE_BPE,
  CHARACTER_BPE,
  SENTENCEPIECE,
  WORD_LEVEL,
  WORDPIECE,
)

# Parts of regular expressions that mean the same in RE2.
_PLAIN_PATTERN = re.compile(r"([^\\.^$(){}+*?]|\\[nrt]|\{\d+,?\d*\}|[+*?])+")
_NONE = type(None)


def check(values, name, allowed, place, default=None):
  """Raises NotInGraphError if a field has a value that is not allowed."""
  value = values.get(name, default)
  if value not in allowed:
    shown = " or ".join(repr(one) for one in allowed)
    raise text_rules.NotInGraphError(
      f"{name} ({files.shown(value)}) of {place} is not supported; only {shown}"
      " is."
    )


# Splitting into words.


def _word_steps(values, path, what, *allowed):
  """Returns the steps of a pre_tokenizer, list, as `_steps`.

  Args:
    values: as of `_steps`.
    path: str.
    what: str, what a message calls it.
    *allowed: str, the names of the steps that it may have.
  """
  steps = list(_steps(values, "pretokenizers", path))
  names = [name for name, _, _ in steps]
  if ", ".join(names) not in allowed:
    _refuse(what, names, path, " or ".join(allowed))
  return steps


# {pre_tokenizer: the steps that put white space between words}.
_SPACED = {
  "BertPreTokenizer": (("set_apart", characters.PUNCTUATION),),
  "Whitespace": (("set_apart", characters.NO_WORDS),),
  "WhitespaceSplit": (("replace", characters.WIDE_SPACE, " "),),
}


def _spaced_words(values, path, what="pre_tokenizer"):
  [(name, _, _)] = _word_steps(values, path, what, *_SPACED)
  return {"words": _SPACED[name]}


def _byte_level_words(values, path):
  what = "pre_tokenizer of BPE"
  allowed = ("ByteLevel", "Split, ByteLevel")
  *split, (_, step, place) = _word_steps(values, path, what, *allowed)
  add_prefix = files.field(step, "add_prefix_space", bool, place)
  check(step, "use_regex", (not split,), place, True)
  if split:
    check(step, "add_prefix_space", (False,), place)
    return {"cuts": _pattern_cuts(*split[0][1:])}
  words = text_rules.prefix(" ") if add_prefix else ()
  return {"add_prefix": add_prefix, "words": words}


def _pattern_cuts(step, place):
  """Returns the steps that cut where a published pattern does."""
  pattern = files.field(step, "pattern", dict, place)
  regex = pattern.get("Regex")
  if regex not in word_patterns.PATTERNS:
    known = ", ".join(f"that of {x}" for x in word_patterns.PATTERNS.values())
    _refuse("pattern", files.shown(regex or pattern), place, known)
  is_removed = step.get("behavior") == "Removed"
  check(step, "behavior", ("Isolated", "Removed"), place)
  check(step, "invert", (is_removed,), place, False)
  return word_patterns.cuts(regex)


def _character_words(values, path):
  steps = list(_steps(values, "pretokenizers", path))
  names = ", ".join(name for name, _, _ in steps)
  if names in _SPACED:
    cuts = (("replace", f"{characters.SPACE}+", text_rules.CUT),)
    rules = {"cuts": cuts, "split_white_space": True}
    return _spaced_words(values, path) | rules
  mark = ("replace", " ", vocabulary_files.WORD_START)
  if "Metaspace" in names:
    rules = _sentence_piece_words(values, path, "pre_tokenizer of BPE")
    start = vocabulary_files.WORD_START.encode("utf-8")
    cut = ("replace", start, text_rules.CUT + start)
    return rules | {"cuts": (mark, *[cut] * rules["split_at_blanks"])}
  if names not in ("", "Split"):
    allowed = ("ByteLevel, Metaspace, Split at ' '", *_SPACED)
    _refuse("pre_tokenizer of BPE", names, path, " or ".join(allowed))
  cuts = ()
  if steps:
    _, step, place = steps[0]
    check(step, "pattern", ({"String": " "},), place)
    check(step, "behavior", ("MergedWithPrevious",), place)
    check(step, "invert", (False,), place, False)
    cuts = (("replace", " ", b" " + text_rules.CUT),)
  return {"cuts": cuts, "split_at_blanks": False}


def _sentence_piece_words(values, path, what="pre_tokenizer of Unigram"):
  allowed = ("Metaspace", "WhitespaceSplit, Metaspace")
  steps = _word_steps(values, path, what, *allowed)
  _, step, place = steps[-1]
  start = vocabulary_files.WORD_START
  check(step, "replacement", (start,), place, start)
  # Older files have a bool.
  usual = files.field(step, "add_prefix_space", bool, place, True)
  scheme = "always" if usual else "never"
  allowed = ("always",) if len(steps) > 1 else ("always", "never")
  check(step, "prepend_scheme", allowed, place, scheme)
  add_prefix = step.get("prepend_scheme", scheme) == "always"
  return {
    "add_prefix": add_prefix,
    "split_white_space": len(steps) > 1,
    "words": text_rules.words_of_pieces(add_prefix, len(steps) > 1),
    "split_at_blanks": files.field(step, "split", bool, place, True),
  }


_PRE_TOKENIZERS = {
  WORDPIECE: _spaced_words,
  WORD_LEVEL: _spaced_words,
  BYTE_BPE: _byte_level_words,
  CHARACTER_BPE: _character_words,
  SENTENCEPIECE: _sentence_piece_words,
}


def text_steps(kind, values, path):
  """Returns the steps around the model, {field of `TextRules`: value}.

  Args:
    kind: str, of the vocabulary.
    values: the values of a tokenizer.json, dict.
    path: str, the file.

  Raises:
    ValueError: a part is damaged; a `NotInGraphError`: is not known.
  """
  return {
    "normalizers": tuple(normalizers(values.get("normalizer"), path)),
    "decoder": _decoder(kind, values.get("decoder"), path),
    **_PRE_TOKENIZERS[kind](values.get("pre_tokenizer"), path),
  }


# Normalisation.

# What NMT deletes and what it makes blanks.
_NMT_DELETED = r"[\x01-\x08\x0b\x0e-\x1f\x7f\x{8f}\x{9f}]"
_NMT_BLANKS = characters.any_of(
  (9, 10, 12, 13, 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581)
  + (0xFEFF, 0xFFFD)
)


def normalizers(values, path):
  """Yields the steps of a normalizer, (name, *arguments)."""
  maps = 0
  for name, step, place in _steps(values, "normalizers", path):
    if name not in _NORMALIZERS:
      _refuse("normalizer", name, path, ", ".join(_NORMALIZERS))
    maps += name == "Precompiled"
    yield from _NORMALIZERS[name](step, place)
  if maps > 1:
    _refuse("normalizer", f"{maps} x Precompiled", path, "one")


def _bert_normalizer(step, place):
  if files.field(step, "clean_text", bool, place, True):
    yield ("clean",)
  if files.field(step, "handle_chinese_chars", bool, place, True):
    yield ("space_chinese",)
  lowercase = files.field(step, "lowercase", bool, place, True)
  strips = files.field(step, "strip_accents", (bool, _NONE), place, None)
  if lowercase if strips is None else strips:
    yield ("unicode", "NFD")
    yield ("strip_nonspacing",)
  if lowercase:
    yield ("lower",)


def _replace(step, place):
  pattern = files.field(step, "pattern", dict, place)
  content = files.field(step, "content", str, place).replace("\\", "\\\\")
  if "String" in pattern:
    text = files.field(pattern, "String", str, f"pattern of {place}")
    if not text:
      raise ValueError(f"pattern of {place} must not be empty.")
    yield ("replace", characters.literal(text), content)
    return
  text = files.field(pattern, "Regex", str, f"pattern of {place}")
  found = text.replace(r"\s", characters.SPACE)
  # Inside of a class of characters it is written otherwise.
  is_plain = _PLAIN_PATTERN.fullmatch(text.replace(r"\s", "s"))
  if not is_plain or re.search(r"\[[^\]]*\\s", text) or "[^" in text:
    raise text_rules.NotInGraphError(
      f"pattern ({text!r}) of {place} is not supported: only characters,"
      " classes of characters, \\s, |, {}, +, * and ? are."
    )
  yield ("replace", found, content)


def _character_map(step, place):
  text = files.field(step, "precompiled_charsmap", (str, _NONE), place)
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
      files.field(step, "strip_left", bool, place, True),
      files.field(step, "strip_right", bool, place, True),
    )
  ],
  "Replace": _replace,
  "Prepend": lambda step, place: [
    ("prepend", files.field(step, "prepend", str, place))
  ],
  "Nmt": lambda step, place: [
    ("replace", _NMT_DELETED, ""),
    ("replace", _NMT_BLANKS, " "),
  ],
  "Precompiled": _character_map,
}


# Decoding.

_USUAL_DECODERS = {
  WORDPIECE: "WordPiece",
  BYTE_BPE: "ByteLevel",
  SENTENCEPIECE: "Metaspace",
}


def _decoder(kind, values, path):
  """Returns the steps of a decoder, as of `TextRules`."""
  steps = list(_steps(values, "decoders", path))
  usual = _USUAL_DECODERS.get(kind)
  if not steps:
    return () if usual else (("spaced",),)
  if [name for name, _, _ in steps] == [usual]:
    return ()
  steps = tuple(_decoder_step(*step, path) for step in steps)
  names = [name for name, *_ in steps]
  after = names[names.index("fuse") + 1 :] if "fuse" in names else []
  if not {"replace", "strip"}.issuperset(after):
    _refuse("decoder after Fuse", after, path, "Replace or Strip")
  return steps


def _decoder_step(name, step, place, path):
  if name == "Replace":
    pattern = files.field(step, "pattern", dict, place)
    text = files.field(pattern, "String", str, f"pattern of {place}")
    return "replace", text, files.field(step, "content", str, place)
  if name == "Strip":
    numbers = (files.field(step, x, int, place) for x in ("start", "stop"))
    return "strip", files.field(step, "content", str, place), *numbers
  if name == "Metaspace":
    start = vocabulary_files.WORD_START
    check(step, "replacement", (start,), place, start)
    usual = files.field(step, "add_prefix_space", bool, place, True)
    scheme = step.get("prepend_scheme", "always" if usual else "never")
    return "metaspace", scheme != "never"
  plain = {"ByteFallback": "byte_fallback", "Fuse": "fuse"}
  if name not in plain:
    known = ("Replace", "Strip", "Metaspace", *plain)
    shown = (*_USUAL_DECODERS.values(), "Sequence", *known)
    _refuse("decoder", name, path, ", ".join(dict.fromkeys(shown)))
  return (plain[name],)


# Framing.

_FRAMINGS = [
  family.Framing(separators, segments, *cls)
  for separators, segments, cls in itertools.product(
    (1, 2), (True, False), ((False,), (True,), (False, False))
  )
] + [
  family.Framing(segments=segments, begin=begin, end=False)
  for segments, begin in itertools.product((True, False), repeat=2)
]


def framing(values, path):
  """Returns the framing of a file and its roles.

  Returns:
    (`Framing` or None, {role: token}).
  """
  steps = [
    step
    for step in _steps(values.get("post_processor"), "processors", path)
    # ByteLevel changes offsets, not ids.
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
    pair = files.field(step, role, list, place)
    files.check_type((pair or [None])[0], str, f"{role} of {place}")
    roles[role] = pair[0]
  if name == "BertProcessing":
    return family.Framing(), roles
  return family.Framing(separators=2, segments=False), roles


def _template_framing(step, place):
  single, pair = (
    [
      _template_entry(entry, place)
      for entry in files.field(step, name, list, place)
    ]
    for name in ("single", "pair")
  )
  named = dict.fromkeys(name for name, _ in single if name != "A")
  for framing in _FRAMINGS:
    for names in itertools.permutations(named, len(framing.roles)):
      named_by = dict(zip(framing.roles, names, strict=True))
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
    " [SEP] between A and B, '[CLS] A [CLS] B', 'A [SEP] B [SEP]' and 'A B',"
    " with segments 0 and 1 or none."
  )


def _template_entry(entry, place):
  """Returns (name of a token or text, its segment)."""
  place = f"an entry of a template of {place}"
  files.check_type(entry, dict, place)
  name = "Sequence" if "Sequence" in entry else "SpecialToken"
  value = files.field(entry, name, dict, place)
  return files.field(value, "id", str, place), files.field(
    value, "type_id", int, place, 0
  )


def _tokens_of(step, roles, place):
  """Returns {role: token} of {role: name in a template}."""
  special = files.field(step, "special_tokens", dict, place)
  tokens = {}
  for role, name in roles.items():
    entry = files.field(special, name, dict, f"special_tokens of {place}")
    several = files.field(entry, "tokens", list, f"{name!r} of {place}")
    if len(several) != 1 or not isinstance(several[0], str):
      raise ValueError(f"{name!r} of {place} must be one token.")
    tokens[role] = several[0]
  return tokens


# Helpers of all parts.


def _steps(values, several, path):
  """Yields (type, object, place) of a part of the file, or of a sequence.

  Args:
    values: the part; None has no steps.
    several: str, what a sequence calls its parts.
    path: str.
  """
  if values is None:
    return
  name = files.field(values, "type", str, path)
  place = f"{name} in {path}"
  if name != "Sequence":
    yield name, values, place
    return
  for value in files.field(values, several, list, place):
    yield from _steps(value, several, path)


def _refuse(what, value, path, allowed):
  if isinstance(value, list):
    value = ", ".join(value) or "none"
  raise text_rules.NotInGraphError(
    f"{what} ({value}) in {path} is not supported; only {allowed} is."
  )
