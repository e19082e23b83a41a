"""Configuration of the encoder: the fields of `bert_config.json`, and presets.

A family is a configuration, not a class: whatever distinguishes one released
size or family from another is a field of `EncoderConfig`.
"""

import dataclasses
import json
import pathlib

ACTIVATIONS = ("gelu", "relu", "tanh", "linear")
POSITION_EMBEDDING_TYPES = ("learned", "sinusoidal")

# In every bert_config.json Google released since November 2018; read by no
# code of theirs or ours.
_HISTORICAL_KEYS = frozenset(
  {
    "directionality",
    "pooler_fc_size",
    "pooler_num_attention_heads",
    "pooler_num_fc_layers",
    "pooler_size_per_head",
    "pooler_type",
  }
)

_POSITIVE_INTEGERS = (
  "vocab_size",
  "hidden_size",
  "num_hidden_layers",
  "num_attention_heads",
  "intermediate_size",
  "max_position_embeddings",
  "type_vocab_size",
)


@dataclasses.dataclass(frozen=True)
class EncoderConfig:
  """Everything that defines a `models.TransformerEncoder`.

  The fields down to `initializer_range` are those of `bert_config.json`, with
  its names and BERT-Base's values; the rest are this library's own.

  Attributes:
    vocab_size: V, number of word pieces.
    hidden_size: H, a multiple of `num_attention_heads`.
    num_hidden_layers: number of transformer blocks.
    num_attention_heads: N.
    intermediate_size: I, width of the feed-forward layer.
    hidden_act: one of `ACTIVATIONS`; "gelu" is the exact (erf) form.
    hidden_dropout_prob: dropout of embeddings and block outputs, in [0, 1).
    attention_probs_dropout_prob: dropout of the attention probabilities.
    max_position_embeddings: longest sequence.
    type_vocab_size: number of segments.
    initializer_range: standard deviation of the truncated normal initializer.
    embedding_size: E, width of the embedding tables; None means H. If it
      differs from H, a dense layer maps E to H (as in ALBERT and ELECTRA).
    position_embedding_type: one of `POSITION_EMBEDDING_TYPES`.
    use_causal_mask: whether a position sees only itself and what precedes it.
    use_pooler: whether there is a `pooled_output`.
    layer_norm_eps: added to the variance in LayerNorm.

  Raises:
    ValueError: a value outside what is allowed.

  Source: Devlin et al. 2019, section 3; google-research/bert, modeling.py.
  """

  vocab_size: int
  hidden_size: int = 768
  num_hidden_layers: int = 12
  num_attention_heads: int = 12
  intermediate_size: int = 3072
  hidden_act: str = "gelu"
  hidden_dropout_prob: float = 0.1
  attention_probs_dropout_prob: float = 0.1
  max_position_embeddings: int = 512
  type_vocab_size: int = 2
  initializer_range: float = 0.02
  embedding_size: int | None = None
  position_embedding_type: str = "learned"
  use_causal_mask: bool = False
  use_pooler: bool = True
  layer_norm_eps: float = 1e-12

  def __post_init__(self):
    for name in _POSITIVE_INTEGERS:
      _check_positive_integer(name, getattr(self, name))
    if self.embedding_size is not None:
      _check_positive_integer("embedding_size", self.embedding_size)
    if self.hidden_size % self.num_attention_heads:
      raise ValueError(
        f"hidden_size ({self.hidden_size}) must be a multiple of "
        f"num_attention_heads ({self.num_attention_heads})."
      )
    for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
      _check_number(name, getattr(self, name), 0.0, 1.0)
    for name in ("initializer_range", "layer_norm_eps"):
      _check_number(name, getattr(self, name), 0.0, float("inf"))
    _check_choice("hidden_act", self.hidden_act, ACTIVATIONS)
    _check_choice(
      "position_embedding_type",
      self.position_embedding_type,
      POSITION_EMBEDDING_TYPES,
    )
    for name in ("use_causal_mask", "use_pooler"):
      _check_choice(name, getattr(self, name), (True, False))

  @classmethod
  def from_dict(cls, values, origin="the given dictionary"):
    """Returns the configuration of `values`.

    Args:
      values: dict of field names; keys that Google's files carry without
        meaning (`directionality`, `pooler_type`, ...) are dropped.
      origin: str, where `values` came from, for error messages.

    Raises:
      ValueError: an unknown key, no `vocab_size`, or a value not allowed.
    """
    if not isinstance(values, dict):
      raise ValueError(
        f"{origin} must hold one object of configuration fields, not a "
        f"{type(values).__name__}."
      )
    known = [field.name for field in dataclasses.fields(cls)]
    unknown = sorted(set(values) - set(known) - _HISTORICAL_KEYS)
    if unknown:
      raise ValueError(
        f"Unknown configuration key {unknown[0]!r} in {origin}; known keys "
        f"are {', '.join(known)}."
      )
    if "vocab_size" not in values:
      raise ValueError(f"{origin} lacks the configuration key 'vocab_size'.")
    fields = {name: values[name] for name in known if name in values}
    try:
      return cls(**fields)
    except ValueError as error:
      raise ValueError(f"{error} See {origin}.") from error

  @classmethod
  def from_json_file(cls, path):
    """Returns the configuration in the JSON file `path`.

    Raises:
      ValueError: no such file, not JSON, or as `from_dict`; names the file.
    """
    path = pathlib.Path(path)
    if not path.is_file():
      raise ValueError(f"There is no configuration file {path}.")
    try:
      values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
      raise ValueError(f"{path} is not a JSON file: {error}.") from error
    return cls.from_dict(values, origin=str(path))

  @classmethod
  def preset(cls, name, **changes):
    """Returns the released size `name`, a key of `PRESETS`.

    Args:
      name: str, such as "bert_base" or "bert_L-4_H-256".
      **changes: fields to set otherwise, such as `vocab_size`.

    Raises:
      ValueError: an unknown name, or a value not allowed.
    """
    if name not in PRESETS:
      raise ValueError(
        f"Unknown preset {name!r}; known presets are {', '.join(PRESETS)}."
      )
    return dataclasses.replace(PRESETS[name], **changes)

  def to_dict(self):
    """Returns all fields as a dict; the inverse of `from_dict`."""
    return dataclasses.asdict(self)

  def to_json_file(self, path):
    """Writes all fields to the file `path`; see `from_json_file`."""
    text = json.dumps(self.to_dict(), indent=2) + "\n"
    pathlib.Path(path).write_text(text, encoding="utf-8")


