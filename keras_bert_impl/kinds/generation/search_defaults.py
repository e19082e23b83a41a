"""How texts are searched for, unless it is said: as files have it."""

from keras_bert_impl import files
from keras_bert_impl.checkpoints.descriptions import generation_config
from keras_bert_impl.generation import settings

_OF_DRAWS = ("temperature", "top_k", "top_p")
_OF_BEAMS = ("num_beams", "early_stopping", "length_penalty")


def read(folder, given):
  """Returns {field of `settings.SearchSettings`: value} that files say.

  Args:
    folder: str, of a checkpoint.
    given: {name: value} that counts before them; what contradicts it is left
      out.

  Raises:
    ValueError: a file is damaged.
  """
  found = generation_config.read_search(files.Folder(folder))
  if given.get("num_beams", 1) > 1:
    found.pop("do_sample", None)
  is_drawn = (found | given).get("do_sample", False)
  for name in _OF_BEAMS if is_drawn else _OF_DRAWS:
    found.pop(name, None)
  if "min_new_tokens" in found:
    default = settings.SearchSettings.max_new_tokens
    most = (found | given).get("max_new_tokens", default)
    found["min_new_tokens"] = min(most, found["min_new_tokens"])
  return found
