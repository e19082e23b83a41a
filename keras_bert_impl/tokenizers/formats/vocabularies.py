"""The vocabulary of a model, and the roles of its special tokens.

`special_tokens_map.json` or `tokenizer_config.json` beside it, as
`transformers` writes them, may name the special tokens.
"""

import dataclasses
import functools
import hashlib
import json
import os

import numpy as np

from keras_bert_impl import families, files
from keras_bert_impl.tokenizers.formats import (
  byte_alphabet,
  text_rules,
  tokenizer_json,
  tokenizer_options,
  vocabulary_content,
  vocabulary_files,
)
from keras_bert_impl.tokenizers.formats.vocabulary_files import (
  BYTE_BPE,
  ROLES,
  ROLES_FILE,
  SENTENCEPIECE,
  TOKENIZER_JSON,
  WORD_START,
  WORDPIECE,
)

PAD, UNK, CLS, SEP, MASK = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
SPECIAL_TOKENS = (PAD, UNK, CLS, SEP, MASK)
CONTINUATION_PREFIX = "##"
# Which text of a pair keeps one more token where both are cut to an odd room.
FIRST, LONGER = "first", "longer"

# Names in the published vocabularies; the first that is there has the role
# (XLNet has <s> too, but frames with <cls>).
_ROLE_TOKENS = {
  "pad": (PAD, "<pad>"),
  "unk": (UNK, "<unk>"),
  "cls": (CLS, "<cls>", "<s>"),
  "sep": (SEP, "<sep>", "</s>"),
  "mask": (MASK, "<mask>"),
}


def _id_of(role, meaning):
  """Returns the property that is the id, int, of the token with a role.

  It raises ValueError if the vocabulary has no such token.
  """

  def find(vocabulary):
    if role not in vocabulary.role_ids:
      names = dict(vocabulary.role_names).get(role) or " or ".join(
        _ROLE_TOKENS[role]
      )
      raise ValueError(
        f"{vocabulary.origin} has no {names}, which is needed here: name the "
        f'token of this role in {ROLES_FILE} beside it ("{role}_token"), or use'
        " another vocabulary."
      )
    return vocabulary.role_ids[role]

  return property(find, doc=meaning)


