"""Reads and writes what sentence-transformers keeps beside the weights.

  modules.json                       the modules in order, and their folders
  config_sentence_transformers.json  prompts
  sentence_bert_config.json          beside the transformer: its texts
  1_Pooling/, 2_Dense/, ...          see `modules`
  1_SpladePooling/                   of sparse vectors
  1_Dense/                           of late interaction, as PyLate writes it
  0_StaticEmbedding/                 a table in place of the transformer

The transformer is in the folder itself or, of old versions, in 0_Transformer;
so is a table. A folder of model2vec is one of a table, too. That of a
CrossEncoder, which makes no vectors, is a checkpoint like any other.
"""

import dataclasses
import os
import pathlib
import re
import shutil

from absl import logging

from keras_bert_impl import files, heads
from keras_bert_impl.checkpoints import hub
from keras_bert_impl.tokenizers.formats import vocabulary_files
from keras_bert_impl.tokenizers.graph import late_interaction

MODULES_FILE = "modules.json"
_SETTINGS_FILE = "config_sentence_transformers.json"
# Old versions named it after the kind of the model.
_TEXTS_FILES = "sentence_{}_config.json"
_KINDS = "bert roberta distilbert camembert albert xlm-roberta xlnet".split()
_MODULE_FOLDER = re.compile(r"[1-9]\d*_\w+")  # After the transformer.
_TOKENIZER_FILE = "tokenizer_config.json"
_CONFIG_FILE = "config.json"  # of model2vec

TRANSFORMER, POOLING = "Transformer", "Pooling"
DENSE, NORMALIZE = "Dense", "Normalize"
# Of sparse vectors, with the masked-LM head; `Transformer` has it too.
MLM_TRANSFORMER, SPLADE_POOLING = "MLMTransformer", "SpladePooling"
_OF_SPARSE = (MLM_TRANSFORMER, SPLADE_POOLING)
STATIC = "StaticEmbedding"
_KNOWN = (TRANSFORMER, POOLING, DENSE, NORMALIZE, *_OF_SPARSE, STATIC)
_PACKAGE = "sentence_transformers"
# The module in which all versions find their classes.
_CLASS = "sentence_transformers.models.{}"
_SPARSE_CLASS = "sentence_transformers.sparse_encoder.models.{}"
# PyLate's, which sentence-transformers reads too.
_LATE_CLASS = "pylate.models.Dense.Dense"
_CROSS_ENCODER = "CrossEncoder"


@dataclasses.dataclass(frozen=True)
class _Form:
  """How a folder says what vectors its model makes.

  Attributes:
    model_type: str, of the whole.
    names_type: bool, whether it is written.
    task: str, of the transformer.
    first: str, the module of the transformer; None where a table is in its
      place.
    class_name: str, of the classes of modules.
    class_names: {module: the same}, of others.
    has_late: bool, whether settings of late interaction are read.
  """

  model_type: str = "SentenceTransformer"
  names_type: bool = False
  task: str = "feature-extraction"
  first: str | None = TRANSFORMER
  class_name: str = _CLASS
  class_names: dict = dataclasses.field(default_factory=dict)
  has_late: bool = False


# {kind of vectors: its form}.
_FORMS = {
  heads.ENCODER: _Form(),
  heads.STATIC: _Form(first=None),
  heads.SPARSE: _Form(
    "SparseEncoder", True, "fill-mask", MLM_TRANSFORMER, _SPARSE_CLASS
  ),
  heads.LATE: _Form(
    "ColBERT", True, class_names={DENSE: _LATE_CLASS}, has_late=True
  ),
}
# {module after which the others come: what they make}.
_HEADS = {
  SPLADE_POOLING: heads.SPARSE,
  STATIC: heads.STATIC,
  DENSE: heads.LATE,
}
_PROMPTS = ("prompts", "default_prompt_name")
# Names that the prompt of a kind of texts may have, the first that is there.
_OF_KINDS = {"document": ("document", "passage", "corpus")}
# PyLate's defaults, where a folder does not say.
_PREFIXES = {"query_prefix": "[Q] ", "document_prefix": "[D] "}
_DOCUMENT_LENGTH = 180
_NONE = type(None)
_NUMBER = (int, float, _NONE)
_MOST_TOKENS = 10**9


@dataclasses.dataclass(frozen=True)
class Module:
  """A module after the transformer.

  Attributes:
    kind: str, the name of its class.
    path: str, its folder.
  """

  kind: str
  path: str


