"""The vocabulary of a model, and the options of its tokenizer.

`tokenizer_config.json` beside the vocabulary stores how text is normalised, and
the family of models whose framing sequences have, so that later commands use
the same. That file and `special_tokens_map.json`, as `transformers` writes
them, may also name the special tokens.
"""

import dataclasses
import functools
import hashlib
import json
import os

import numpy as np
from absl import logging

from keras_bert_impl import families, files
from keras_bert_impl.families import albert
from keras_bert_impl.tokenizers import byte_alphabet, vocabulary_files
from keras_bert_impl.tokenizers.vocabulary_files import (
  BYTE_BPE,
  OPTIONS_FILE,
  ROLES_FILE,
  SENTENCEPIECE,
  WORDPIECE,
)

PAD, UNK, CLS, SEP, MASK = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
SPECIAL_TOKENS = (PAD, UNK, CLS, SEP, MASK)
CONTINUATION_PREFIX = "##"
# Stands for the blank in SentencePiece.
WORD_START = "\u2581"

ROLES = ("pad", "unk", "cls", "sep", "mask")
# What the published vocabularies call them; the first that is there has the
# role (XLNet has <s> too, but frames with <cls>).
_ROLE_TOKENS = {
  "pad": (PAD, "<pad>"),
  "unk": (UNK, "<unk>"),
  "cls": (CLS, "<cls>", "<s>"),
  "sep": (SEP, "<sep>", "</s>"),
  "mask": (MASK, "<mask>"),
}

# What `transformers` writes into its file of the same name, besides our keys.
_FOREIGN_MARKS = frozenset(
  ("tokenizer_class", "model_max_length", "max_len", "tokenizer_file")
)
# Of a model; they may say of which family it is.
_MODEL_FILES = ("config.json", "bert_config.json")


