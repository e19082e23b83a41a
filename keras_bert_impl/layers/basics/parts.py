"""Parts of an encoder's configuration: each mechanism declares its fields.

A mechanism is one file: its fields with their rules (a `Part`), and the layers
that compute it. `configs.EncoderConfig` inherits from all parts, so that its
fields are flat, as in `bert_config.json`.
"""

import dataclasses
import types
import typing

from keras_bert_impl import options

ACTIVATIONS = (
  *("gelu", "gelu_10", "gelu_new", "quick_gelu", "relu", "relu2", "relu6"),
  *("silu", "mish", "sigmoid", "tanh", "linear"),
)

NORMS = ("layer_norm", "rms_norm")


def field(
  default=dataclasses.MISSING,
  interval="[0, inf)",
  *,
  choices=None,
  shows=False,
  of_pooler=False,
):
  """Returns a field of a part.

  Args:
    default: the default value; without it the field must be given.
    interval: str, of the allowed numbers, as of `options.field`.
    choices: tuple of the allowed values; None for any number in the interval,
      any bool or any text, as the field's annotation says.
    shows: bool, whether its value shows in the shapes of the weights, or
      changes nothing that trained weights compute.
    of_pooler: bool, whether it changes only what the pooler computes.
  """
  metadata = {
    "interval": interval,
    "choices": choices,
    "shows": shows,
    "of_pooler": of_pooler,
  }
  return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True)
class Part:
  """Fields of `configs.EncoderConfig` that belong to one mechanism.

  The class methods are those of one part and take the whole configuration. A
  part may have more, which `ask` asks; their answer may be None.

    tellers(config, dtype): a list with a dict for each layer of new layers that
      tell of positions, each by the name that what it tells has in `positions`,
      the argument of `TransformerBlock`. They are called with the first states,
      float [B, L, H], and `position_ids`, and have `extend`, as of
      `RotaryEmbedding`, for tokens that follow others.
    positions(config, dtype, hidden, position_ids): in place of these, a list
      with a dict of symbolic tensors for each layer; `hidden` are the first
      states, float [B, L, H], `position_ids` int [B, L], or None for the places
      in the row.
    attention(config, dtype, index): the new kind of attention of a layer, the
      argument `kind` of `SelfAttention`; `FullAttention` if no part has one.

  Attributes:
    KIND: str, the `position_embedding_type` that the part is of, or None.
    SWITCH: str, the field without which the part has no effect, or None.
    EXCLUDES: tuple of other parts, whose fields must have their defaults where
      this one is used.
  """

  KIND: typing.ClassVar[str | None] = None
  SWITCH: typing.ClassVar[str | None] = None
  EXCLUDES: typing.ClassVar[tuple] = ()

  def get_config(self):
    """Returns the values of the part's fields, for Keras."""
    return dataclasses.asdict(self)

  @classmethod
  def from_config(cls, config):
    """Returns the part of the values that `get_config` returned."""
    return cls(**config)

  @classmethod
  def of_config(cls, config):
    """Returns the part of a whole configuration."""
    own = dataclasses.fields(cls)
    return cls(**{entry.name: getattr(config, entry.name) for entry in own})

  @classmethod
  def is_used(cls, config):
    """Whether the fields of this part have an effect."""
    is_of_kind = cls.KIND in (None, config.position_embedding_type)
    return is_of_kind and (cls.SWITCH is None or getattr(config, cls.SWITCH))

  @classmethod
  def needs(cls):
    """Returns the field that puts the part to use, in words, for messages."""
    return cls.SWITCH or f"position_embedding_type {cls.KIND!r}"

  @classmethod
  def check(cls, config):
    """Raises ValueError if fields do not go together."""


def fields(part):
  """Returns the `dataclasses.Field`s that a part itself declares."""
  own = vars(part).get("__annotations__", {})
  return [entry for entry in dataclasses.fields(part) if entry.name in own]


def check(config):
  """Checks all fields of a configuration.

  Args:
    config: `configs.EncoderConfig`.

  Raises:
    ValueError: a value is not allowed, has no effect or does not go with
      others; the message names the field, the value and what is allowed.
  """
  for entry in dataclasses.fields(config):
    check_value(entry, getattr(config, entry.name))
  for part in reversed(type(config).__bases__):
    if not part.is_used(config):
      check_defaults(config, fields(part), f"needs {part.needs()}")
      continue
    for other in part.EXCLUDES:
      check_defaults(config, fields(other), f"must be {{}} with {part.needs()}")
    part.check(config)


def ask(question, config, *arguments):
  """Returns the first answer of the parts in use that is not None, or None.

  The question is "tellers", "positions" or "attention"; see `Part` for its
  arguments.
  """
  answer = None
  for part in config.parts_in_use:
    if answer is None and hasattr(part, question):
      answer = getattr(part, question)(config, *arguments)
  return answer


def check_value(entry, value):
  """Raises ValueError if the value of a field is not allowed.

  Args:
    entry: `dataclasses.Field`, as `field` returns it.
    value: its value.
  """
  types_ = typing.get_args(entry.type) or (entry.type,)
  rules, named = entry.metadata, {entry.name: value}
  if rules["choices"]:
    options.check_choice(entry.name, value, rules["choices"])
  elif bool in types_:
    options.check_choice(entry.name, value, (True, False))
  elif isinstance(value, tuple) and tuple[int, ...] in types_:
    for each in value:
      options.check_integers(rules["interval"], **{entry.name: each})
  elif str in types_ or (value is None and types.NoneType in types_):
    return
  elif int in types_:
    options.check_integers(rules["interval"], **named)
  else:
    options.check_numbers(rules["interval"], **named)


def check_defaults(config, entries, why):
  """Raises ValueError unless fields have their defaults.

  Args:
    config: `configs.EncoderConfig`.
    entries: iterable of `dataclasses.Field`.
    why: str, what is wrong with another value, for the message; {} in it is
      the default.
  """
  for entry in entries:
    value = getattr(config, entry.name)
    if value != entry.default:
      raise ValueError(
        f"{entry.name} ({value!r}) {why.format(repr(entry.default))}."
      )
