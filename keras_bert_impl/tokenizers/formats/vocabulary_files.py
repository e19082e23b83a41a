"""Names and formats of vocabulary files.

The name of the file determines the kind:

  vocab.txt    WordPiece: one token per line, the line number is the id (BERT,
               ELECTRA)
  vocab.json   byte-level BPE: {token: id}, with merges.txt beside it (RoBERTa)
  *.model      SentencePiece (ALBERT); vocab.txt beside it may list its pieces
               by id (KoBERT)
  source.spm   SentencePiece (Marian): vocab.json lists its pieces by id, and
               those of target.spm, which cuts what is to be written
  tokenizer.json  any of these, in the format of the `tokenizers` library, which
               `tokenizer_json` reads

A preset of KerasHub has them in assets/tokenizer, under names of its own.
"""

import dataclasses
import functools
import os

from keras_bert_impl import families, files
from keras_bert_impl.checkpoints import hub
from keras_bert_impl.checkpoints.descriptions import keras_hub_tokenizer
from keras_bert_impl.tokenizers.formats import vocabulary_content

WORDPIECE, BYTE_BPE, SENTENCEPIECE = "wordpiece", "byte_bpe", "sentencepiece"
# Kinds that only a tokenizer.json has.
CHARACTER_BPE, WORD_LEVEL = "character_bpe", "word_level"
# The file name of each kind in the folder of a model.
FILE_NAMES = {
  WORDPIECE: "vocab.txt",
  BYTE_BPE: "vocab.json",
  SENTENCEPIECE: "spiece.model",
}
# ".spm" is KerasHub's.
_MODEL_ENDS = (".model", ".spm")
SOURCE_MODEL, TARGET_MODEL = "source.spm", "target.spm"
TOKENIZER_JSON = "tokenizer.json"
_STANDARD_NAMES = (TOKENIZER_JSON, *FILE_NAMES.values())
MERGES_FILE = "merges.txt"
OPTIONS_FILE = "tokenizer_config.json"
VOCABULARY_KEY = "vocabulary"
ROLES_FILE = "special_tokens_map.json"
# Starts a piece of SentencePiece, in place of the blank before a word.
WORD_START = "\u2581"
# The files of a model that may say of which family it is.
_MODEL_FILES = ("config.json", "bert_config.json")
# Begins the tokens of T5 for spans that are left out, and their usual number.
SENTINEL = "<extra_id_"
_USUAL_SENTINELS = 100
NUM_SENTINELS = "extra_ids"  # The key of another number.
# Classes of `transformers` without a family, whose SentencePiece models
# normalise texts alone.
PLAIN_STEMS = ("T5", "MT5", "Llama", "Gemma")
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

  def __fspath__(self):
    return self.folder.join(self.name)

  __str__ = __fspath__

  @property
  def form(self):
    """TOKENIZER_JSON or the kind of another vocabulary, by its name."""
    return format_of(self.name)

  @functools.cached_property
  def options_name(self):
    """Name of the file of its options.

    tokenizer_config.json; where that names another vocabulary and the options
    of this one have been put aside, "<name>.tokenizer_config.json".
    """
    aside = _aside(self.name)
    is_first = _named(self.folder, OPTIONS_FILE) == self.name
    return aside if self.folder.has(aside) and not is_first else OPTIONS_FILE

  @property
  def options_path(self):
    """Path of that file, str."""
    return self.folder.join(self.options_name)

  @functools.cached_property
  def stored(self):
    """{name: value} in that file, or of its preset of KerasHub; or None."""
    values = self.folder.find_json(self.options_name)
    if values is None:
      return keras_hub_tokenizer.options(self.folder, self.name)
    return values

  @property
  def named(self):
    """Name of the vocabulary that that file is of, str, or None."""
    return _named(self.folder, self.options_name)

  @property
  def listed_pieces(self):
    """The tokens by id of the list beside a *.model, list of str, or None.

    KoBERT's vocab.txt lists the pieces, which begin words with U+2581; another
    one is a WordPiece vocabulary. Marian's list is a vocab.json.
    """
    if self.name == SOURCE_MODEL:
      path = self.folder.join(FILE_NAMES[BYTE_BPE])
      by_id = vocabulary_content.by_id(files.read_json(path), path)
      return vocabulary_content.in_order(by_id, path)
    name = FILE_NAMES[WORDPIECE]
    if not self.folder.has(name):
      return None
    tokens = vocabulary_content.lines(files.read_text(self.folder.join(name)))
    starts = (len(token) > 1 and token[0] == WORD_START for token in tokens)
    return tokens if any(starts) else None

  @property
  def target_model(self):
    """The model of the texts that are to be written, bytes; Marian's alone."""
    if self.name != SOURCE_MODEL:
      return b""
    path = self.folder.join(TARGET_MODEL)
    content = files.read_bytes(path)
    files.parse_pieces(content, path)  # It is one, or an error.
    return content

  @property
  def class_stem(self):
    """What the class of `transformers` that it names begins with, or None."""
    return stem_of(self.stored or {})

  @property
  def sentinels(self):
    """The tokens of T5 after its pieces, for spans that are left out, list."""
    usual = _USUAL_SENTINELS if self.class_stem == "T5" else 0
    place = f"{self.options_path}"
    number = files.field(self.stored or {}, NUM_SENTINELS, int, place, usual)
    return [f"{SENTINEL}{index}>" for index in reversed(range(number))]

  @property
  def family(self):
    """Family named by files beside it, a key of `families.FAMILIES`, or None.

    tokenizer_config.json may name it itself or by its class in `transformers`;
    otherwise config.json or bert_config.json may say what the model is.

    Raises:
      ValueError: tokenizer_config.json names an unknown family.
    """
    named = (self.stored or {}).get("family")
    if named is not None:
      return check_family(named, f" in {self.options_path}")
    for family in families.FAMILIES.values():
      if family.class_stem == self.class_stem:
        return family.name
    for name in _MODEL_FILES:
      model_type = self.config(name).get("model_type")
      if model_type in [*families.FAMILIES]:
        return model_type
    return None

  def config(self, name="config.json"):
    """Returns what a JSON file beside it says of the model, dict."""
    return self.folder.find_json(name) or {}