@dataclasses.dataclass(frozen=True)
class Texts:
  """How texts are made ready for the tokenizer.

  Attributes:
    max_seq_length: int, most tokens of a text, special ones and prompt
      included; None for the model's maximum.
    do_lower_case: bool, whether texts are lower-cased, whatever the tokenizer
      does.
    prompts: {name: str}, texts to put before a text.
    default_prompt_name: str, the prompt of a text for which none is chosen; or
      None.
    late: `LateInteraction`, of such a model; or None.
  """

  max_seq_length: int | None = None
  do_lower_case: bool = False
  prompts: dict = dataclasses.field(default_factory=dict)
  default_prompt_name: str | None = None
  late: late_interaction.LateInteraction | None = None

  def prompt(self, name=None):
    """Returns the prompt of a name, or the default one; "" without.

    Raises:
      ValueError: there is no such prompt.
    """
    name = self.default_prompt_name if name is None else name
    if name is None:
      return ""
    if name not in self.prompts:
      raise ValueError(
        f"prompt_name ({name!r}) must be one of"
        f" {', '.join(self.prompts) or 'none: there are no prompts'}."
      )
    return self.prompts[name]

  def prompt_of(self, kind):
    """Returns the prompt of "query" or "document", or else the default one.

    That of documents may be "passage" or "corpus", too, as
    sentence-transformers chooses it.
    """
    names = _OF_KINDS.get(kind, (kind,))
    return self.prompt(next(filter(self.prompts.__contains__, names), None))

  def limited_to(self, config):
    """Returns these settings, for texts that a model can read.

    Args:
      config: `EncoderConfig`, whose length counts where none is given.
    """
    shorter = self.max_seq_length or config.max_sequence_length
    if config.longest_input is not None:
      shorter = min(shorter, config.longest_input)
    return dataclasses.replace(self, max_seq_length=shorter)


@dataclasses.dataclass(frozen=True)
class Folder:
  """The description that a folder has of its model.

  Attributes:
    transformer: str, folder or other path of the encoder's checkpoint; of
      static embeddings, the folder itself.
    modules: tuple of `Module`, the pooling or the table first; empty if there
      is no modules.json.
    texts: `Texts`.
  """

  transformer: str
  modules: tuple[Module, ...] = ()
  texts: Texts = Texts()

  @property
  def head(self):
    """What its model makes, str of `heads`."""
    return _head(self.modules)

  @property
  def vocabulary(self):
    """File or folder of its tokenizer, str."""
    if self.head == heads.STATIC:
      return os.path.join(self.modules[0].path, vocabulary_files.TOKENIZER_JSON)
    folder = files.Folder(self.transformer)
    return os.fspath(folder if folder.is_there else folder.parent)


def _head(modules):
  return _HEADS.get(modules[0].kind if modules else None, heads.ENCODER)


def is_one(path):
  """Whether `path` is of vectors, by sentence-transformers or model2vec.

  Args:
    path: str, as of `read`.
  """
  folder = hub.opened(path)
  return is_static(folder) or (
    folder.has(MODULES_FILE) and not _is_cross_encoder(folder)
  )


def copy(source, target):
  """Copies what a folder says of its vectors: pooling, prompts, last layers.

  Args:
    source: `files.Folder`, with the encoder in it.
    target: str, a folder for another encoder of as wide hidden states.
  """
  texts_files = map(_TEXTS_FILES.format, _KINDS)
  copied = {MODULES_FILE, _SETTINGS_FILE, *texts_files}
  for name in source.names:
    path, new = source.join(name), os.path.join(target, name)
    if name in copied:
      shutil.copyfile(path, new)
    elif _MODULE_FOLDER.fullmatch(name) and files.is_folder(path):
      shutil.copytree(path, new)


def is_static(path):
  """Whether `path`, as of `read`, holds static embeddings."""
  folder = hub.opened(path)
  listed = folder.find_json(MODULES_FILE, list)
  if listed is None:
    config = folder.find_json(_CONFIG_FILE) or {}
    return config.get("model_type") == "model2vec"
  # Whatever is wrong with it, whoever reads it says so.
  first = listed[0] if listed else None
  kind = first.get("type") if isinstance(first, dict) else None
  return str(kind).endswith(f".{STATIC}")


def _is_cross_encoder(folder):
  settings = folder.find_json(_SETTINGS_FILE) or {}
  return settings.get("model_type") == _CROSS_ENCODER


def read(path):
  """Returns the `Folder` at `path`; of another checkpoint, its defaults.

  Args:
    path: str, a folder, or what `models.from_checkpoint` takes besides; or a
      `files.Folder`.

  Raises:
    ValueError: it has a module that is not known here, or is damaged.
  """
  folder = hub.opened(path, weights=True)
  if not is_one(folder):
    return Folder(os.fspath(folder))
  transformer, *modules = _check_order(folder, _read_modules(folder))
  if transformer.kind == STATIC:
    found = Folder(folder.path, (transformer, *modules))
    limit = _read_limit(found.vocabulary)
    texts = Texts(limit, False, *_read_prompts(folder))
  else:
    found = Folder(transformer.path + folder.suffix, tuple(modules))
    texts = _read_texts(folder, transformer, found.head)
  return dataclasses.replace(found, texts=texts)


