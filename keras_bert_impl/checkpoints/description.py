"""Descriptions of checkpoints: encoder configuration, head and labels.

`config.json`, as `transformers` reads and writes it, has all of them. Google's
`bert_config.json` and `albert_config.json` describe the encoder only, and so
does ours of the same name, which has more keys.
"""

import dataclasses

from absl import logging

from keras_bert_impl import configs, families, files, heads
from keras_bert_impl.checkpoints import names

# What a config.json may leave out.
_OPTIONAL = (
  "hidden_act",
  "hidden_dropout_prob",
  "attention_probs_dropout_prob",
  "type_vocab_size",
  "initializer_range",
  "layer_norm_eps",
)
# Of what is looked at here and not checked by `EncoderConfig`.
_TYPES = {
  "architectures": (list, type(None)),
  "is_decoder": (bool, type(None)),
  "model_type": (str, type(None)),
  "num_labels": (int, type(None)),
  "pad_token_id": (int, type(None)),
}
# Each gets a name before it is known how many classes the weights have.
_MOST_LABELS = 1_000_000
# What the same weights can be used with, but were not trained for.
_BEHAVIOUR = (
  "num_attention_heads",
  "hidden_act",
  "use_causal_mask",
  "position_embedding_type",
  "position_offset",
  "layer_norm_eps",
)


@dataclasses.dataclass(frozen=True)
class Description:
  """Description of a checkpoint: everything but its tensors.

  Attributes:
    config: `configs.EncoderConfig`.
    head: str, one of `heads.HEADS`.
    labels: tuple of str, names of a classifier's classes, or None.
    use_pooler: bool, whether the encoder has a pooler.
    source: dict, the `config.json` it came from, if from one: what else it says
      is written again.
  """

  config: configs.EncoderConfig
  head: str = heads.ENCODER
  labels: tuple[str, ...] | None = None
  use_pooler: bool = True
  source: dict = dataclasses.field(default_factory=dict)


def from_config_json(values, origin):
  """Returns the `Description` in `values`, the content of a config.json.

  Whether there is a pooler, and what head, the weights show better.

  Args:
    values: dict.
    origin: str, the file, for messages.

  Raises:
    ValueError: another family of models, or a variant that we lack.
  """
  files.check_fields(values, _TYPES, origin)
  family = _family(values, origin)
  _check_fixed(values, family, origin)
  keys = family.config_keys
  for field, key in keys.items():
    if field not in _OPTIONAL and key not in values:
      raise ValueError(f"{origin} lacks the configuration key {key!r}.")
  fields = {field: values[key] for field, key in keys.items() if key in values}
  fields |= family.implied | {
    "model_type": family.name,
    "use_causal_mask": bool(values.get("is_decoder", False)),
  }
  if family.position_offset_from_padding:
    pad_id = values.get("pad_token_id")
    fields["position_offset"] = 2 if pad_id is None else pad_id + 1
  if family.always_projects:
    _check_projection(fields, origin)
  return Description(
    configs.EncoderConfig.from_dict(fields, origin),
    _declared_head(values),
    _labels(values, origin),
    source=values,
  )


def to_config_json(description):
  """Returns the content of a config.json; see `from_config_json`.

  Raises:
    ValueError: `transformers` has no such model.
  """
  config, family = _explicit(description.config), description.config.family
  values = dict(description.source or family.constants)
  for field, key in family.config_keys.items():
    values[key] = getattr(config, field)
  values["model_type"] = family.name
  values["architectures"] = [_architecture(config, description.head)]
  if family.position_offset_from_padding:
    values["pad_token_id"] = config.position_offset - 1
  if config.use_causal_mask:
    values["is_decoder"] = True
  if description.labels:
    values["id2label"] = {str(i): n for i, n in enumerate(description.labels)}
    values["label2id"] = {n: i for i, n in enumerate(description.labels)}
  for key in {"dtype", "torch_dtype"} & values.keys():
    values[key] = "float32"  # as all is written
  again = from_config_json(values, "config.json").config
  _check_same(description, again, f"transformers' {family.class_stem}")
  return dict(sorted(values.items()))


