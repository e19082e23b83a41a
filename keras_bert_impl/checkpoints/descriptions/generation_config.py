"""generation_config.json of `transformers`: how a model generates text."""

import os

from keras_bert_impl import files
from keras_bert_impl.checkpoints.descriptions import config_json

FILE_NAME = "generation_config.json"
_NONE = type(None)
_TYPES = {
  "bad_words_ids": (list, _NONE),
  "bos_token_id": (int, _NONE),
  "decoder_start_token_id": (int, _NONE),
  "eos_token_id": (int, list, _NONE),
  "forced_bos_token_id": (int, _NONE),
  "forced_eos_token_id": (int, list, _NONE),
  "pad_token_id": (int, _NONE),
  "suppress_tokens": (list, _NONE),
}
_NUMBER = (int, float, _NONE)
_SEARCH_TYPES = {
  "do_sample": (bool, _NONE),
  "early_stopping": (bool, str, _NONE),
  "length_penalty": _NUMBER,
  "max_length": (int, _NONE),
  "max_new_tokens": (int, _NONE),
  "min_length": (int, _NONE),
  "min_new_tokens": (int, _NONE),
  "no_repeat_ngram_size": (int, _NONE),
  "num_beams": (int, _NONE),
  "repetition_penalty": _NUMBER,
  "temperature": _NUMBER,
  "top_k": (int, _NONE),
  "top_p": _NUMBER,
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


def read_search(folder):
  """Returns how a model's texts are searched for, {key of the file: value}.

  Those of generation_config.json count; of folders without one, as they were
  before it, those of config.json. Lengths are those of what is written, without
  the token with which a decoder begins; of models that have no decoder, they
  would include the prompt, and are left out.

  Args:
    folder: `files.Folder`, of a checkpoint.

  Raises:
    ValueError: a file is damaged.
  """
  names = (config_json.FILE_NAME, FILE_NAME)
  model, own = (folder.find_json(name, types=_SEARCH_TYPES) for name in names)
  source = own or model or {}
  values = {k: source[k] for k in _SEARCH_TYPES if source.get(k) is not None}
  has_decoder = (model or {}).get("is_encoder_decoder")
  for end in ("min", "max"):
    length = values.pop(f"{end}_length", 0)
    if has_decoder and length > 1:
      values.setdefault(f"{end}_new_tokens", length - 1)
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
