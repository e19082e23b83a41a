"""Ids with a meaning for the search, as a checkpoint's files say them."""

from keras_bert_impl import files
from keras_bert_impl.checkpoints.descriptions import generation_config
from keras_bert_impl.generation import settings


def read(folder):
  """Returns `settings.TokenIds` of a folder, and the id that begins a text.

  Args:
    folder: str, of a checkpoint.

  Returns:
    Tuple; the id is None of models without a decoder of their own.

  Raises:
    ValueError: a file is damaged.
  """
  values = generation_config.read(files.Folder(folder))
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
