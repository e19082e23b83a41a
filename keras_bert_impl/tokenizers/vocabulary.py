"""The vocabulary of a model, and the normalisation that belongs to it.

`vocab.txt` holds one token per line, the line number is the id (as released
with BERT). `tokenizer_config.json` beside it says how text is normalised before
it is looked up, so that no later command can forget it.
"""

import dataclasses
import functools
import hashlib
import json
import os

import numpy as np
from absl import logging

PAD, UNK, CLS, SEP, MASK = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
SPECIAL_TOKENS = (PAD, UNK, CLS, SEP, MASK)
CONTINUATION_PREFIX = "##"
OPTIONS_FILE = "tokenizer_config.json"

# What `transformers` writes into its file of the same name, besides our keys.
_FOREIGN_MARKS = frozenset(
  ("tokenizer_class", "model_max_length", "max_len", "tokenizer_file")
)


@dataclasses.dataclass(frozen=True)
class Vocabulary:
  """Tokens by id, with the roles of the special ones.

  Attributes:
    tokens: tuple of V strings, token of each id.
    origin: str, the file it came from, for messages.

  Raises:
    ValueError: if a token is missing, repeated or empty, naming file and line.
  """

  tokens: tuple[str, ...]
  origin: str = "vocabulary"

  def __post_init__(self):
    object.__setattr__(self, "tokens", tuple(self.tokens))
    _check_tokens(self.tokens, self.origin)

  @classmethod
  def load(cls, path):
    """Returns the vocabulary in the file `path` (local or gs://...).

    Raises:
      FileNotFoundError: if there is no such file.
      ValueError: if it is empty, not UTF-8, repeats a token or lacks one of
        the special tokens.
    """
    path = os.fspath(path)
    lines = _decode(_read_bytes(path, "vocab_file"), path).split("\n")
    # strip() and splitting at "\n" only, as the original's load_vocab.
    tokens = [line.strip() for line in lines]
    while tokens and not tokens[-1]:
      tokens.pop()
    return cls(tuple(tokens), path)

  @property
  def size(self):
    """Number of tokens, V."""
    return len(self.tokens)

  @functools.cached_property
  def ids(self):
    """Dict of token to id."""
    return {token: index for index, token in enumerate(self.tokens)}

  @property
  def pad_id(self):
    """Id of [PAD], which fills a batch."""
    return self.ids[PAD]

  @property
  def unk_id(self):
    """Id of [UNK], which stands for a word without pieces."""
    return self.ids[UNK]

  @property
  def cls_id(self):
    """Id of [CLS], the first of every sequence."""
    return self.ids[CLS]

  @property
  def sep_id(self):
    """Id of [SEP], which ends a segment."""
    return self.ids[SEP]

  @property
  def mask_id(self):
    """Id of [MASK], which hides a token from the model."""
    return self.ids[MASK]

  @property
  def special_ids(self):
    """Ids of [PAD], [UNK], [CLS], [SEP] and [MASK], in this order."""
    return tuple(self.ids[token] for token in SPECIAL_TOKENS)

  @functools.cached_property
  def is_continuation(self):
    """Boolean [V]: True where a token continues a word ("##ing")."""
    return np.array(
      [token.startswith(CONTINUATION_PREFIX) for token in self.tokens],
      dtype=np.bool_,
    )

  @functools.cached_property
  def fingerprint(self):
    """SHA-256 of the tokens in order, hex; equal for equal ids."""
    return hashlib.sha256("\n".join(self.tokens).encode("utf-8")).hexdigest()

  def save(self, path):
    """Writes one token per line to `path`, all or nothing."""
    write_atomically(path, "".join(f"{token}\n" for token in self.tokens))


@dataclasses.dataclass(frozen=True)
class TokenizerOptions:
  """How text is normalised before it is looked up in a vocabulary.

  Attributes:
    do_lower_case: bool, lower-case and strip accents.
    compose_hangul: bool, compose (NFC) again after stripping the accents, so
      that Hangul syllables stay whole; no effect without do_lower_case.
  """

  do_lower_case: bool = True
  compose_hangul: bool = False