def read_bert_config(path):
  """Reads the `EncoderConfig` of the file `path`; see `from_bert_config`.

  Raises:
    FileNotFoundError: there is no such file.
    ValueError: it is not JSON, or as `from_bert_config`.
  """
  values = files.read_json(path, name="Configuration file")
  return from_bert_config(values, path)


def from_bert_config(values, origin):
  """Returns the `EncoderConfig` in a bert_config.json or albert_config.json.

  Args:
    values: dict, written by Google or by `EncoderConfig.to_json_file`.
    origin: str, the file, for messages.

  Raises:
    ValueError: an unknown key, or a value that is not allowed.
  """
  for family in families.FAMILIES.values():
    if "model_type" in values or not family.google:
      continue
    if family.google.mark in values:
      values = _from_google(values, family, origin)
  return configs.EncoderConfig.from_dict(values, origin)


def to_bert_config(description):
  """Returns the content of the configuration file of Google's code.

  Raises:
    ValueError: Google's code has no such model.
  """
  config, google = description.config, description.config.family.google
  if not google:
    raise ValueError(
      f"{config.family.class_stem} has no format of Google's: it was never "
      "released in one. Use safetensors or keras."
    )
  fields = {*config.family.config_keys, *google.own_fields} - {"layer_norm_eps"}
  values = {field: getattr(_explicit(config), field) for field in fields}
  values |= google.constants
  for theirs, ours in google.activations.items():
    if config.hidden_act == ours:
      values["hidden_act"] = theirs
  _check_same(description, from_bert_config(values, "it"), "Google's code")
  return dict(sorted(values.items()))


def complete(declared, shapes, origin):
  """Completes a declared description from the weights: pooler, head, classes.

  Args:
    declared: `Description`, of files beside the weights.
    shapes: dict of our names -> tuple of int.
    origin: str, where the checkpoint is, for messages.

  Raises:
    ValueError: the number of labels is not that of classes.
  """
  head, labels = names.head_of(shapes), None
  if {head, declared.head} <= set(heads.CLASSIFIERS):
    head = declared.head
  num_classes = shapes.get(names.CLASSIFIER, (None,))[0]
  if head == heads.CLASSIFICATION and num_classes == 1:
    head = heads.REGRESSION
  if head in heads.CLASSIFIERS and head != heads.MULTIPLE_CHOICE:
    labels = declared.labels
    if labels is None and num_classes != 2:
      labels = _default_labels(num_classes)
    if labels and len(labels) != num_classes:
      raise ValueError(
        f"{len(labels)} labels are named in {origin}, but its classifier has "
        f"{num_classes} classes."
      )
  return dataclasses.replace(
    declared, head=head, labels=labels, use_pooler=names.POOLER in shapes
  )


def differences(config, other, use_pooler=True):
  """Returns the fields that make two encoders compute differently, list of str.

  What shows in the shapes of weights is left out, and dropout.

  Args:
    config: `EncoderConfig`.
    other: `EncoderConfig`.
    use_pooler: bool, whether there is a pooler in both.
  """
  fields = [*_BEHAVIOUR, *(["pooler_act"] if use_pooler else [])]
  return [
    f"{field} is {getattr(config, field)!r}, not {getattr(other, field)!r}"
    for field in fields
    if getattr(config, field) != getattr(other, field)
  ]


def check_vocab_size(config, num_tokens, vocabulary, model="the model"):
  """Checks that a model has a row for each token of a vocabulary.

  Rows to spare are not unusual, but told.

  Args:
    config: `EncoderConfig`.
    num_tokens: int, of the vocabulary.
    vocabulary: str, its file, for messages.
    model: str, what the configuration is of, for messages.

  Raises:
    ValueError: there are fewer rows than tokens.
  """
  if num_tokens > config.vocab_size:
    raise ValueError(
      f"{vocabulary} holds {num_tokens} tokens, more than the vocab_size "
      f"({config.vocab_size}) of {model}: they do not belong together."
    )
  if num_tokens < config.vocab_size:
    logging.warning(
      "%s holds %d tokens, fewer than the vocab_size (%d) of %s.",
      vocabulary,
      num_tokens,
      config.vocab_size,
      model,
    )


