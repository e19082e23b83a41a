"""Ids with a meaning for the search, as a checkpoint's files say them."""

import os

from keras_bert_impl import files
from keras_bert_impl.generation import settings

# The second one counts where both have a key.
_FILES = ("config.json", "generation_config.json")
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
  """Returns `settings.TokenIds` of a folder, and the id that begins a text.

  Args:
    folder: str, of a checkpoint.

  Returns:
    Tuple; the id is None of models without a decoder of their own.

  Raises:
    ValueError: a file is damaged.
  """
  values = {}
  for name in _FILES:
    path = os.path.join(folder, name)
    found = files.find_json(path, types=_TYPES) or {}
    values |= {k: v for k, v in found.items() if k in _TYPES and v is not None}
  end = _several(values.get("eos_token_id"))
  [last, *_] = [*_several(values.get("forced_eos_token_id")), None]
  padding = values.get("pad_token_id", end[0] if end else 0)
  tokens = settings.TokenIds(
    end=end,
    padding=padding,
    first=values.get("forced_bos_token_id"),
    last=last,
    banned=_several(values.get("suppress_tokens")),
  )
  start = values.get("decoder_start_token_id", values.get("bos_token_id"))
  return tokens, start


def _several(ids):
  """Returns an id, a list of them or None as a tuple."""
  return () if ids is None else (ids,) if isinstance(ids, int) else tuple(ids)