def load_options(vocab_file):
  """Returns the options stored beside `vocab_file`, or None if there are none.

  A file of the same name as `transformers` writes it is read too: its other
  keys are ignored, unless they ask for another normalisation.

  Raises:
    ValueError: on an unknown key or a value that is not true or false.
  """
  path = _options_path(vocab_file)
  try:
    content = _read_bytes(path, OPTIONS_FILE)
  except FileNotFoundError:
    return None
  try:
    stored = json.loads(_decode(content, path))
  except json.JSONDecodeError as error:
    raise ValueError(f"{path} is not JSON: {error}.") from error
  if not isinstance(stored, dict):
    raise ValueError(f"{path} must hold one JSON object.")
  known = [field.name for field in dataclasses.fields(TokenizerOptions)]
  unknown = sorted(set(stored) - set(known))
  if unknown and not _FOREIGN_MARKS & set(stored):
    raise ValueError(
      f"unknown key {unknown[0]!r} in {path}; known: {', '.join(known)}."
    )
  options = {name: stored[name] for name in known if name in stored}
  for name, value in options.items():
    if not isinstance(value, bool):
      raise ValueError(f"{name} ({value!r}) in {path} must be true or false.")
  options = TokenizerOptions(**options)
  _check_foreign(stored, options, path)
  return options


def resolve_options(vocab_file, do_lower_case=None, compose_hangul=None):
  """Returns the options to use with `vocab_file`.

  Args:
    vocab_file: str, path of the vocabulary.
    do_lower_case: bool, or None for what is stored beside the vocabulary, or
      else the default.
    compose_hangul: as do_lower_case.

  Returns:
    `TokenizerOptions`. A given value wins over a stored one, with a warning.
  """
  stored = load_options(vocab_file)
  options = stored or TokenizerOptions()
  given = {"do_lower_case": do_lower_case, "compose_hangul": compose_hangul}
  given = {name: value for name, value in given.items() if value is not None}
  options = dataclasses.replace(options, **given)
  if stored not in (None, options):
    logging.warning(
      "The vocabulary was made for %s (%s), but is used with %s.",
      stored,
      _options_path(vocab_file),
      options,
    )
  return options


def save_options(vocab_file, options):
  """Writes `options` beside `vocab_file`, all or nothing; returns the path."""
  path = _options_path(vocab_file)
  content = json.dumps(dataclasses.asdict(options), indent=2, sort_keys=True)
  write_atomically(path, content + "\n")
  return path


def write_atomically(path, text):
  """Writes `text` as UTF-8 to `path` by way of a temporary file and a rename.

  A reader sees the old file or the new one; on an error nothing is left over.
  """
  path = os.fspath(path)
  if "://" in path:
    # An object store shows an object only when it is complete.
    with _gfile().GFile(path, "wb") as file:
      file.write(text.encode("utf-8"))
    return
  os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
  temporary = f"{path}.tmp-{os.getpid()}"
  try:
    with open(temporary, "wb") as file:
      file.write(text.encode("utf-8"))
      file.flush()
      os.fsync(file.fileno())
    os.replace(temporary, path)
  finally:
    if os.path.exists(temporary):
      os.remove(temporary)


def _check_tokens(tokens, origin):
  if not tokens:
    raise ValueError(f"{origin} holds no tokens.")
  lines = {}
  for line, token in enumerate(tokens, start=1):
    if not token:
      raise ValueError(f"{origin}, line {line}: empty token.")
    if token in lines:
      raise ValueError(
        f"{origin}, line {line}: {token!r} already stands on line "
        f"{lines[token]}; every token must stand once."
      )
    lines[token] = line
  missing = [token for token in SPECIAL_TOKENS if token not in lines]
  if missing:
    raise ValueError(
      f"{origin} has no {' '.join(missing)}: add it as a line of its own (in "
      "the place of an unused token, so that the other ids stay), or learn a "
      "vocabulary with official_tasks/train_vocabulary.py."
    )


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


def _options_path(vocab_file):
  return os.path.join(os.path.dirname(os.fspath(vocab_file)), OPTIONS_FILE)


def _decode(content, path):
  try:
    return content.decode("utf-8")
  except UnicodeDecodeError as error:
    line = content[: error.start].count(b"\n") + 1
    raise ValueError(f"{path}, line {line}: not UTF-8.") from error


def _read_bytes(path, name):
  missing = FileNotFoundError(f"{name} ({path}) does not exist.")
  if "://" in path:
    if not _gfile().exists(path):
      raise missing
    with _gfile().GFile(path, "rb") as file:
      return file.read()
  try:
    with open(path, "rb") as file:
      return file.read()
  except FileNotFoundError:
    raise missing from None


def _gfile():
  # Late, because local files need no TensorFlow.
  import tensorflow as tf

  return tf.io.gfile