def config_of_shapes(shapes):
  """Infers the configuration of an encoder from the shapes of its weights.

  For releases without a file that says it.

  Args:
    shapes: dict of our names -> tuple of int.

  Returns:
    `EncoderConfig`, or None if these are weights of no such family.
  """
  for family in families.FAMILIES.values():
    beginnings = family.google.only_weights if family.google else ()
    if any(name.startswith(beginnings) for name in shapes):
      try:
        return configs.EncoderConfig(
          model_type=family.name,
          **family.implied,
          **_fields_of_shapes(shapes, family.google.head_size),
        )
      except KeyError:
        return None
  return None


def _fields_of_shapes(shapes, head_size):
  """Infers fields of `EncoderConfig` from the shapes of weights."""
  vocab_size, embedding_size = shapes[names.WORD_EMBEDDINGS]
  kernel = "bert/encoder/layer_0/intermediate/dense/kernel"
  hidden_size, intermediate_size = shapes[kernel]
  return {
    "vocab_size": vocab_size,
    "embedding_size": embedding_size,
    "hidden_size": hidden_size,
    "num_hidden_layers": sum(
      name.startswith("bert/") and name.endswith("self/query/kernel")
      for name in shapes
    ),
    "num_attention_heads": max(1, hidden_size // head_size),
    "intermediate_size": intermediate_size,
    "max_position_embeddings": shapes["bert/embeddings/position_embeddings"][0],
    "type_vocab_size": shapes["bert/embeddings/token_type_embeddings"][0],
  }


def _family(values, origin):
  """Returns the `Family` of a config.json."""
  model_type = values.get("model_type", families.DEFAULT)
  if model_type not in families.FAMILIES:
    raise ValueError(
      f"Unknown model_type {model_type!r} in {origin}; known are "
      f"{', '.join(families.FAMILIES)}."
    )
  return families.FAMILIES[model_type]


def _from_google(values, family, origin):
  """Returns the fields of `EncoderConfig` in a configuration of Google's."""
  _check_fixed(values, family, origin)
  google = family.google
  values = {k: v for k, v in values.items() if k not in google.constants}
  activation = values.get("hidden_act")
  if activation in google.activations:
    values["hidden_act"] = google.activations[activation]
  return values | {"model_type": family.name}


def _check_projection(fields, origin):
  size = fields["hidden_size"]
  if fields["embedding_size"] == size:
    raise ValueError(
      f"embedding_size in {origin} must not be hidden_size ({size}): "
      "transformers' code maps the one to the other even then, Google's and "
      "ours do not."
    )


def _check_same(description, expressed, whose):
  """Raises ValueError if a file cannot express all of a configuration."""
  config = description.config
  for field in dataclasses.fields(config):
    value = getattr(_explicit(config), field.name)
    if field.name == "pooler_act" and not description.use_pooler:
      continue
    if value != getattr(_explicit(expressed), field.name):
      raise ValueError(
        f"{field.name} ({value!r}) has no place in {whose}: convert to another "
        "format."
      )


def _explicit(config):
  """Returns the same configuration with the embedding size spelled out."""
  size = config.embedding_size or config.hidden_size
  return dataclasses.replace(config, embedding_size=size)


def _check_fixed(values, family, origin):
  for key, only in family.fixed.items():
    if values.get(key, only) not in (only, None):
      raise ValueError(
        f"{key} ({values[key]!r}) in {origin} is not supported; only {only!r} "
        "is."
      )


def _declared_head(values):
  """Returns the head named by `architectures`, if it is one of ours."""
  [architecture, *_] = values.get("architectures") or [""]
  # Of two, the one that is last here is the usual one.
  for name, head in reversed(heads.HEADS.items()):
    if name != heads.ENCODER and str(architecture).endswith(head.architecture):
      return name
  return heads.ENCODER


def _architecture(config, head):
  """Returns the name of the class in `transformers`."""
  stem = config.family.class_stem
  if head == heads.FILL_MASK and config.use_causal_mask:
    return stem + config.family.causal_class
  return stem + heads.HEADS[head].architecture


def _labels(values, origin):
  """Returns the names of the classes in order, or None."""
  if "id2label" in values:
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
  return _default_labels(number)


def _default_labels(num_classes):
  """Returns the names of `transformers` for classes without names."""
  return tuple(f"LABEL_{index}" for index in range(num_classes))
