"""Reads and writes what sentence-transformers keeps beside the weights.

  modules.json                       the modules in order, and their folders
  config_sentence_transformers.json  prompts
  sentence_bert_config.json          beside the transformer: its texts
  1_Pooling/, 2_Dense/, ...          see `modules`
  1_SpladePooling/                   of sparse vectors
  1_Dense/                           of late interaction, as PyLate writes it

The transformer is in the folder itself or, of old versions, in 0_Transformer.
"""

import dataclasses
import os
import pathlib

from keras_bert_impl import files, heads
from keras_bert_impl.checkpoints import hub
from keras_bert_impl.tokenizers.graph import late_interaction

MODULES_FILE = "modules.json"
_SETTINGS_FILE = "config_sentence_transformers.json"
# Old versions named it after the kind of the model.
_TEXTS_FILES = "sentence_{}_config.json"
_KINDS = "bert roberta distilbert camembert albert xlm-roberta xlnet".split()
_TOKENIZER_FILE = "tokenizer_config.json"

TRANSFORMER, POOLING = "Transformer", "Pooling"
DENSE, NORMALIZE = "Dense", "Normalize"
# Of sparse vectors, with the masked-LM head; `Transformer` has it too.
MLM_TRANSFORMER, SPLADE_POOLING = "MLMTransformer", "SpladePooling"
_OF_SPARSE = (MLM_TRANSFORMER, SPLADE_POOLING)
STATIC = "StaticEmbedding"
_KNOWN = (TRANSFORMER, POOLING, DENSE, NORMALIZE, *_OF_SPARSE)
_PACKAGE = "sentence_transformers"
# The module in which all versions find their classes.
_CLASS = "sentence_transformers.models.{}"
_SPARSE_CLASS = "sentence_transformers.sparse_encoder.models.{}"
# PyLate's, which sentence-transformers reads too.
_LATE_CLASS = "pylate.models.Dense.Dense"
# {kind of vectors: what model_type may be}.
_ENCODERS = {
  heads.ENCODER: ("SentenceTransformer", None),
  heads.SPARSE: ("SparseEncoder", None),
  heads.LATE: ("ColBERT", None),
}
_TASKS = ("feature-extraction", None), ("fill-mask", None)
_PROMPTS = ("prompts", "default_prompt_name")
# PyLate's defaults, where a folder does not say.
_PREFIXES = {"query_prefix": "[Q] ", "document_prefix": "[D] "}
_DOCUMENT_LENGTH = 180
_NONE = type(None)
_NUMBER = (int, float, _NONE)


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
    transformer: str, folder or other path of the encoder's checkpoint.
    modules: tuple of `Module`, the pooling first; empty if there is no
      modules.json.
    texts: `Texts`.
  """

  transformer: str
  modules: tuple[Module, ...] = ()
  texts: Texts = Texts()

  @property
  def head(self):
    """What its vectors are: `heads.ENCODER`, `SPARSE` or `LATE`."""
    return _head_of(self.modules)


def is_one(path):
  """Whether sentence-transformers wrote the folder `path`."""
  return files.is_folder(path) and files.exists(
    os.path.join(path, MODULES_FILE)
  )


def read(path):
  """Returns the `Folder` at `path`; of another checkpoint, its defaults.

  Args:
    path: str, a folder, or what `models.from_checkpoint` takes besides.

  Raises:
    ValueError: it has a module that is not known here, or is damaged.
  """
  path = hub.local_path(path, weights=True)
  if not is_one(path):
    return Folder(path)
  transformer, *modules = _check_order(path, read_modules(path))
  found = Folder(transformer.path, tuple(modules))
  texts = _read_texts(path, transformer, found.head)
  return dataclasses.replace(found, texts=texts)


def write(folder, modules, texts):
  """Writes the files of a folder whose transformer is in it already.

  Args:
    folder: str.
    modules: tuple of `Module`, the pooling first, their folders in this one.
    texts: `Texts`.
  """
  head = _head_of(modules)
  first = MLM_TRANSFORMER if head == heads.SPARSE else TRANSFORMER
  write_modules(folder, (Module(first, folder), *modules))
  _write_fields(
    os.path.join(folder, _TEXTS_FILES.format("bert")),
    texts,
    ("max_seq_length", "do_lower_case"),
  )
  kind = {} if head == heads.ENCODER else {"model_type": _ENCODERS[head][0]}
  write_prompts(folder, texts, **kind, **_late_settings(texts))


def write_prompts(folder, texts, **others):
  """Writes the prompts of `Texts` into a folder, and other settings."""
  path = os.path.join(folder, _SETTINGS_FILE)
  _write_fields(path, texts, _PROMPTS, **others)


def write_modules(folder, modules):
  """Writes modules.json: modules in order, their folders in this one."""
  class_name = _SPARSE_CLASS if _head_of(modules) == heads.SPARSE else _CLASS
  is_late = _head_of(modules[1:]) == heads.LATE
  listed = [
    {
      "idx": index,
      "name": str(index),
      "path": os.path.relpath(module.path, folder).removeprefix("."),
      "type": _LATE_CLASS
      if is_late and module.kind == DENSE
      else class_name.format(module.kind),
    }
    for index, module in enumerate(modules)
  ]
  files.write_json(os.path.join(folder, MODULES_FILE), listed)


def _write_fields(path, texts, fields, **others):
  values = {field: getattr(texts, field) for field in fields}
  files.write_json(path, values | others)


def read_modules(folder):
  """Returns the modules that modules.json lists, list of `Module`.

  Raises:
    ValueError: one is not known here, or outside of the folder.
  """
  path = os.path.join(folder, MODULES_FILE)
  modules = []
  for index, values in enumerate(files.read_json(path, list)):
    place = f"module {index} of {path}"
    type_name = files.field(values, "type", str, place)
    # The module in which a class is differs between versions.
    package, *_, kind = type_name.split(".")
    is_known = package == _PACKAGE and kind in (*_KNOWN, STATIC)
    if not is_known and type_name != _LATE_CLASS:
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
    modules.append(Module(kind, os.path.join(folder, name)))
  return modules


def _check_order(folder, modules):
  """Returns the modules, the transformer first.

  Raises:
    ValueError: they are in another order.
  """
  path = os.path.join(folder, MODULES_FILE)
  kinds = [module.kind for module in modules]
  is_dense = kinds[:2] == [TRANSFORMER, POOLING]
  is_other = kinds[1:] in ([SPLADE_POOLING], [DENSE])
  is_other = is_other and "Transformer" in kinds[0]
  if not (is_other or (is_dense and {*kinds[2:]} <= {DENSE, NORMALIZE})):
    raise ValueError(
      f"{path} has the modules {', '.join(kinds) or '(none)'}: known are"
      f" {TRANSFORMER}, {POOLING}, and after these {DENSE} and {NORMALIZE}; or"
      f" {MLM_TRANSFORMER} and {SPLADE_POOLING}; or {TRANSFORMER} and {DENSE}"
      f" (ColBERT); {STATIC} is for kb.StaticEncoder."
    )
  return modules


def _head_of(modules):
  """Returns the kind of the vectors of modules after the transformer."""
  kinds = [module.kind for module in modules]
  if SPLADE_POOLING in kinds:
    return heads.SPARSE
  return heads.LATE if kinds[:1] == [DENSE] else heads.ENCODER


def _read_texts(folder, transformer, head):
  """Returns the `Texts` of a folder."""
  names = map(_TEXTS_FILES.format, _KINDS)
  paths = [os.path.join(transformer.path, name) for name in names]
  path = next(filter(files.exists, paths), paths[0])
  types = {"max_seq_length": _NUMBER, "do_lower_case": (bool, _NONE)}
  values = files.find_json(path, types=types) or {}
  _check(values, "transformer_task", _TASKS[head == heads.SPARSE], path)
  tokenizer_path = os.path.join(transformer.path, _TOKENIZER_FILE)
  tokenizer = files.find_json(
    tokenizer_path, types={"model_max_length": _NUMBER}
  )
  length = values.get("max_seq_length")
  if length is None:
    length = (tokenizer or {}).get("model_max_length")
    path = tokenizer_path
  if length is not None and length < 3:
    raise ValueError(
      f"the longest text ({length} tokens in {path}) is too short."
    )
  do_lower_case = bool(values.get("do_lower_case"))
  prompts = read_prompts(folder, head)
  texts = Texts(length and int(length), do_lower_case, *prompts)
  return _with_late(texts, folder) if head == heads.LATE else texts


def _with_late(texts, folder):
  """Returns `Texts` with the settings of late interaction of a folder."""
  path = os.path.join(folder, _SETTINGS_FILE)
  types = {
    field.name: (type(field.default), _NONE)
    for field in dataclasses.fields(late_interaction.LateInteraction)
  }
  types |= {"skiplist_words": (list, _NONE), "document_length": (int, _NONE)}
  values = files.find_json(path, types=types) or {}
  given = {k: values[k] for k in types if values.get(k) is not None}
  length = given.pop("document_length", _DOCUMENT_LENGTH)
  if "skiplist_words" in given:
    given["skiplist_words"] = tuple(given["skiplist_words"])
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


def read_prompts(folder, head=heads.ENCODER):
  """Returns the prompts of a folder, dict, and the name of the default one."""
  path = os.path.join(folder, _SETTINGS_FILE)
  types = {"prompts": (dict, _NONE), "default_prompt_name": (str, _NONE)}
  values = files.find_json(path, types=types) or {}
  _check(values, "model_type", _ENCODERS[head], path)
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