@dataclasses.dataclass(frozen=True)
class Vocabulary:
  """A vocabulary: tokens by id, and the roles of special tokens.

  Special tokens have roles: padding, unknown, begin, end and mask. A vocabulary
  may lack a role; only the functions that need it fail.

  Attributes:
    tokens: tuple of V strings, token of each id.
    origin: str, the file it came from, for messages.
    kind: one of the kinds in `vocabulary_files`.
    role_names: tuple of (role, token), where the usual names do not hold.
    merges: tuple of "left right", the first ones first (BPE).
    model: bytes, the whole file (SentencePiece).
    rules: `text_rules.TextRules`, what a tokenizer.json says besides; None for
      the other files, whose texts are treated as the options say.
    is_listed: bool, whether a file beside the model says the ids of its pieces.
    target_model: bytes, the whole file for texts to be written (Marian).

  Raises:
    ValueError: if a token is missing, repeated or empty, naming file and line.
  """

  tokens: tuple[str, ...]
  origin: str = "vocabulary"
  kind: str = WORDPIECE
  role_names: tuple[tuple[str, str], ...] = ()
  merges: tuple[str, ...] = dataclasses.field(default=(), repr=False)
  model: bytes = dataclasses.field(default=b"", repr=False)
  rules: text_rules.TextRules | None = None
  is_listed: bool = False
  target_model: bytes = dataclasses.field(default=b"", repr=False)

  def __post_init__(self):
    object.__setattr__(self, "tokens", tuple(self.tokens))
    _check_tokens(self)

  @classmethod
  def load(cls, path, merges_file=None, family=None):
    """Returns the vocabulary at `path` (local or gs://...).

    Args:
      path: as of `vocabulary_files.find`, the name of the file says its kind;
        or a `Vocabulary`, which is returned as it is.
      merges_file: str, of byte-level BPE; default: the one beside `path`.
      family: str, which says the ids of the pieces of a SentencePiece model and
        the names of special tokens; default: `VocabularyFile.family`.

    Raises:
      FileNotFoundError: if there is no such file.
      ValueError: if it is empty, not of its kind, repeats a token or, for
        WordPiece, lacks one of the special tokens; of a tokenizer.json, [UNK].
    """
    if isinstance(path, cls):
      return path
    file = vocabulary_files.find(path)
    path, kind = os.fspath(file), file.form
    if kind == TOKENIZER_JSON:
      return _load_tokenizer_json(cls, file)
    family = families.FAMILIES[family or file.family or families.DEFAULT]
    rules = {}
    if kind == BYTE_BPE:
      ids = files.read_json(path, name="vocab_file")
      by_id = vocabulary_content.by_id(ids, path)
      tokens = vocabulary_content.in_order(by_id, path)
      merges_file = os.fspath(merges_file or vocabulary_files.merges_path(path))
      merges = files.read_text(merges_file, "merges_file")
      rules["merges"] = vocabulary_content.merges(merges, merges_file, tokens)
    elif kind == SENTENCEPIECE:
      content = files.read_bytes(path, "vocab_file")
      pieces = files.parse_pieces(content, path)
      listed = file.listed_pieces
      tokens = listed or family.piece_tokens(pieces)
      tokens = [*dict.fromkeys([*tokens, *file.sentinels])]
      rules["is_listed"] = bool(listed)
      rules["model"], rules["target_model"] = content, file.target_model
    else:
      text = files.read_text(path, "vocab_file")
      tokens = vocabulary_content.lines(text)
    names = {r: t for r, t in family.special_tokens.items() if t in tokens}
    names |= _load_role_names(file)
    return cls(tuple(tokens), path, kind, tuple(sorted(names.items())), **rules)

  def __fspath__(self):
    """Returns the path of the file that it came from."""
    return self.origin

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

  pad_id = _id_of("pad", "Id of [PAD] or <pad>, which fills a batch.")
  unk_id = _id_of("unk", "Id of [UNK], which replaces text without pieces.")
  cls_id = _id_of("cls", "Id of [CLS] or <s>, the first of every sequence.")
  sep_id = _id_of("sep", "Id of [SEP] or </s>, which ends a segment.")
  mask_id = _id_of("mask", "Id of [MASK], which hides a token from the model.")

  def frame_ids(self, framing):
    """Returns {role: id} of the special tokens of a `Framing`.

    Raises:
      ValueError: as `cls_id` and `sep_id`.
    """
    return {role: getattr(self, f"{role}_id") for role in framing.roles}

  def framing(self, family=None):
    """Returns the `Framing` of texts: its own, or that of a family.

    Without either it is BERT's, as far as there are special tokens for it: T5
    and GPT-2 have no [CLS].

    Args:
      family: str, a key of `families.FAMILIES`, or None.
    """
    own = self.rules.framing if self.rules else None
    usual = families.FAMILIES[family or families.DEFAULT].framing
    begin, end = (role in self.role_ids for role in ("cls", "sep"))
    if own or family or (begin and end):
      return own or usual
    return dataclasses.replace(usual, segments=False, begin=begin, end=end)

  @property
  def odd_token(self):
    """FIRST, as in the original; LONGER, as in the `tokenizers` library.

    With a tokenizer.json the longer text has it, B if both are equally long.
    """
    return LONGER if self.rules else FIRST

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
  def textless_ids(self):
    """Ids of the tokens that no text has: with a role, or T5's for spans."""
    return tuple(dict.fromkeys((*self.special_ids, *mark_ids(self))))

  @functools.cached_property
  def is_continuation(self):
    """Boolean [V]: True where a token continues a word.

    In WordPiece these begin with "##"; in the other kinds they lack the space
    mark ("Ġ", "▁"), so a comma belongs to the word before it; of kinds without
    marks, each token is a word. Special tokens
    continue no word, except SentencePiece's <unk>, the unknown part of a word.
    """
    blank = byte_alphabet.BLANK if self.kind == BYTE_BPE else WORD_START
    if self.kind == WORDPIECE:
      continues = [t.startswith(CONTINUATION_PREFIX) for t in self.tokens]
    elif any(token.startswith(blank) for token in self.tokens):
      continues = [not token.startswith(blank) for token in self.tokens]
    else:
      continues = [self.kind in (BYTE_BPE, SENTENCEPIECE)] * self.size
    for token in self.rules.added_tokens if self.rules else ():
      continues[token.index] = False
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
    digest.update(self.target_model)
    if self.rules:
      digest.update(repr(self.rules).encode("utf-8"))
      later = text_rules.later_fields(self.rules)
      digest.update(repr(later).encode("utf-8") if any(later) else b"")
    return digest.hexdigest()

  def save(self, path):
    """Writes the vocabulary to `path` atomically.

    What else belongs to it is written before it: the merges beside a
    vocab.json, the names of special tokens that are not the usual ones.

    Raises:
      ValueError: if the name of `path` is that of another kind.
    """
    form = TOKENIZER_JSON if self.rules else self.kind
    if vocabulary_files.format_of(path) != form:
      raise ValueError(
        f"{os.fspath(path)} cannot hold the vocabulary of {self.origin}: name "
        f"it like {file_name(self)}."
      )
    if self.role_names:
      names = {f"{role}_token": token for role, token in self.role_names}
      files.write_json(
        vocabulary_files.beside(path, ROLES_FILE), dict(sorted(names.items()))
      )
    content = lines = "".join(f"{token}\n" for token in self.tokens)
    if self.rules:
      content = self.rules.content
    elif self.kind == SENTENCEPIECE:
      content = self.model
      beside = {}
      if self.target_model:
        name = vocabulary_files.FILE_NAMES[BYTE_BPE]
        beside[name] = json.dumps(self.ids, ensure_ascii=False) + "\n"
        beside[vocabulary_files.TARGET_MODEL] = self.target_model
      elif self.is_listed:
        beside[vocabulary_files.FILE_NAMES[WORDPIECE]] = lines
      for name, text in beside.items():
        files.write_atomically(vocabulary_files.beside(path, name), text)
    elif self.kind == BYTE_BPE:
      content = json.dumps(self.ids, ensure_ascii=False) + "\n"
      merges = "\n".join(["#version: 0.2", *self.merges, ""])
      files.write_atomically(vocabulary_files.merges_path(path), merges)
    files.write_atomically(path, content)


