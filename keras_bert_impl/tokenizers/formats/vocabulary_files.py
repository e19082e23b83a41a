"""Names and formats of vocabulary files.

The name of the file determines the kind:

  vocab.txt    WordPiece: one token per line, the line number is the id (BERT,
               ELECTRA)
  vocab.json   byte-level BPE: {token: id}, with merges.txt beside it (RoBERTa)
  *.model      SentencePiece (ALBERT); vocab.txt beside it may list its pieces
               by id (KoBERT)
  tokenizer.json  any of these, in the format of the `tokenizers` library, which
               `tokenizer_json` reads

A preset of KerasHub has them in assets/tokenizer, under names of its own.
"""

import dataclasses
import functools
import os
import string

from keras_bert_impl import files
from keras_bert_impl.checkpoints import hub
from keras_bert_impl.checkpoints.descriptions import keras_hub_tokenizer

WORDPIECE, BYTE_BPE, SENTENCEPIECE = "wordpiece", "byte_bpe", "sentencepiece"
# The file name of each kind in the folder of a model.
FILE_NAMES = {
  WORDPIECE: "vocab.txt",
  BYTE_BPE: "vocab.json",
  SENTENCEPIECE: "spiece.model",
}
# ".spm" is KerasHub's.
_MODEL_ENDS = (".model", ".spm")
TOKENIZER_JSON = "tokenizer.json"
# The kind of each model in a tokenizer.json.
MODELS = {"WordPiece": WORDPIECE, "BPE": BYTE_BPE, "Unigram": SENTENCEPIECE}
_STANDARD_NAMES = (TOKENIZER_JSON, *FILE_NAMES.values())
MERGES_FILE = "merges.txt"
OPTIONS_FILE = "tokenizer_config.json"
VOCABULARY_KEY = "vocabulary"
ROLES_FILE = "special_tokens_map.json"
# Starts a piece of SentencePiece, in place of the blank before a word.
WORD_START = "\u2581"
# Roles of special tokens.
ROLES = ("pad", "unk", "cls", "sep", "mask")


@dataclasses.dataclass(frozen=True)
class VocabularyFile(os.PathLike):
  """A vocabulary file, with what is beside it.

  Attributes:
    folder: `files.Folder` that it is in.
    name: str.
  """

  folder: files.Folder
  name: str

  @classmethod
  def at(cls, path):
    """Returns that of a path; an open one as it is."""
    if isinstance(path, cls):
      return path
    folder, name = os.path.split(os.fspath(path))
    return cls(files.Folder(folder), name)

  def __fspath__(self):
    return self.folder.join(self.name)

  __str__ = __fspath__

  @functools.cached_property
  def content(self):
    """The bytes of the file.

    Raises:
      FileNotFoundError: there is no such file.
    """
    return files.read_bytes(os.fspath(self), "vocab_file")

  @property
  def form(self):
    """TOKENIZER_JSON or the kind of another vocabulary, by its name."""
    return format_of(self.name)

  @property
  def kind(self):
    """The kind, which a tokenizer.json says itself, so that it must exist."""
    if self.form != TOKENIZER_JSON:
      return self.form
    values = parse_tokenizer_json(self.content, os.fspath(self))
    return MODELS[values["model"]["type"]]

  @functools.cached_property
  def options_name(self):
    """Name of the file of its options.

    tokenizer_config.json; where that names another vocabulary and the options
    of this one have been put aside, "<name>.tokenizer_config.json".
    """
    aside = _aside(self.name)
    is_first = named_vocabulary(self.folder) == self.name
    return aside if self.folder.has(aside) and not is_first else OPTIONS_FILE


# Several megabytes, which whoever opens a tokenizer asks for more than once.
@functools.lru_cache(maxsize=1)
def parse_tokenizer_json(content, path):
  """Returns the content of a tokenizer.json, dict; not to be changed.

  Args:
    content: bytes, the whole file.
    path: str, of the file, for messages.

  Raises:
    ValueError: it is no JSON, or its model is none of `MODELS`.
  """
  values = files.parse_json(files.decode(content, path), path)
  model = files.field(values, "model", dict, path)
  place = f"model in {path}"
  # Files of older versions leave the type out.
  kind = files.field(model, "type", str, place, _guess_model(model))
  if kind not in MODELS:
    raise ValueError(
      f"type ({kind!r}) of {place} must be one of {', '.join(MODELS)}."
    )
  return values | {"model": model | {"type": kind}}


def _guess_model(model):
  if "merges" in model:
    return "BPE"
  return "Unigram" if "unk_id" in model else "WordPiece"


def format_of(path):
  """Returns TOKENIZER_JSON or the kind of another vocabulary, by its name."""
  name = _name(path)
  if name == TOKENIZER_JSON:
    return name
  if name.endswith(".json"):
    return BYTE_BPE
  return SENTENCEPIECE if name.endswith(_MODEL_ENDS) else WORDPIECE


def merges_path(path):
  """Returns the path of the merges of the vocab.json `path`.

  merges.txt beside it, or "name-merges.txt" beside "name-vocab.json".
  """
  name = _name(path)
  standard = FILE_NAMES[BYTE_BPE]
  prefix = name.removesuffix(standard) if name.endswith(standard) else ""
  return beside(path, prefix + MERGES_FILE)


def named_vocabulary(folder, options_name=OPTIONS_FILE):
  """Returns the name of the vocabulary that a file of options names, or None.

  None too where no such vocabulary is beside it: it has been renamed.

  Args:
    folder: `files.Folder`.
    options_name: str, of the file.
  """
  name = (folder.find_json(options_name) or {}).get(VOCABULARY_KEY)
  return name if isinstance(name, str) and folder.has(name) else None


