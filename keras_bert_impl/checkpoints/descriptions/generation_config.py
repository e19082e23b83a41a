"""generation_config.json of `transformers`: how a model generates text."""

import os

from keras_bert_impl import files
from keras_bert_impl.checkpoints.descriptions import config_json

FILE_NAME = "generation_config.json"
_NONE = type(None)
_TYPES = {
  "bos_token_id": (int, _NONE),
  "decoder_start_token_id": (int, _NONE),
  "eos_token_id": (int, list, _NONE),
  "forced_bos_token_id": (int, _NONE),
  "forced_eos_token_id": (int, list, _NONE),
  "pad_token_id": (int, _NONE),
  "suppress_tokens": (list, _NONE),
}


def read(folder):
  """Returns the ids with a meaning for generation, {key: id or list of ids}.

  Those of generation_config.json count, then those of config.json.

  Args:
    folder: `files.Folder`, of a checkpoint.

  Raises:
    ValueError: a file is damaged.
  """
  values = {}
  for name in (config_json.FILE_NAME, FILE_NAME):
    found = folder.find_json(name, types=_TYPES) or {}
    values |= {k: found[k] for k in _TYPES if found.get(k) is not None}
  return values


def write(source, folder):
  """Writes the file, with all that one of a source says.

  Args:
    source: `files.Folder` of the checkpoint that was read.
    folder: str, in which a config.json may be already.
  """
  values = read(files.Folder(folder)) | read(source)
  values |= source.find_json(FILE_NAME) or {}
  files.write_json(os.path.join(folder, FILE_NAME), values)
