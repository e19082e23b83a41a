"""Options of tokenizers, stored in `tokenizer_config.json`.

The file is beside the vocabulary. It has the text normalisation and the model
family, which decides the framing of sequences, so that later commands use the
same. It names its vocabulary; of several in a folder it is that of the last one
written, and the others have theirs in "<vocabulary>.tokenizer_config.json".
"""

import dataclasses
import os

from absl import logging

from keras_bert_impl import families, files
from keras_bert_impl.checkpoints.descriptions import keras_hub_tokenizer
from keras_bert_impl.families import albert
from keras_bert_impl.tokenizers.formats import vocabulary_files
from keras_bert_impl.tokenizers.formats.vocabulary_files import (
  BYTE_BPE,
  OPTIONS_FILE,
  ROLES,
  SENTENCEPIECE,
  WORDPIECE,
)

# Keys that `transformers` writes into its file of the same name.
_FOREIGN_MARKS = frozenset(
  (
    "tokenizer_class",
    "model_max_length",
    "max_len",
    "tokenizer_file",
    "vocab_type",
  )
)
# Options of `transformers` that are not supported here, and why.
_BY_PUNCTUATION = {"split_by_punct": ""}
_REFUSED = dict.fromkeys((WORDPIECE, BYTE_BPE, SENTENCEPIECE), _BY_PUNCTUATION)
_REFUSED[vocabulary_files.TOKENIZER_JSON] = {
  "split_special_tokens": ": special tokens are found in texts"
}
# The files of a model that may say of which family it is.
_MODEL_FILES = ("config.json", "bert_config.json")


def _family():
  """Returns the dataclass field; options are alike that normalise alike."""
  return dataclasses.field(default=None, compare=False)


@dataclasses.dataclass(frozen=True)
class WordPieceOptions:
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
class TokenizerJsonOptions:
  """Options of a tokenizer.json, which says itself how text is normalised.

  Attributes:
    family: as `WordPieceOptions`, where the file does not say the framing.
  """

  family: str | None = _family()


@dataclasses.dataclass(frozen=True)
class BytePairOptions:
  """Options of a byte-level BPE tokenizer, which normalises nothing.

  Attributes:
    add_prefix_space: bool, put a blank before a text that has none, so that its
      first word is the token it is elsewhere.
    family: as `WordPieceOptions`.
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
    family: as `WordPieceOptions`.
  """

  do_lower_case: bool = False
  keep_accents: bool = True
  remove_space: bool = False
  compose_hangul: bool = False
  split_digit_commas: bool = False
  family: str | None = _family()


_OPTIONS = {
  vocabulary_files.TOKENIZER_JSON: TokenizerJsonOptions,
  WORDPIECE: WordPieceOptions,
  BYTE_BPE: BytePairOptions,
  SENTENCEPIECE: SentencePieceOptions,
}


def find_family(vocab_file):
  """Returns the family named by files beside a vocabulary, or None.

  tokenizer_config.json may name it itself or by its class in `transformers`;
  otherwise config.json or bert_config.json may say what the model is.

  Returns:
    str, a key of `families.FAMILIES`.

  Raises:
    ValueError: tokenizer_config.json names an unknown family.
  """
  return _beside(vocab_file)[-1]


def resolve(vocab_file, default_family=None, **given):
  """Returns the options to use with `vocab_file`.

  Args:
    vocab_file: str, path of the vocabulary.
    default_family: str, family of the model, used if neither `given` nor a file
      names one.
    **given: options by name; None means the value stored beside the vocabulary,
      or the default.

  Returns:
    `WordPieceOptions`, `BytePairOptions` or `SentencePieceOptions`, by the name
    of the file. A given value replaces a stored one, with a warning.

  Raises:
    ValueError: the tokenizer of this file does not have the option, or the
      family is unknown.
  """
  kind = vocabulary_files.format_of(vocab_file)
  given = {name: value for name, value in given.items() if value is not None}
  for name in given:
    if name not in _option_names(kind):
      raise ValueError(
        f"{name} is no option for {os.fspath(vocab_file)} ({kind}), which has "
        f"{', '.join(_option_names(kind))}."
      )
  if "family" in given:
    _check_family(given["family"])
  path, values, family = _beside(vocab_file)
  stored = _load(kind, path, values, family)
  named = vocabulary_files.named_vocabulary(path)
  own_name = os.path.basename(os.fspath(vocab_file))
  if kind in vocabulary_files.FILE_NAMES and named not in (None, own_name):
    logging.warning(
      "The options of %s in %s are those of %s: give others by flags, or put"
      " the two into folders of their own.",
      vocab_file,
      path,
      named,
    )
  options = stored or _OPTIONS[kind](family=family)
  options = dataclasses.replace(options, **given)
  if options.family is None:
    options = dataclasses.replace(options, family=default_family)
  if stored not in (None, options):
    logging.warning(
      "The vocabulary was made for %s (%s), but is used with %s.",
      stored,
      path,
      options,
    )
  return options


