"""Options of tokenizers, stored in `tokenizer_config.json`.

The file is beside the vocabulary. It has the text normalisation and the model
family, which decides the framing of sequences, so that later commands use the
same. It names its vocabulary; of several in a folder it is that of the last one
written, and the others have theirs in "<vocabulary>.tokenizer_config.json".
"""

import dataclasses
import difflib
import os

from absl import logging

from keras_bert_impl import families, files
from keras_bert_impl import options as options_lib
from keras_bert_impl.families import albert
from keras_bert_impl.tokenizers.formats import vocabulary_files
from keras_bert_impl.tokenizers.formats.vocabulary_files import (
  BYTE_BPE,
  OPTIONS_FILE,
  ROLES,
  SENTENCEPIECE,
  WORDPIECE,
)

# One of these is in every file that is written here.
_OWN_MARKS = frozenset(
  (vocabulary_files.VOCABULARY_KEY, "family", "compose_hangul")
)
# Classes of `transformers` 5 that normalise as the options of BERT say, and
# not as the tokenizer.json does whose vocabulary they read.
_BERT_CLASSES = "Bert DistilBert Electra LayoutLM MobileBert MPNet SqueezeBert"
_MOST_WORD_CHARACTERS = 200
# RE2 counts no further.
_WORD_CHARACTERS = "[1, 1000]"
_FOREIGN_WORD_CHARACTERS = 100
_WORD_LIMIT = "max_input_chars_per_word"
# Options of `transformers` that are not supported here, and why.
_BY_PUNCTUATION = {"split_by_punct": ""}
_REFUSED = dict.fromkeys((WORDPIECE, BYTE_BPE, SENTENCEPIECE), _BY_PUNCTUATION)
_REFUSED[vocabulary_files.TOKENIZER_JSON] = {
  "split_special_tokens": ": special tokens are found in texts"
}
_VERSION = "transformers_version"  # It is in each config.json written there.


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
    strip_accents: bool, strip accents; None where do_lower_case does.
    tokenize_chinese_chars: bool, make each CJK ideograph a word.
    max_input_chars_per_word: int, longer words are [UNK]: 200 in the original,
      100 in `transformers`.

  Raises:
    ValueError: max_input_chars_per_word is out of range.
  """

  do_lower_case: bool = True
  compose_hangul: bool = False
  family: str | None = _family()
  strip_accents: bool | None = None
  tokenize_chinese_chars: bool = True
  max_input_chars_per_word: int = _MOST_WORD_CHARACTERS

  def __post_init__(self):
    most = self.max_input_chars_per_word
    options_lib.check_integers(_WORD_CHARACTERS, max_input_chars_per_word=most)

  @property
  def strips_accents(self):
    """Whether accents are stripped, bool."""
    strips = self.strip_accents
    return self.do_lower_case if strips is None else strips


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


def resolve(vocab_file, default_family=None, **given):
  """Returns the options to use with `vocab_file`.

  Args:
    vocab_file: str, path of the vocabulary; or a `VocabularyFile`.
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
  file = vocabulary_files.find(vocab_file)
  kind, path = file.form, file.options_path
  given = {name: value for name, value in given.items() if value is not None}
  for name in given:
    if name not in _option_names(kind):
      raise ValueError(
        f"{name} is no option for {file} ({kind}), which has "
        f"{', '.join(_option_names(kind))}."
      )
  if "family" in given:
    vocabulary_files.check_family(given["family"])
  family = file.family
  stored = _load(kind, path, file.stored, family)
  is_other = file.named not in (None, file.name)
  if kind in vocabulary_files.FILE_NAMES and is_other:
    logging.warning(
      "The options of %s in %s are those of %s: give others by flags, or put"
      " the two into folders of their own.",
      file,
      path,
      file.named,
    )
  usual = {}
  if kind == WORDPIECE and _VERSION in file.config():
    usual = {_WORD_LIMIT: _FOREIGN_WORD_CHARACTERS}
  options = stored or _OPTIONS[kind](family=family, **usual)
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
  values = stored_values(options) | (others or {})
  values[vocabulary_files.VOCABULARY_KEY] = os.path.basename(
    os.fspath(vocab_file)
  )
  files.write_json(path, dict(sorted(values.items())))
  return path


def stored_values(options):
  """Returns the options to store, dict; the usual values of some go unsaid."""
  unsaid = ("strip_accents", "tokenize_chinese_chars", _WORD_LIMIT)
  return {
    field.name: getattr(options, field.name)
    for field in dataclasses.fields(options)
    if field.name not in unsaid or getattr(options, field.name) != field.default
  }


def of_bert_class(file):
  """Returns how a class of BERT in `transformers` normalises, or None.

  Such a class reads the vocabulary of a tokenizer.json, but normalises as
  tokenizer_config.json beside it says, or else as the original does.

  Args:
    file: `VocabularyFile`, a tokenizer.json.

  Returns:
    `WordPieceOptions`; None where tokenizer_config.json names no such class.
  """
  stored, family, stem = file.stored, file.family, file.class_stem
  if stored is None or _OWN_MARKS & stored.keys():
    return None
  if stem is None and family:
    stem = families.FAMILIES[family].class_stem
  if stem not in _BERT_CLASSES.split():
    return None
  stored = {"tokenizer_class": stem} | stored
  return _load(WORDPIECE, file.options_path, stored, family)


def _load(kind, path, stored, family):
  """Returns the options of a kind, or None without any.

  A file of the same name as `transformers` writes it is read too: its other
  keys are ignored, unless they ask for another normalisation, and what it
  leaves out is as there.

  Args:
    kind: str, of the vocabulary.
    path: str, of the file of options.
    stored: {name: value} in it, or None.
    family: str, of the model, or None.

  Raises:
    ValueError: on a misspelled key, or a value that is not true or false.
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
  is_foreign = _has_foreign_keys(kind, stored, path)
  values = _foreign_defaults(kind, family, stored) if is_foreign else {}
  for name in _option_names(kind):
    if stored.get(name) is not None:
      values[name] = stored[name]
  values.pop("family", None)
  for name, value in values.items():
    if not isinstance(value, bool) and name != _WORD_LIMIT:
      raise ValueError(f"{name} ({value!r}) in {path} must be true or false.")
  return _OPTIONS[kind](**values, family=family)


def _has_foreign_keys(kind, stored, path):
  """Returns whether a file has keys of `transformers`, and checks the others.

  Raises:
    ValueError: all that it has besides options look like options misspelled.
  """
  known = _option_names(kind)
  others = {f"{role}_token" for role in ROLES}
  others.add(vocabulary_files.VOCABULARY_KEY)
  unknown = sorted(set(stored) - set(known) - others)
  near = [x for x in unknown if difflib.get_close_matches(x, known, cutoff=0.8)]
  if near and near == unknown:
    raise ValueError(
      f"unknown key {unknown[0]!r} in {path}; known: {', '.join(known)}."
    )
  return bool(unknown)


def _foreign_defaults(kind, family, stored):
  """Returns the options that `transformers` leaves out when they are these."""
  if kind == WORDPIECE and not _OWN_MARKS & stored.keys():
    return {_WORD_LIMIT: _FOREIGN_WORD_CHARACTERS}
  if kind != SENTENCEPIECE:
    return {}
  usual = albert.FAMILY.sentencepiece_options
  if vocabulary_files.stem_of(stored) in vocabulary_files.PLAIN_STEMS:
    return {}
  options = family and families.FAMILIES[family].sentencepiece_options
  return dict(usual if options is None else options)


def _option_names(kind):
  return [field.name for field in dataclasses.fields(_OPTIONS[kind])]
