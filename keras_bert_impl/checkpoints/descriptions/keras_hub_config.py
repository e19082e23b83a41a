"""The file config.json of a preset of KerasHub: what its backbone is.

`save_to_preset` writes the class of the backbone and the arguments of its
constructor. They are read by name; no class is looked up.
"""

from etils import epy

from keras_bert_impl import families, files
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.families import family as family_lib

# Keras, which takes seconds to import, is for those who build models.
with epy.lazy_imports():
  from keras_bert_impl import configs

WEIGHTS_FILE = "model.weights.h5"
# The head of a model with one, alone.
TASK_WEIGHTS_FILE = "task.weights.h5"


def backbones():
  """Returns {class of a backbone: `families.family.Family`}."""
  return {
    family.keras_hub.backbone: family
    for family in families.FAMILIES.values()
    if family.keras_hub
  }


def describes(values):
  """Returns whether a config.json is one that Keras wrote."""
  return "class_name" in values and "model_type" not in values


def from_dict(values, origin):
  """Returns the `Description` in `values`, the content of a config.json.

  What head there is, the weights show.

  Args:
    values: dict.
    origin: str, the file, for messages.

  Raises:
    ValueError: another class, or a variant that we lack.
  """
  name = files.field(values, "class_name", str, origin)
  known = backbones()
  if name not in known:
    raise ValueError(
      f"{origin} describes a {name}; of KerasHub's presets only those of "
      f"{', '.join(sorted(known))} are read."
    )
  family, layout = known[name], known[name].keras_hub
  own = files.field(values, "config", dict, origin)
  family_lib.check_fixed(own, layout.fixed, origin)
  for key in layout.config_keys.values():
    if key not in own:
      raise ValueError(f"{origin} lacks the configuration key {key!r}.")
  fields = {field: own[key] for field, key in layout.config_keys.items()}
  fields |= family.implied | layout.implied | {"model_type": family.name}
  return description.Description(
    configs.EncoderConfig.from_dict(fields, origin)
  )