def write(folder, modules, texts):
  """Writes the files of a folder whose weights are in it already.

  Args:
    folder: str.
    modules: tuple of `Module`, the pooling or the table first, their folders
      in this one.
    texts: `Texts`.
  """
  form = _FORMS[_head(modules)]
  if form.first:
    modules = (Module(form.first, folder), *modules)
    path = os.path.join(folder, _TEXTS_FILES.format("bert"))
    _write_fields(path, texts, ("max_seq_length", "do_lower_case"))
  kind = {"model_type": form.model_type} if form.names_type else {}
  path = os.path.join(folder, _SETTINGS_FILE)
  _write_fields(path, texts, _PROMPTS, **kind, **_late_settings(texts))
  listed = [
    {
      "idx": index,
      "name": str(index),
      "path": os.path.relpath(module.path, folder).removeprefix("."),
      "type": form.class_names.get(module.kind, form.class_name).format(
        module.kind
      ),
    }
    for index, module in enumerate(modules)
  ]
  files.write_json(os.path.join(folder, MODULES_FILE), listed)


def _write_fields(path, texts, fields, **others):
  values = {field: getattr(texts, field) for field in fields}
  files.write_json(path, values | others)


def _read_modules(folder):
  """Returns the modules that modules.json lists, list of `Module`.

  Raises:
    ValueError: one is not known here, or outside of the folder.
  """
  listed = folder.find_json(MODULES_FILE, list)
  if listed is None:  # Of model2vec.
    types = {"normalize": (bool, _NONE)}
    values = folder.read_json(_CONFIG_FILE, types=types)
    after = [Module(NORMALIZE, folder.path)] * bool(values.get("normalize"))
    return [Module(STATIC, folder.path), *after]
  path = folder.join(MODULES_FILE)
  modules = []
  for index, values in enumerate(listed):
    place = f"module {index} of {path}"
    type_name = files.field(values, "type", str, place)
    # The module in which a class is differs between versions.
    package, *_, kind = type_name.split(".")
    is_known = package == _PACKAGE and kind in _KNOWN
    # A class of the model's own, around the same transformer.
    is_own = index == 0 and kind == TRANSFORMER and not is_known
    if is_own:
      logging.info("%s names code of its own, which is not run.", place)
    if not (is_known or is_own) and type_name != _LATE_CLASS:
      raise ValueError(
        f"type ({type_name!r}) of {place} is not supported: a model must be"
        f" made of {', '.join(_KNOWN)}, each of {_PACKAGE}."
      )
    name = files.field(values, "path", str, place)
    # A stranger's file must not make us read anywhere else.
    if os.path.isabs(name) or ".." in pathlib.PurePath(name).parts:
      raise ValueError(
        f"path ({name!r}) of {place} must be in the folder of that file."
      )
    modules.append(Module(kind, folder.join(name)))
  return modules


def _check_order(folder, modules):
  """Returns the modules, the transformer first.

  Raises:
    ValueError: they are in another order.
  """
  kinds = [module.kind for module in modules]
  is_dense = kinds[:2] == [TRANSFORMER, POOLING]
  is_other = kinds[1:] in ([SPLADE_POOLING], [DENSE])
  is_other = is_other and kinds[0].endswith(TRANSFORMER)
  is_static = kinds in ([STATIC], [STATIC, NORMALIZE])
  is_dense &= {*kinds[2:]} <= {DENSE, NORMALIZE}
  if not (is_dense or is_other or is_static):
    raise ValueError(
      f"{folder.join(MODULES_FILE)} has the modules"
      f" {', '.join(kinds) or '(none)'}: known are {TRANSFORMER}, {POOLING},"
      f" and after these {DENSE} and {NORMALIZE}; {TRANSFORMER}"
      f" and {DENSE} (ColBERT); {MLM_TRANSFORMER} and"
      f" {SPLADE_POOLING}; or {STATIC}, and maybe {NORMALIZE}."
    )
  return modules


def _read_texts(folder, transformer, head):
  """Returns the `Texts` of a folder."""
  of_transformer = files.Folder(transformer.path)
  values, path = _texts_file(of_transformer)
  form = _FORMS[head]
  _check(values, "transformer_task", (form.task, None), path)
  do_lower_case = bool(values.get("do_lower_case"))
  prompts = _read_prompts(folder, head)
  texts = Texts(longest_text(of_transformer), do_lower_case, *prompts)
  return _with_late(texts, folder) if form.has_late else texts