def stem_of(stored):
  """Returns what the class that a tokenizer_config.json names begins with."""
  name = stored.get("tokenizer_class")
  return name and str(name).removesuffix("Fast").removesuffix("Tokenizer")


def check_family(name, place=""):
  """Returns the name of a family; raises ValueError if there is none."""
  if name not in [*families.FAMILIES]:
    raise ValueError(
      f"family ({name!r}){place} must be one of {', '.join(families.FAMILIES)}."
    )
  return name


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


def _named(folder, options_name):
  """Returns the name of the vocabulary that a file of options names, or None.

  None too where no such vocabulary is beside it: it has been renamed.
  """
  name = (folder.find_json(options_name) or {}).get(VOCABULARY_KEY)
  return name if isinstance(name, str) and folder.has(name) else None


def put_options_aside(path):
  """Keeps the options of others in a folder, where `path` gets the first place.

  Args:
    path: str, of a vocabulary file whose tokenizer_config.json is to be
      written.
  """
  folder = files.Folder(path).parent
  named = _named(folder, OPTIONS_FILE)
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


def find(path):
  """Returns the `VocabularyFile` at `path`, or in it if it is a folder.

  It may also be the name of a model, see `hub`, a `files.Folder`, or a
  `VocabularyFile`, which is returned as it is.

  Of several, that is the one that tokenizer_config.json names, under
  `VOCABULARY_KEY` as in folders written here; otherwise tokenizer.json.

  Raises:
    FileNotFoundError: if the folder holds none.
    ValueError: if it holds several.
  """
  if isinstance(path, VocabularyFile):
    return path
  folder = hub.opened(path)
  if not folder.is_there:  # But a file, or nothing yet.
    return VocabularyFile(folder.parent, _name(folder))
  if preset := keras_hub_tokenizer.find(folder):
    return VocabularyFile(*preset)
  if name := _find_name(folder):
    return VocabularyFile(folder, name)
  return find(folder.join(hub.OLD_TRANSFORMER))


def _find_name(folder):
  """Returns the name of the vocabulary in a folder; None in an old version's.

  Errors: as of `find`.
  """
  models = [name for name in folder.names if name.endswith(".model")]
  found = _standard_names(folder) or models
  if SOURCE_MODEL in folder.names:  # The vocab.json beside it is its list.
    found = [SOURCE_MODEL, *({TOKENIZER_JSON} & {*found})]
  named = _named(folder, OPTIONS_FILE)
  if named in found:
    return named
  # Another one took the place of its options.
  aside = [name for name in found if _aside(name) in folder.names]
  if len(aside) == 1:
    return aside[0]
  if TOKENIZER_JSON in found:
    return TOKENIZER_JSON
  if found == [FILE_NAMES[WORDPIECE]] and len(models) == 1:
    is_list = VocabularyFile(folder, models[0]).listed_pieces
    return models[0] if is_list else found[0]
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