def save(vocab_file, options, others=None):
  """Writes `options` atomically beside `vocab_file`; returns the path.

  Args:
    vocab_file: str.
    options: as `resolve` returns them.
    others: {key: value} for other programs, or None.

  What is stored of another vocabulary in the folder is put aside.
  """
  vocabulary_files.put_options_aside(vocab_file)
  path = vocabulary_files.beside(vocab_file, OPTIONS_FILE)
  values = dataclasses.asdict(options) | (others or {})
  values[vocabulary_files.VOCABULARY_KEY] = os.path.basename(
    os.fspath(vocab_file)
  )
  files.write_json(path, dict(sorted(values.items())))
  return path


def _beside(vocab_file):
  """Returns the options in files beside a vocabulary, or in its preset.

  Returns:
    (path, values, family): the path of its options; what is there, dict or
    None; the name of its family or None.
  """
  path = vocabulary_files.options_path(vocab_file)
  values = files.find_json(path)
  if values is None:
    values = keras_hub_tokenizer.options(vocab_file)
  named = values or {}
  if named.get("family") is not None:
    return path, values, _check_family(named["family"], f" in {path}")
  stem = str(named.get("tokenizer_class"))
  stem = stem.removesuffix("Fast").removesuffix("Tokenizer")
  for family in families.FAMILIES.values():
    if stem == family.class_stem:
      return path, values, family.name
  for name in _MODEL_FILES:
    model = files.find_json(vocabulary_files.beside(vocab_file, name)) or {}
    if model.get("model_type") in [*families.FAMILIES]:
      return path, values, model["model_type"]
  return path, values, None


def _load(kind, path, stored, family):
  """Returns the options of a kind, or None without any.

  A file of the same name as `transformers` writes it is read too: its other
  keys are ignored, unless they ask for another normalisation, and what it
  leaves out is as there.

  Args:
    kind: str, of the vocabulary.
    path: str, the file, as are the others of `_beside`.
    stored: as of `_beside`.
    family: as of `_beside`.

  Raises:
    ValueError: on an unknown key, or a value that is not true or false.
  """
  if stored is None:
    return None
  for name, reason in _REFUSED.get(kind, {}).items():
    if stored.get(name):
      raise ValueError(
        f"{name} (True) in {path} is not supported; only False is{reason}."
      )
  if kind == vocabulary_files.TOKENIZER_JSON:
    return TokenizerJsonOptions(family)
  known = _option_names(kind)
  is_foreign = bool(_FOREIGN_MARKS & set(stored))
  others = {f"{role}_token" for role in ROLES}
  others.add(vocabulary_files.VOCABULARY_KEY)
  unknown = sorted(set(stored) - set(known) - others)
  if unknown and not is_foreign:
    raise ValueError(
      f"unknown key {unknown[0]!r} in {path}; known: {', '.join(known)}."
    )
  values = _foreign_defaults(kind, family) if is_foreign else {}
  values = values | {name: stored[name] for name in known if name in stored}
  values.pop("family", None)
  for name, value in values.items():
    if not isinstance(value, bool):
      raise ValueError(f"{name} ({value!r}) in {path} must be true or false.")
  options = _OPTIONS[kind](**values, family=family)
  if kind == WORDPIECE:
    _check_foreign(stored, options, path)
  return options


def _check_family(name, place=""):
  if name not in [*families.FAMILIES]:
    raise ValueError(
      f"family ({name!r}){place} must be one of {', '.join(families.FAMILIES)}."
    )
  return name


def _foreign_defaults(kind, family):
  """Returns the options that `transformers` leaves out when they are these."""
  if kind != SENTENCEPIECE:
    return {}
  usual = albert.FAMILY.sentencepiece_options
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