def longest_text(folder):
  """Returns the most tokens of a text that a model's folder says, or None.

  Args:
    folder: `files.Folder`.

  Raises:
    ValueError: it is too few.
  """
  values, path = _texts_file(folder)
  length = values.get("max_seq_length")
  if length is None:
    path, types = folder.join(_TOKENIZER_FILE), {"model_max_length": _NUMBER}
    tokenizer = folder.find_json(_TOKENIZER_FILE, types=types) or {}
    length = tokenizer.get("model_max_length")
    length = None if length in (0, -1) else length  # Old files' for none.
  if length is not None and not length >= 3:  # Nor NaN.
    raise ValueError(
      f"the longest text ({length} tokens in {path}) is too short."
    )
  # Infinity, or int(1e30) as `transformers` writes it, is no limit.
  return None if length is None or length > _MOST_TOKENS else int(length)


def limit_texts(path, length):
  """Writes the most tokens of a text or pair, as `longest_text` reads them.

  Args:
    path: str, a model's folder with its tokenizer.
    length: int.
  """
  folder = files.Folder(path)
  values, texts_path = _texts_file(folder)
  if values.get("max_seq_length") is not None:
    files.write_json(texts_path, values | {"max_seq_length": length})
  path, stored = folder.join(_TOKENIZER_FILE), folder.find_json(_TOKENIZER_FILE)
  files.write_json(path, (stored or {}) | {"model_max_length": length})


def _texts_file(folder):
  """Returns the settings of texts beside a transformer, and their path."""
  names = [_TEXTS_FILES.format(kind) for kind in _KINDS]
  name = next(filter(folder.has, names), names[0])
  types = {"max_seq_length": _NUMBER, "do_lower_case": (bool, _NONE)}
  return folder.find_json(name, types=types) or {}, folder.join(name)


def _with_late(texts, folder):
  """Returns `Texts` with the settings of late interaction of a folder."""
  types = {
    field.name: (type(field.default), _NONE)
    for field in dataclasses.fields(late_interaction.LateInteraction)
  }
  types |= {"skiplist_words": (list, _NONE), "document_length": (int, _NONE)}
  values = folder.find_json(_SETTINGS_FILE, types=types) or {}
  given = {k: values[k] for k in types if values.get(k) is not None}
  place = f"each of skiplist_words in {folder.join(_SETTINGS_FILE)}"
  for word in given.get("skiplist_words", ()):
    files.check_type(word, str, place)
  length = given.pop("document_length", _DOCUMENT_LENGTH)
  late = late_interaction.LateInteraction(**_PREFIXES | given)
  return dataclasses.replace(texts, max_seq_length=length, late=late)


def _late_settings(texts):
  """Returns what `_with_late` reads, {name: JSON value}; {} of others."""
  if texts.late is None:
    return {}
  return {
    "similarity_fn_name": "MaxSim",
    "document_length": texts.max_seq_length,
    **dataclasses.asdict(texts.late),
  }


def _read_limit(path):
  """Returns the most tokens that a tokenizer.json leaves of a text, or None."""
  types = {"truncation": (dict, _NONE)}
  truncation = files.read_json(path, types=types).get("truncation")
  if not truncation:
    return None
  place = f"truncation of {path}"
  direction = truncation.get("direction", "Right")
  if direction != "Right":
    raise ValueError(f"direction ({direction!r}) in {place} must be 'Right'.")
  return files.field(truncation, "max_length", int, place)


def _read_prompts(folder, head=heads.ENCODER):
  """Returns the prompts of a folder, dict, and the name of the default one."""
  path = folder.join(_SETTINGS_FILE)
  types = {"prompts": (dict, _NONE), "default_prompt_name": (str, _NONE)}
  values = folder.find_json(_SETTINGS_FILE, types=types) or {}
  _check(values, "model_type", (_FORMS[head].model_type, None), path)
  prompts = values.get("prompts") or {}
  types = dict.fromkeys(prompts, (str, _NONE))
  files.check_fields(prompts, types, f"prompts of {path}")
  name = values.get("default_prompt_name")
  if name is not None and name not in prompts:
    raise ValueError(
      f"default_prompt_name ({name!r}) in {path} must be one of its prompts:"
      f" {', '.join(prompts) or 'there are none'}."
    )
  return {key: prompt or "" for key, prompt in prompts.items()}, name


def _check(values, name, allowed, path):
  if values.get(name) not in allowed:
    raise ValueError(
      f"{name} ({values[name]!r}) in {path} must be {allowed[0]!r}: other"
      " models are not supported."
    )