def _check_positive_integer(name, value):
  if isinstance(value, bool) or not isinstance(value, int) or value < 1:
    raise ValueError(f"{name} ({value!r}) must be a positive integer.")


def _check_number(name, value, low, high):
  is_number = isinstance(value, int | float) and not isinstance(value, bool)
  if not is_number or not low <= value < high:
    raise ValueError(f"{name} ({value!r}) must be in [{low}, {high}).")


def _check_choice(name, value, allowed):
  if value not in allowed:
    raise ValueError(f"{name} ({value!r}) must be one of {list(allowed)}.")


def _released_size(num_hidden_layers, hidden_size):
  """Returns a released uncased BERT: heads of 64, I = 4 H."""
  return EncoderConfig(
    vocab_size=30522,
    hidden_size=hidden_size,
    num_hidden_layers=num_hidden_layers,
    num_attention_heads=hidden_size // 64,
    intermediate_size=4 * hidden_size,
  )


# Turc et al. 2019, "Well-Read Students Learn Better": the 24 small sizes.
_SMALL_SIZES = {
  f"bert_L-{layers}_H-{hidden}": _released_size(layers, hidden)
  for layers in (2, 4, 6, 8, 10, 12)
  for hidden in (128, 256, 512, 768)
}

PRESETS = {
  "bert_tiny": _SMALL_SIZES["bert_L-2_H-128"],
  "bert_mini": _SMALL_SIZES["bert_L-4_H-256"],
  "bert_small": _SMALL_SIZES["bert_L-4_H-512"],
  "bert_medium": _SMALL_SIZES["bert_L-8_H-512"],
  "bert_base": _released_size(12, 768),
  "bert_large": _released_size(24, 1024),
  **_SMALL_SIZES,
}