def of_targets(vocabulary):
  """Returns the `Vocabulary` of texts to be written, or None: the same."""
  model = vocabulary.target_model
  if model in (b"", vocabulary.model):
    return None
  return dataclasses.replace(vocabulary, model=model)


def mark_ids(vocabulary):
  """Returns the ids of what is no text in one: masks, sentinels, languages.

  Sentinels are those of T5, languages those of Marian, as ">>kor<<".

  Args:
    vocabulary: `Vocabulary`.
  """
  mask = [i for role, i in vocabulary.role_ids.items() if role == "mask"]
  starts = (
    vocabulary_files.SENTINEL,
    *([">>"] * bool(vocabulary.target_model)),
  )
  tokens = enumerate(vocabulary.tokens)
  return (*mask, *(index for index, t in tokens if t.startswith(starts)))


def find(path, default_family=None, **given):
  """Returns the `Vocabulary` at a path, and the options to use with it.

  Args and errors: as of `tokenizer_options.resolve` and `Vocabulary.load`.
  """
  file = vocabulary_files.find(path)
  options = tokenizer_options.resolve(file, default_family, **given)
  return Vocabulary.load(file, family=options.family), options


def file_name(vocabulary):
  """Returns the name of the file of a `Vocabulary` in a folder of a model."""
  if vocabulary.rules:
    return vocabulary_files.TOKENIZER_JSON
  if vocabulary.target_model:
    return vocabulary_files.SOURCE_MODEL
  return vocabulary_files.FILE_NAMES[vocabulary.kind]


def _load_tokenizer_json(cls, file):
  """Returns the `Vocabulary` in a tokenizer.json.

  What it says of special tokens goes before what files beside it say.
  """
  fields, usual, named = tokenizer_json.read(file)
  beside = _load_role_names(file).items()
  beside = {role: t for role, t in beside if t in fields["tokens"]}
  names = usual | beside | named
  origin = os.fspath(file)
  return cls(origin=origin, role_names=tuple(sorted(names.items())), **fields)


def _check_tokens(vocabulary):
  tokens, origin = vocabulary.tokens, vocabulary.origin
  if not tokens:
    raise ValueError(
      f"{origin} has no tokens: check that it is the right file and complete."
    )
  # A unigram model in a tokenizer.json may have a piece twice.
  lines = {}
  for line, token in enumerate(tokens, start=1):
    if not token:
      raise ValueError(
        f"{origin}, line {line} is empty: every line must have a token."
      )
    if "\0" in token:
      raise ValueError(
        f"{origin}, line {line}: {token[:40]!r} has a NUL character, which no "
        "text has: give a vocabulary file."
      )
    if token in lines and vocabulary.kind != SENTENCEPIECE:
      raise ValueError(
        f"{origin}, line {line}: {token!r} is on line {lines[token]} too, but "
        "every token must be unique."
      )
    lines[token] = line
  if vocabulary.kind != WORDPIECE:
    return
  # A tokenizer.json may be that of a model which frames no texts.
  needed = ("unk",) if vocabulary.rules else ROLES
  named = dict(vocabulary.role_names)
  missing = [
    named.get(role, _ROLE_TOKENS[role][0])
    for role in needed
    if role not in vocabulary.role_ids
  ]
  if missing:
    raise ValueError(
      f"{origin} has no {' '.join(missing)}: add it as a line of its own (in "
      "the place of an unused token, so that the other ids stay), or learn a "
      "vocabulary with official_tasks/train_vocabulary.py."
    )


def _load_role_names(file):
  """Returns {role: token} that files beside a `VocabularyFile` name."""
  names = {}
  for name in (file.options_name, ROLES_FILE):
    stored = file.folder.find_json(name) or {}
    for role in ROLES:
      token = stored.get(f"{role}_token")
      # `transformers` writes a token or a dict with more about it.
      if isinstance(token, dict):
        token = token.get("content")
      if isinstance(token, str):
        names[role] = token
      elif token is not None:
        path = file.folder.join(name)
        raise ValueError(f"{role}_token ({token!r}) in {path} must be a token.")
  return names
