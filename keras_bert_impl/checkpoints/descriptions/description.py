"""Descriptions of checkpoints: encoder configuration, head and labels.

The files that hold them are read and written in `config_json` and
`google_config`.
"""

import dataclasses

from etils import epy

from keras_bert_impl import heads
from keras_bert_impl.checkpoints.naming import names
from keras_bert_impl.families import family as family_lib

# Keras, which takes seconds to import, is for those who build models.
with epy.lazy_imports():
  from keras_bert_impl import configs

# Trained weights compute the same without these, which a family may lack.
_OF_TRAINING = {
  "hidden_dropout_prob",
  "inner_dropout",
  "use_scaled_initializer",
}


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
    task: int, the place of the task whose adapters are merged into the weights
      as these are read; None for the weights alone.
  """

  config: "configs.EncoderConfig"
  head: str = heads.ENCODER
  labels: tuple[str, ...] | None = None
  use_pooler: bool = True
  source: dict = dataclasses.field(default_factory=dict)
  task: int | None = None

  @property
  def generates(self):
    """Whether a model of it writes text."""
    goes_on = self.config.reading_direction == "left_to_right"
    return self.head == heads.TEXT_TO_TEXT or (
      self.head == heads.FILL_MASK and goes_on
    )


def undeclared(config):
  """Returns the `Description` of a model of which no file says the head.

  One from left to right predicts tokens where that takes no other weights.
  """
  is_causal = config.reading_direction == "left_to_right"
  return Description(config, heads.FILL_MASK if is_causal else heads.ENCODER)


def complete(declared, shapes, origin):
  """Completes a declared description from the weights: pooler, head, classes.

  Args:
    declared: `Description`, of files beside the weights.
    shapes: dict of our names -> tuple of int.
    origin: str, where the checkpoint is, for messages.

  Raises:
    ValueError: the number of labels is not that of classes.
  """
  head, labels = head_of(shapes), None
  if head == heads.ENCODER and _is_without_weights(declared):
    head = declared.head
  if {head, declared.head} <= set(heads.CLASSIFIERS):
    head = declared.head
  num_classes = shapes.get(names.CLASSIFIER, (None,))[0]
  if head == heads.CLASSIFICATION and num_classes == 1:
    head = heads.REGRESSION
  if head in heads.CLASSIFIERS and head != heads.MULTIPLE_CHOICE:
    labels = declared.labels
    if labels and head != heads.TOKEN_CLASSIFICATION:
      labels = _distinct(labels)
    if labels is None and num_classes != 2:
      labels = default_labels(num_classes)
    if labels and len(labels) != num_classes:
      raise ValueError(
        f"{len(labels)} labels are named in {origin}, but its classifier has "
        f"{num_classes} classes."
      )
  return dataclasses.replace(
    declared, head=head, labels=labels, use_pooler=names.POOLER in shapes
  )


def _is_without_weights(declared):
  """Whether the declared head of a `Description` has no weights of its own."""
  config = declared.config
  return (
    declared.head == heads.FILL_MASK
    and config.tie_word_embeddings
    and not config.decoder_transform
    and not config.decoder_bias
  )


def head_of(shapes):
  """Returns the head that the weights of a model show, one of `heads.HEADS`.

  The weights of classifiers look alike: without a pooler it is a classifier of
  tokens; with one and a single row, it could be one of choices too.

  Args:
    shapes: {our name: tuple of int}.
  """
  return next(name for name in heads.HEADS if _shows(shapes, heads.HEADS[name]))


def differences(config, other, use_pooler=True):
  """Returns the fields that make two encoders compute differently, list of str.

  What shows in the shapes of weights is left out, and dropout.

  Args:
    config: `EncoderConfig`.
    other: `EncoderConfig`.
    use_pooler: bool, whether there is a pooler in both.
  """
  fields = [
    entry.name
    for entry in dataclasses.fields(config)
    if not entry.metadata.get("shows")
    and (use_pooler or not entry.metadata.get("of_pooler"))
  ]
  return [
    f"{field} is {getattr(config, field)!r}, not {getattr(other, field)!r}"
    for field in fields
    if getattr(config, field) != getattr(other, field)
  ]


def check_expressed(description, expressed, whose):
  """Checks that a file expresses all of a configuration.

  Args:
    description: `Description`.
    expressed: `EncoderConfig`, as read from what is to be written.
    whose: str, the format, for messages.

  Raises:
    ValueError: a field has no place in it.
  """
  config, expressed = description.config.explicit(), expressed.explicit()
  for field in dataclasses.fields(config):
    value = getattr(config, field.name)
    if field.metadata["of_pooler"] and not description.use_pooler:
      continue
    if field.name in _OF_TRAINING - config.family.config_keys.keys():
      continue
    # Layers outside of groups have no names in families with groups.
    is_ungrouped = (
      field.name == "num_hidden_groups"
      and value is None
      and field.name in config.family.config_keys
    )
    found = getattr(expressed, field.name)
    if field.name == family_lib.HEAD_SIZE:  # Spelled out, or H / N.
      value, found = config.head_size, expressed.head_size
    if is_ungrouped or value != found:
      raise ValueError(
        f"{field.name} ({value!r}) has no place in {whose}: convert to another "
        "format."
      )


def default_labels(num_classes):
  """Returns the names of `transformers` for classes without names."""
  return tuple(f"LABEL_{index}" for index in range(num_classes))


def _distinct(labels):
  """Returns names of classes, the number behind one that comes again."""
  found = {}  # Probabilities are told by name: none may be lost.
  for index, label in enumerate(labels):
    while label in found:
      label = f"{label}_{index}"
    found[label] = index
  return tuple(found)


def _shows(shapes, head):
  if not all(any(n.startswith(p) for n in shapes) for p in head.prefixes):
    return False
  if head.name not in heads.CLASSIFIERS:
    return True
  num_rows = shapes.get(names.CLASSIFIER, (None,))[0]
  return head.has_pooler == (names.POOLER in shapes) and (
    head.num_rows in (None, num_rows)
  )