def put_options_aside(path):
  """Keeps the options of others in a folder, where `path` gets the first place.

  Args:
    path: str, of a vocabulary file whose tokenizer_config.json is to be
      written.
  """
  folder = files.Folder(os.path.dirname(path))
  named = named_vocabulary(folder)
  stored = folder.find_json(OPTIONS_FILE) or {}
  names = {named} if named else {*_standard_names(folder)}
  for name in names - {_name(path)}:
    if named or not folder.has(_aside(name)):
      content = stored | {VOCABULARY_KEY: name}
      files.write_json(folder.join(_aside(name)), content)


def check_merges(path):
  """Checks that the merges of a new vocabulary replace no others.

  Raises:
    ValueError: there are merges where those of the vocab.json `path`, which
      does not exist yet, would be.
  """
  merges = merges_path(path)
  if not files.exists(path) and files.exists(merges):
    raise ValueError(
      f"{path} would replace {merges}, which is of another vocabulary: name"
      f" it {beside(path, 'NAME-vocab.json')}, whose merges are in"
      f" NAME-{MERGES_FILE}."
    )


def _aside(name):
  """Returns the name of the options of a vocabulary that are put aside."""
  return f"{name}.{OPTIONS_FILE}"


def _name(path):
  return os.path.basename(os.fspath(path))


def _standard_names(folder):
  """Returns the names of the vocabularies in a folder, list of str."""
  return [name for name in _STANDARD_NAMES if name in folder.names]


def beside(path, name):
  """Returns the path of the file `name` in the folder of `path`."""
  return os.path.join(os.path.dirname(os.fspath(path)), name)


def find_file(path):
  """Returns the path, str, of the file of `find`."""
  return os.fspath(find(path))


def find(path):
  """Returns the `VocabularyFile` at `path`, or in it if it is a folder.

  It may also be the name of a model, see `hub`, or a `files.Folder`.

  Of several, that is the one that tokenizer_config.json names, under
  `VOCABULARY_KEY` as in folders written here; otherwise tokenizer.json.

  Raises:
    FileNotFoundError: if the folder holds none.
    ValueError: if it holds several.
  """
  folder = hub.opened(path)
  preset = keras_hub_tokenizer.find(folder)
  if preset or not folder.is_there:
    return VocabularyFile.at(preset or folder)
  if name := _find_name(folder):
    return VocabularyFile(folder, name)
  return find(folder.join(hub.OLD_TRANSFORMER))


def _find_name(folder):
  """Returns the name of the vocabulary in a folder; None in an old version's.

  Errors: as of `find`.
  """
  models = [name for name in folder.names if name.endswith(".model")]
  found = _standard_names(folder) or models
  named = named_vocabulary(folder)
  if named in found:
    return named
  # Another one took the place of its options.
  aside = [name for name in found if _aside(name) in folder.names]
  if len(aside) == 1:
    return aside[0]
  if TOKENIZER_JSON in found:
    return TOKENIZER_JSON
  if found == [FILE_NAMES[WORDPIECE]] and len(models) == 1:
    return models[0] if listed_pieces(folder) else found[0]
  if not found and hub.OLD_TRANSFORMER in folder.names:
    return None
  if not found:
    raise FileNotFoundError(
      f"{folder} has no vocabulary: add {', '.join(_STANDARD_NAMES)} or another"
      " *.model, or name the file (--vocab_file)."
    )
  if len(found) > 1:
    raise ValueError(
      f"{folder} has several vocabularies ({', '.join(found)}): name the file"
      " (--vocab_file)."
    )
  return found[0]


def listed_pieces(folder):
  """Returns the tokens by id of the vocab.txt beside a *.model, or None.

  KoBERT's lists the pieces, which begin words with U+2581; another one is a
  WordPiece vocabulary.

  Args:
    folder: `files.Folder`, in which both are.

  Returns:
    list of str.
  """
  path = folder.join(FILE_NAMES[WORDPIECE])
  if not folder.has(FILE_NAMES[WORDPIECE]):
    return None
  tokens = parse_lines(files.read_bytes(path), path)
  starts = (len(token) > 1 and token[0] == WORD_START for token in tokens)
  return tokens if any(starts) else None


def parse_lines(content, path):
  """Returns the tokens of a vocab.txt, list of str."""
  # strip() and splitting at "\n" only, as the original's load_vocab. A token of
  # white space (U+2028 in Chinese vocabularies) keeps it: it has an id.
  lines = files.decode(content, path).split("\n")
  tokens = [line.strip() or line.removesuffix("\r") for line in lines]
  while tokens and not tokens[-1].strip(string.whitespace):
    tokens.pop()
  return tokens


def parse_ids(content, path):
  """Returns the tokens of a vocab.json by id, list of str.

  Raises:
    ValueError: if it does not give every id from 0 on to one token.
  """
  ids = files.parse_json(files.decode(content, path), path)
  return in_order(by_id(ids, path), path)


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


def parse_merges(content, path, tokens):
  """Returns the lines of a merges.txt; as `pairs`."""
  lines = files.decode(content, path).split("\n")
  merges = (
    (number, line.removesuffix("\r"))
    for number, line in enumerate(lines, start=1)
    if line not in ("", "\r") and not line.startswith("#version")
  )
  return pairs(merges, tokens, f"{path}, line")


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
