"""The tokenizer of a preset of KerasHub: its vocabulary and its options.

Its tokenizer.json is a configuration, unlike the file of that name of the
`tokenizers` library; the vocabulary is in assets/tokenizer.
"""

import os

from keras_bert_impl import families, files
from keras_bert_impl.families import family as family_lib

_CONFIG = "tokenizer.json"
_ASSETS = os.path.join("assets", "tokenizer")
# {name of a vocabulary: its name elsewhere}; None: a SentencePiece model.
_VOCABULARIES = {
  "vocabulary.txt": "vocab.txt",
  "vocabulary.json": "vocab.json",
  "vocabulary.spm": None,
}
_FILES = _VOCABULARIES | {"merges.txt": "merges.txt"}
# Options of a WordPiece tokenizer that have one value here.
_FIXED = {"split": True, "suffix_indicator": "##"}


def find(folder):
  """Finds the vocabulary in a preset's folder.

  Args:
    folder: `files.Folder`.

  Returns:
    (`files.Folder` that it is in, its name), or None.
  """
  assets = files.Folder(folder.join(_ASSETS))
  if not assets.is_there or _read(folder) is None:
    return None
  found = [name for name in _VOCABULARIES if name in assets.names]
  return (assets, found[0]) if found else None


def options(assets, name):
  """Returns the options of the vocabulary of a preset.

  Args:
    assets: `files.Folder` of any vocabulary.
    name: str, of its file.

  Returns:
    {option: value}, as a tokenizer_config.json here has them; None if it is in
    no preset.

  Raises:
    ValueError: the tokenizer is of a class or does what we do not know.
  """
  folder = files.Folder(os.path.dirname(os.path.dirname(assets.path)))
  is_preset = name in _VOCABULARIES and assets.path.endswith(_ASSETS)
  values = _read(folder) if is_preset else None
  if values is None:
    return None
  origin = folder.join(_CONFIG)
  found = {"family": _family(values["class_name"], origin)}
  own = files.field(values, "config", dict, origin)
  if name == "vocabulary.json":
    found["add_prefix_space"] = own.get("add_prefix_space", False)
  if name == "vocabulary.txt":
    found["do_lower_case"] = own.get("lowercase", False)
    only = _FIXED | ({} if found["do_lower_case"] else {"strip_accents": False})
    family_lib.check_fixed(own, only, origin)
  return found


def files_to_copy(assets, sentencepiece_file):
  """Returns {path: name elsewhere} of the files of a preset's tokenizer.

  Args:
    assets: `files.Folder` of its vocabulary.
    sentencepiece_file: str, what a SentencePiece model is to be called.
  """
  return {
    assets.join(name): _FILES[name] or sentencepiece_file
    for name in assets.names
    if name in _FILES
  }


def _read(folder):
  """Returns the tokenizer.json of a preset, None if it is none."""
  values = folder.find_json(_CONFIG)
  return values if values and "class_name" in values else None


def _family(class_name, origin):
  """Returns the name of the family of a class of tokenizers."""
  known = {
    f"{family.class_stem}Tokenizer": family.name
    for family in families.FAMILIES.values()
    if family.keras_hub
  }
  if class_name not in known:
    raise ValueError(
      f"{origin} describes a {class_name}; of KerasHub's tokenizers only "
      f"{', '.join(sorted(known))} are read."
    )
  return known[class_name]
