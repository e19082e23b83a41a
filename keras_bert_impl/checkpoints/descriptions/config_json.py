"""The file config.json of `transformers`: configuration, head and labels."""

import dataclasses
import difflib

from absl import logging
from etils import epy

from keras_bert_impl import families, files, heads
from keras_bert_impl.checkpoints.descriptions import (
  description as description_lib,
)
from keras_bert_impl.checkpoints.descriptions import keras_hub_config
from keras_bert_impl.checkpoints.naming import adapters
from keras_bert_impl.families import family as family_lib

# Keras, which takes seconds to import, is for those who build models.
with epy.lazy_imports():
  from keras_bert_impl import configs

FILE_NAME = "config.json"

# Types of keys that are no fields, which `EncoderConfig` would check.
_TYPES = {
  "architectures": (list, type(None)),
  "is_decoder": (bool, type(None)),
  "model_type": (str, type(None)),
  "num_labels": (int, type(None)),
  "pad_token_id": (int, type(None)),
}
_HEAD_SIZE = family_lib.HEAD_SIZE
# Each gets a name before it is known how many classes the weights have.
_MOST_LABELS = 1_000_000


def find(folder):
  """Reads the `Description` in the config.json of a folder, None without one.

  It may be that of a preset of KerasHub.

  Args:
    folder: `files.Folder`.

  Raises:
    ValueError: as `from_dict`, or `keras_hub_config.from_dict`; or there is no
      such adapter.
  """
  values = folder.find_json(FILE_NAME)
  if values is None and folder.adapter:
    raise ValueError(
      f"?adapter={folder.adapter} must be left out: there is no {FILE_NAME} in"
      f" {folder.path}, which names adapters."
    )
  if values is None:
    return None
  path = folder.join(FILE_NAME)
  if "auto_map" in values:
    logging.info("%s names code of its own, which is not run.", path)
  is_preset = keras_hub_config.describes(values)
  read = keras_hub_config.from_dict if is_preset else from_dict
  found = read(values, path)
  task = _task(values, found.config.family, folder, path)
  return dataclasses.replace(found, task=task)


def _task(values, family, folder, path):
  """Returns the place of the task of an adapter among those in the weights.

  None without an adapter, or with one in a folder of its own.
  """
  tasks = values.get(family.tasks_key)
  known = [*map(str, tasks)] if isinstance(tasks, list) else []
  if folder.adapter in known:
    return known.index(folder.adapter)
  if folder.adapter:
    beside = adapters.folders(folder)
    if folder.adapter in beside:
      return None
    raise ValueError(
      f"?adapter={folder.adapter} must be left out, or name an adapter of"
      f" {path}: {', '.join(known + beside) or 'it has none'}."
    )
  if known:
    logging.info(
      "%s has adapters for %s, of which none is used: ?adapter=NAME after its"
      " path chooses one.",
      path,
      ", ".join(known),
    )
  return None


def check_declared(found, path):
  """Raises FileNotFoundError without a `Description` of the weights `path`."""
  if found is None:
    raise FileNotFoundError(
      f"There is no {FILE_NAME} beside {path}: it says what the weights are."
    )


def from_dict(values, origin):
  """Returns the `Description` in `values`, the content of a config.json.

  Whether there is a pooler, and what head, the weights show better.

  Args:
    values: dict.
    origin: str, the file, for messages.

  Raises:
    ValueError: another family of models, or a variant that we lack.
  """
  files.check_fields(values, _TYPES, origin)
  family, source = _family(values, origin), values
  family_lib.check_fixed(values, family.fixed, origin)
  values = family.read(values, origin) if family.read else values
  keys = family.config_keys
  # Without a family, what says no sizes is a file of something else.
  for field in () if "model_type" in source else configs.SIZES:
    if keys[field] not in values:
      raise ValueError(f"{origin} lacks the configuration key {keys[field]!r}.")
  fields = family.defaults | {
    field: _value(family, key, values[key], origin)
    for field, key in keys.items()
    if key in values
  }
  fields |= family.implied | {"model_type": family.name}
  fields[_HEAD_SIZE] = _head_size(values, family)
  if not _says_direction(family):
    fields["use_causal_mask"] = bool(values.get("is_decoder", False))
  return description_lib.Description(
    configs.EncoderConfig.from_dict(fields, origin),
    _declared_head(values, family),
    _labels(values, origin),
    source=source,
  )