@dataclasses.dataclass(frozen=True)
class Vocabulary:
  """A vocabulary: tokens by id, and the roles of special tokens.

  Which token pads, stands for the unknown, begins, ends and hides is asked for
  by role; a vocabulary without a role can do whatever does not need it.

  Attributes:
    tokens: tuple of V strings, token of each id.
    origin: str, the file it came from, for messages.
    kind: one of the kinds in `vocabulary_files`.
    role_names: tuple of (role, token), where the usual names do not hold.
    merges: tuple of "left right", the first ones first (byte-level BPE).
    model: bytes, the whole file (SentencePiece).

  Raises:
    ValueError: if a token is missing, repeated or empty, naming file and line.
  """

  tokens: tuple[str, ...]
  origin: str = "vocabulary"
  kind: str = WORDPIECE
  role_names: tuple[tuple[str, str], ...] = ()
  merges: tuple[str, ...] = dataclasses.field(default=(), repr=False)
  model: bytes = dataclasses.field(default=b"", repr=False)

  def __post_init__(self):
    object.__setattr__(self, "tokens", tuple(self.tokens))
    _check_tokens(self)

  @classmethod
  def load(cls, path, merges_file=None, family=None):
    """Returns the vocabulary in the file `path` (local or gs://...).

    Args:
      path: str, a file whose name says its kind; see `vocabulary_files`.
      merges_file: str, of byte-level BPE; default: the one beside `path`.
      family: str, whose ids the pieces of a SentencePiece model have; default:
        as `find_family`.

    Raises:
      FileNotFoundError: if there is no such file.
      ValueError: if it is empty, not of its kind, repeats a token or, for
        WordPiece, lacks one of the special tokens.
    """
    path = os.fspath(path)
    kind = vocabulary_files.kind_of(path)
    content = files.read_bytes(path, "vocab_file")
    rules = {}
    if kind == BYTE_BPE:
      tokens = vocabulary_files.parse_ids(content, path)
      merges_file = os.fspath(merges_file or vocabulary_files.merges_path(path))
      merges = files.read_bytes(merges_file, "merges_file")
      rules["merges"] = vocabulary_files.parse_merges(
        merges, merges_file, tokens
      )
    elif kind == SENTENCEPIECE:
      family = families.FAMILIES[
        family or find_family(path) or families.DEFAULT
      ]
      tokens = family.piece_tokens(files.parse_pieces(content, path))
      rules["model"] = content
    else:
      tokens = vocabulary_files.parse_lines(content, path)
    return cls(tuple(tokens), path, kind, _load_role_names(path), **rules)

  @property
  def size(self):
    """Number of tokens, V."""
    return len(self.tokens)

  @functools.cached_property
  def ids(self):
    """Dict of token to id."""
    return {token: index for index, token in enumerate(self.tokens)}

  @functools.cached_property
  def role_ids(self):
    """Dict of role to id, of the roles that exist, in the order of `ROLES`."""
    candidates = _ROLE_TOKENS | {r: (token,) for r, token in self.role_names}
    found = {}
    for role in ROLES:
      ids = [self.ids[t] for t in candidates[role] if t in self.ids]
      if ids:
        found[role] = ids[0]
    return found

  @property
  def pad_id(self):
    """Id of [PAD] or <pad>, which fills a batch."""
    return _role_id(self, "pad")

  @property
  def unk_id(self):
    """Id of [UNK] or <unk>, which stands for text without pieces."""
    return _role_id(self, "unk")

  @property
  def cls_id(self):
    """Id of [CLS] or <s>, the first of every sequence."""
    return _role_id(self, "cls")

  @property
  def sep_id(self):
    """Id of [SEP] or </s>, which ends a segment."""
    return _role_id(self, "sep")

  @property
  def mask_id(self):
    """Id of [MASK] or <mask>, which hides a token from the model."""
    return _role_id(self, "mask")

  @property
  def mask_token(self):
    """The token of `mask_id`."""
    return self.tokens[self.mask_id]

  @property
  def special_ids(self):
    """Ids of the tokens with a role, of those there, in the order of `ROLES`.

    For BERT: [PAD], [UNK], [CLS], [SEP] and [MASK].
    """
    return tuple(self.role_ids.values())

  @functools.cached_property
  def is_continuation(self):
    """Boolean [V]: True where a token continues a word.

    "##ing" in WordPiece; in the other kinds whatever does not begin with the
    sign of a blank ("Ġ", "▁"), so that a comma belongs to the word before it.
    A special token continues none, but for SentencePiece's <unk>: it is what
    could not be read of a word.
    """
    if self.kind == WORDPIECE:
      continues = [t.startswith(CONTINUATION_PREFIX) for t in self.tokens]
    else:
      blank = byte_alphabet.BLANK if self.kind == BYTE_BPE else WORD_START
      continues = [not token.startswith(blank) for token in self.tokens]
    for role, index in self.role_ids.items():
      continues[index] = role == "unk" and self.kind == SENTENCEPIECE
    return np.array(continues, dtype=np.bool_)

  @functools.cached_property
  def fingerprint(self):
    """SHA-256, hex, of everything that decides the ids of a text."""
    digest = hashlib.sha256("\n".join(self.tokens).encode("utf-8"))
    if self.merges:
      digest.update("\n".join(["", "", *self.merges]).encode("utf-8"))
    digest.update(self.model)
    return digest.hexdigest()

  def save(self, path):
    """Writes the vocabulary to `path` atomically.

    What else belongs to it is written before it: the merges beside a
    vocab.json, the names of special tokens that are not the usual ones.

    Raises:
      ValueError: if the name of `path` is that of another kind.
    """
    if vocabulary_files.kind_of(path) != self.kind:
      raise ValueError(
        f"{os.fspath(path)} cannot hold the vocabulary of {self.origin}: name "
        f"it like {vocabulary_files.FILE_NAMES[self.kind]}."
      )
    if self.role_names:
      names = {f"{role}_token": token for role, token in self.role_names}
      files.write_atomically(
        vocabulary_files.beside(path, ROLES_FILE), _to_json(names)
      )
    if self.kind == SENTENCEPIECE:
      files.write_atomically(path, self.model)
    elif self.kind == BYTE_BPE:
      lines = ["#version: 0.2", *self.merges, ""]
      files.write_atomically(
        vocabulary_files.merges_path(path), "\n".join(lines)
      )
      files.write_atomically(
        path, json.dumps(self.ids, ensure_ascii=False) + "\n"
      )
    else:
      files.write_atomically(
        path, "".join(f"{token}\n" for token in self.tokens)
      )


def _family():
  """Returns the dataclass field; options are alike that normalise alike."""
  return dataclasses.field(default=None, compare=False)


@dataclasses.dataclass(frozen=True)
class TokenizerOptions:
  """Options of a WordPiece tokenizer: how text is normalised.

  Attributes:
    do_lower_case: bool, lower-case and strip accents.
    compose_hangul: bool, compose (NFC) again after stripping the accents, so
      that Hangul syllables stay whole; no effect without do_lower_case.
    family: str, a key of `families.FAMILIES` whose framing sequences have; None
      where nothing says it: BERT's.
  """

  do_lower_case: bool = True
  compose_hangul: bool = False
  family: str | None = _family()


