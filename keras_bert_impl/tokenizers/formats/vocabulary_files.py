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


def read_tokenizer_json(path):
  """Returns the content of a tokenizer.json, dict; not to be changed.

  Raises:
    FileNotFoundError: there is no such file.
    ValueError: it is no JSON, or its model is none of `MODELS`.
  """
  return parse_tokenizer_json(files.read_bytes(path, "vocab_file"), path)


# Several megabytes, which whoever opens a tokenizer asks for more than once.
@functools.lru_cache(maxsize=1)
def parse_tokenizer_json(content, path):
  """Returns the values of `read_tokenizer_json`, from the file's bytes."""
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


def kind_of(path):
  """Returns the kind of the vocabulary file `path`.

  A tokenizer.json says its kind itself, so that it must exist.
  """
  form = format_of(path)
  if form == TOKENIZER_JSON:
    return MODELS[read_tokenizer_json(path)["model"]["type"]]
  return form


def merges_path(path):
  """Returns the path of the merges of the vocab.json `path`.

  merges.txt beside it, or "name-merges.txt" beside "name-vocab.json".
  """
  name = _name(path)
  standard = FILE_NAMES[BYTE_BPE]
  prefix = name.removesuffix(standard) if name.endswith(standard) else ""
  return beside(path, prefix + MERGES_FILE)


def options_path(path):
  """Returns the path of the options of the vocabulary file `path`.

  tokenizer_config.json beside it; where that names another vocabulary and the
  options of this one have been put aside, "<path>.tokenizer_config.json".
  """
  shared = beside(path, OPTIONS_FILE)
  aside = _put_aside_path(path)
  if not files.exists(aside) or named_vocabulary(shared) == _name(path):
    return shared
  return aside


def named_vocabulary(path):
  """Returns the name that a tokenizer_config.json says it is of, or None.

  None too where no such vocabulary is beside it: it has been renamed.
  """
  name = (files.find_json(path) or {}).get(VOCABULARY_KEY)
  is_there = isinstance(name, str) and files.exists(beside(path, name))
  return name if is_there else None


def put_options_aside(path):
  """Keeps the options of others in a folder, where `path` gets the first place.

  Args:
    path: str, of a vocabulary file whose tokenizer_config.json is to be
      written.
  """
  shared, folder = beside(path, OPTIONS_FILE), os.path.dirname(path) or "."
  if not files.is_folder(folder):
    return
  named = named_vocabulary(shared)
  names = [named] if named else _standard_names(folder)
  stored = files.find_json(shared) or {}
  for name in set(names) - {_name(path)}:
    aside = _put_aside_path(beside(path, name))
    if named or not files.exists(aside):
      files.write_json(aside, stored | {VOCABULARY_KEY: name})


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


def _put_aside_path(path):
  return f"{os.fspath(path)}.{OPTIONS_FILE}"


def _name(path):
  return os.path.basename(os.fspath(path))


def _standard_names(folder):
  """Returns the names of the vocabularies in a folder, list of str."""
  found = files.list_folder(folder)
  return [name for name in _STANDARD_NAMES if name in found]


def beside(path, name):
  """Returns the path of the file `name` in the folder of `path`."""
  return os.path.join(os.path.dirname(os.fspath(path)), name)


def find_file(path):
  """Returns `path`, or the vocabulary file in it if it is a folder.

  It may also be the name of a model; see `hub`.

  Of several, that is the one that tokenizer_config.json names, under
  `VOCABULARY_KEY` as in folders written here; otherwise tokenizer.json.

  Raises:
    FileNotFoundError: if the folder holds none.
    ValueError: if it holds several.
  """
  path = hub.local_path(path)
  if not files.is_folder(path):
    return path
  preset = keras_hub_tokenizer.find(path)
  if preset:
    return preset
  names = files.list_folder(path)
  found = _standard_names(path)
  found = found or [name for name in names if name.endswith(".model")]
  named = named_vocabulary(os.path.join(path, OPTIONS_FILE))
  if named in found:
    return os.path.join(path, named)
  # Another one took the place of its options.
  aside = [name for name in found if _put_aside_path(name) in names]
  if len(aside) == 1:
    return os.path.join(path, aside[0])
  if TOKENIZER_JSON in found:
    return os.path.join(path, TOKENIZER_JSON)
  models = [name for name in names if name.endswith(".model")]
  if found == [FILE_NAMES[WORDPIECE]] and len(models) == 1:
    model = os.path.join(path, models[0])
    return model if listed_pieces(model) else os.path.join(path, found[0])
  if not found and hub.OLD_TRANSFORMER in names:
    return find_file(os.path.join(path, hub.OLD_TRANSFORMER))
  if not found:
    raise FileNotFoundError(
      f"{path} has no vocabulary: add {', '.join(_STANDARD_NAMES)} or another"
      " *.model, or name the file (--vocab_file)."
    )
  if len(found) > 1:
    raise ValueError(
      f"{path} has several vocabularies ({', '.join(found)}): name the file"
      " (--vocab_file)."
    )
  return os.path.join(path, found[0])


def listed_pieces(path):
  """Returns the tokens by id of the vocab.txt beside a *.model, or None.

  KoBERT's lists the pieces, which begin words with U+2581; another one is a
  WordPiece vocabulary.

  Args:
    path: str, of the *.model.

  Returns:
    list of str.
  """
  path = beside(path, FILE_NAMES[WORDPIECE])
  if not files.exists(path):
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