def to_dict(description):
  """Returns the content of a config.json; see `from_dict`.

  Raises:
    ValueError: `transformers` has no such model.
  """
  config = description.config.explicit()
  family = config.family
  values = dict(description.source or family.constants)
  known = _known_fields(description)
  for field, key in family.config_keys.items():
    value = getattr(config, field)
    if field in known and known[field] == value:
      continue
    values[key] = value
    for theirs, ours in family.values.get(key, {}).items():
      if ours == value:
        values[key] = theirs
        break
  values.pop(family.head_size_key, None)
  is_own = family.head_size_key != _HEAD_SIZE
  if is_own or config.attention_head_size is not None:
    values[family.head_size_key] = config.head_size
  values["model_type"] = family.name
  values["architectures"] = [_architecture(config, description.head)]
  if heads.MULTI_LABEL in (description.head, _declared_head(values, family)):
    values["problem_type"] = heads.HEADS[description.head].problem_type
  if config.use_causal_mask and not _says_direction(family):
    values["is_decoder"] = True
  if family.write:
    values = family.write(values, config)
  if description.labels:
    values["id2label"] = {str(i): n for i, n in enumerate(description.labels)}
    values["label2id"] = {n: i for i, n in enumerate(description.labels)}
  for key in {"dtype", "torch_dtype"} & values.keys():
    values[key] = "float32"  # as all is written
  again = from_dict(values, FILE_NAME).config
  description_lib.check_expressed(
    description, again, f"transformers' {family.class_stem}"
  )
  return dict(sorted(values.items()))


def _known_fields(description):
  """Returns {field: value} of fields that need not be written with that value.

  They are those of the file that was read, whose keys stay as they are. Without
  a file, they are those that a family leaves out with a default of None.
  """
  if description.source:
    config = from_dict(description.source, FILE_NAME).config
    return dataclasses.asdict(config.explicit())
  defaults = description.config.family.defaults
  nothing = {field: x for field, x in defaults.items() if x is None}
  plain = dataclasses.replace(description.config, **nothing).explicit()
  return {field: getattr(plain, field) for field in nothing}


def _family(values, origin):
  """Returns the `Family` of a config.json."""
  model_type = values.get("model_type", families.DEFAULT)
  for family in families.FAMILIES.values():
    is_marked = family.marks and family.marks.items() <= values.items()
    if is_marked or model_type in family.old_names:
      return family
  if model_type not in families.FAMILIES:
    near = difflib.get_close_matches(str(model_type), families.FAMILIES, 1, 0)
    raise ValueError(
      f"Unknown model_type {model_type!r} in {origin}; the nearest known one is"
      f" {near[0]!r}, and all are {', '.join(families.FAMILIES)}."
    )
  return families.FAMILIES[model_type]


def _head_size(values, family):
  """Returns the size of a head in a config.json; None where it is H / N."""
  size = values.get(family.head_size_key, family.defaults.get(_HEAD_SIZE))
  keys = map(family.config_keys.get, ("hidden_size", "num_attention_heads"))
  hidden, heads = map(values.get, keys)
  is_own = family.head_size_key != _HEAD_SIZE
  are_known = all(isinstance(x, int) for x in (size, hidden, heads))
  return None if is_own and are_known and size * heads == hidden else size


def _says_direction(family):
  """Whether a family says itself what a position sees."""
  return "use_causal_mask" in family.config_keys | family.implied


def _value(family, key, value, origin):
  """Returns our value of a key of a config.json."""
  known = family.values.get(key)
  if known is None:
    is_name = isinstance(value, str)
    return family_lib.ACTIVATIONS.get(value, value) if is_name else value
  if isinstance(value, list):  # Of choices that may be joined by bars.
    value = "|".join(map(str, value)) or None
  if value not in known:
    raise ValueError(
      f"{key} ({value!r}) in {origin} must be one of {[*known]}."
    )
  return known[value]


def _declared_head(values, family):
  """Returns the head that a config.json names, if it is one of ours."""
  [architecture, *_] = values.get("architectures") or [""]
  bare = heads.HEADS[heads.ENCODER].architecture
  for name, own in family.architectures.items():
    if own not in (None, bare) and str(architecture).endswith(own):
      return name
  # The usual head comes last of those with one architecture.
  for name, head in reversed(heads.HEADS.items()):
    is_named = str(architecture).endswith(head.architecture)
    is_such = head.problem_type in (None, values.get("problem_type"))
    if name != heads.ENCODER and is_named and is_such:
      return name
  return heads.ENCODER


def _architecture(config, head):
  """Returns the name of the class in `transformers`."""
  stem = config.family.class_stem
  if head == heads.FILL_MASK and config.use_causal_mask:
    return stem + config.family.causal_class
  own = config.family.architectures.get(head, heads.HEADS[head].architecture)
  if own is None:
    raise ValueError(
      f"transformers has no model of {stem} with the head {head!r}: convert to "
      "another format."
    )
  return stem + own


def _labels(values, origin):
  """Returns the names of the classes in order, or None."""
  if values.get("id2label") is not None:
    try:
      by_id = {int(i): str(name) for i, name in values["id2label"].items()}
      return tuple(by_id[i] for i in range(len(by_id)))
    except (AttributeError, KeyError, ValueError) as error:
      raise ValueError(
        f"id2label in {origin} does not name the classes 0, 1, 2, ..."
      ) from error
  number = values.get("num_labels")
  if number is None:
    return None
  if not 0 < number <= _MOST_LABELS:
    raise ValueError(
      f"num_labels in {origin} must be in [1, {_MOST_LABELS}], not {number}."
    )
  return description_lib.default_labels(number)