@dataclasses.dataclass(frozen=True)
class BytePairOptions:
  """Options of a byte-level BPE tokenizer, which normalises nothing.

  Attributes:
    add_prefix_space: bool, put a blank before a text that has none, so that its
      first word is the token it is elsewhere.
    family: as `TokenizerOptions`.
  """

  add_prefix_space: bool = False
  family: str | None = _family()


@dataclasses.dataclass(frozen=True)
class SentencePieceOptions:
  """Options of a SentencePiece tokenizer, whose model normalises text too.

  The defaults leave everything to the model: the ids are those of the
  `sentencepiece` library. ALBERT's are do_lower_case=True, keep_accents=False,
  remove_space=True.

  Attributes:
    do_lower_case: bool, lower-case.
    keep_accents: bool, False decomposes (NFKD) and strips what combines.
    remove_space: bool, make each stretch of white space one blank, take it off
      the ends, and make `` and '' the quotation mark ".
    compose_hangul: bool, compose (NFC) again after stripping the accents, so
      that Hangul syllables stay whole; no effect with keep_accents.
    split_digit_commas: bool, take "9," apart although it is a piece, as the
      original ALBERT and XLNet do and `transformers`' fast tokenizers do not.
    family: as `TokenizerOptions`.
  """

  do_lower_case: bool = False
  keep_accents: bool = True
  remove_space: bool = False
  compose_hangul: bool = False
  split_digit_commas: bool = False
  family: str | None = _family()


_OPTIONS = {
  WORDPIECE: TokenizerOptions,
  BYTE_BPE: BytePairOptions,
  SENTENCEPIECE: SentencePieceOptions,
}


def load_options(vocab_file):
  """Returns the options stored beside `vocab_file`, or None without any.

  A file of the same name as `transformers` writes it is read too: its other
  keys are ignored, unless they ask for another normalisation, and what it
  leaves out is as there.

  Raises:
    ValueError: on an unknown key, family or a value that is not true or false.
  """
  path = _options_path(vocab_file)
  stored = files.find_json(path)
  if stored is None:
    return None
  kind = vocabulary_files.kind_of(vocab_file)
  known = _option_names(kind)
  is_foreign = bool(_FOREIGN_MARKS & set(stored))
  named = {f"{role}_token" for role in ROLES}
  unknown = sorted(set(stored) - set(known) - named)
  if unknown and not is_foreign:
    raise ValueError(
      f"unknown key {unknown[0]!r} in {path}; known: {', '.join(known)}."
    )
  family = find_family(vocab_file)
  values = _foreign_defaults(kind, stored, family) if is_foreign else {}
  values |= {name: stored[name] for name in known if name in stored}
  values.pop("family", None)
  for name, value in values.items():
    if not isinstance(value, bool):
      raise ValueError(f"{name} ({value!r}) in {path} must be true or false.")
  options = _OPTIONS[kind](**values, family=family)
  if kind == WORDPIECE:
    _check_foreign(stored, options, path)
  return options


def find_family(vocab_file):
  """Returns the family named by files beside a vocabulary, or None.

  tokenizer_config.json may name it itself or by its class in `transformers`;
  otherwise config.json or bert_config.json may say what the model is.

  Returns:
    str, a key of `families.FAMILIES`.

  Raises:
    ValueError: tokenizer_config.json names an unknown family.
  """
  path = _options_path(vocab_file)
  stored = files.find_json(path) or {}
  if stored.get("family") is not None:
    return _check_family(stored["family"], f" in {path}")
  stem = str(stored.get("tokenizer_class"))
  stem = stem.removesuffix("Fast").removesuffix("Tokenizer")
  for family in families.FAMILIES.values():
    if stem == family.class_stem:
      return family.name
  for name in _MODEL_FILES:
    model = files.find_json(vocabulary_files.beside(vocab_file, name)) or {}
    if model.get("model_type") in [*families.FAMILIES]:
      return model["model_type"]
  return None


def resolve_options(vocab_file, default_family=None, **given):
  """Returns the options to use with `vocab_file`.

  Args:
    vocab_file: str, path of the vocabulary.
    default_family: str, where neither `given` nor a file names a family: that
      of the model the options are for.
    **given: options by name; None stands for what is stored beside the
      vocabulary, or else the default.

  Returns:
    `TokenizerOptions`, `BytePairOptions` or `SentencePieceOptions`, as the name
    of the file says. A given value wins over a stored one, with a warning.

  Raises:
    ValueError: if the tokenizer of this file has no such option, or there is no
      such family.
  """
  kind = vocabulary_files.kind_of(vocab_file)
  given = {name: value for name, value in given.items() if value is not None}
  for name in given:
    if name not in _option_names(kind):
      raise ValueError(
        f"{name} is no option for {os.fspath(vocab_file)} ({kind}), which has "
        f"{', '.join(_option_names(kind))}."
      )
  if "family" in given:
    _check_family(given["family"])
  stored = load_options(vocab_file)
  default = _OPTIONS[kind](family=find_family(vocab_file))
  options = dataclasses.replace(stored or default, **given)
  if options.family is None:
    options = dataclasses.replace(options, family=default_family)
  if stored not in (None, options):
    logging.warning(
      "The vocabulary was made for %s (%s), but is used with %s.",
      stored,
      _options_path(vocab_file),
      options,
    )
  return options


def save_options(vocab_file, options):
  """Writes `options` atomically beside `vocab_file`; returns the path."""
  path = _options_path(vocab_file)
  files.write_atomically(path, _to_json(dataclasses.asdict(options)))
  return path


def _check_family(name, place=""):
  if name not in [*families.FAMILIES]:
    raise ValueError(
      f"family ({name!r}){place} must be one of {', '.join(families.FAMILIES)}."
    )
  return name


def _role_id(vocabulary, role):
  """Returns the id of the token with a role, int.

  Raises:
    ValueError: the vocabulary has no such token.
  """
  if role not in vocabulary.role_ids:
    names = dict(vocabulary.role_names).get(role) or " or ".join(
      _ROLE_TOKENS[role]
    )
    raise ValueError(
      f"{vocabulary.origin} has no {names}, which is needed here: name the "
      f'token of this role in {ROLES_FILE} beside it ("{role}_token"), or use '
      "another vocabulary."
    )
  return vocabulary.role_ids[role]


def _check_tokens(vocabulary):
  tokens, origin = vocabulary.tokens, vocabulary.origin
  if not tokens:
    raise ValueError(f"{origin} holds no tokens.")
  # In the other kinds of file a token cannot stand twice.
  lines = {}
  for line, token in enumerate(tokens, start=1):
    if not token:
      raise ValueError(f"{origin}, line {line}: empty token.")
    if "\0" in token:
      raise ValueError(
        f"{origin}, line {line}: {token[:40]!r} holds a zero character, which "
        "no text has: is it a vocabulary?"
      )
    if token in lines:
      raise ValueError(
        f"{origin}, line {line}: {token!r} already stands on line "
        f"{lines[token]}; every token must stand once."
      )
    lines[token] = line
  if vocabulary.kind != WORDPIECE:
    return
  named = dict(vocabulary.role_names)
  missing = [
    named.get(role, _ROLE_TOKENS[role][0])
    for role in ROLES
    if role not in vocabulary.role_ids
  ]
  if missing:
    raise ValueError(
      f"{origin} has no {' '.join(missing)}: add it as a line of its own (in "
      "the place of an unused token, so that the other ids stay), or learn a "
      "vocabulary with official_tasks/train_vocabulary.py."
    )


def _load_role_names(vocab_file):
  """Returns ((role, token), ...) as named in files beside `vocab_file`."""
  names = {}
  for name in (OPTIONS_FILE, ROLES_FILE):
    path = vocabulary_files.beside(vocab_file, name)
    stored = files.find_json(path) or {}
    for role in ROLES:
      token = stored.get(f"{role}_token")
      # `transformers` writes a token or a dict with more about it.
      if isinstance(token, dict):
        token = token.get("content")
      if isinstance(token, str):
        names[role] = token
      elif token is not None:
        raise ValueError(f"{role}_token ({token!r}) in {path} must be a token.")
  return tuple(sorted(names.items()))


def _foreign_defaults(kind, stored, family):
  """Returns the options that `transformers` leaves out when they are these."""
  if kind != SENTENCEPIECE:
    return {}
  usual = albert.FAMILY.sentencepiece_options
  # No family here, but its vocabularies can be read.
  if str(stored.get("tokenizer_class")).startswith("XLNet"):
    return usual | {"do_lower_case": False}
  options = family and families.FAMILIES[family].sentencepiece_options
  return usual if options is None else options


def _check_foreign(stored, options, path):
  for name, ours in (
    ("strip_accents", options.do_lower_case),
    ("tokenize_chinese_chars", True),
  ):
    if stored.get(name, ours) not in (ours, None):
      raise ValueError(
        f"{name} ({stored[name]!r}) in {path} is not supported with "
        f"do_lower_case={options.do_lower_case}; only {ours} is."
      )


def _option_names(kind):
  return [field.name for field in dataclasses.fields(_OPTIONS[kind])]


def _options_path(vocab_file):
  return vocabulary_files.beside(vocab_file, OPTIONS_FILE)


def _to_json(values):
  return json.dumps(values, indent=2, sort_keys=True) + "\n"
