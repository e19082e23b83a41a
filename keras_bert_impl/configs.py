"""Configuration of the encoder: the fields of `bert_config.json`, and presets.

A family is a configuration, not a class: fields of `EncoderConfig` hold every
difference in computation between released sizes and families; all other
differences are data in `families`.
"""

import dataclasses
import functools
import json
import pathlib

from keras_bert_impl import calls, families, files
from keras_bert_impl.layers.attention import (
  alibi,
  buckets,
  disentangled,
  global_tokens,
  rotary,
  self_attention,
  window,
)
from keras_bert_impl.layers.basics import parts
from keras_bert_impl.layers.blocks import (
  convolution,
  decoder,
  embeddings,
  projected_lstm,
  transformer_block,
  two_stream_block,
)
from keras_bert_impl.layers.heads import pooling

# In every bert_config.json Google released since November 2018, and in those of
# albert_zh; of no meaning for what we compute.
_HISTORICAL_KEYS = frozenset(
  {
    "directionality",
    "ln_type",
    "pooler_fc_size",
    "pooler_num_attention_heads",
    "pooler_num_fc_layers",
    "pooler_size_per_head",
    "pooler_type",
  }
)

# The deepest published model has so many (Wang et al. 2022, DeepNet). Layers
# that share their parameters do not show in a checkpoint's size, but each takes
# time and memory.
_MAX_HIDDEN_LAYERS = 1000

# Positive integers, which every configuration has.
SIZES = (
  "vocab_size",
  "hidden_size",
  "num_hidden_layers",
  "num_attention_heads",
  "intermediate_size",
  "max_position_embeddings",
)


@dataclasses.dataclass(frozen=True)
class SizesConfig(parts.Part):
  """Fields that every mechanism reads: sizes, rates and kinds.

  Attributes:
    vocab_size: V, number of word pieces.
    hidden_size: H.
    num_hidden_layers: number of transformer blocks, at most 1,000.
    num_attention_heads: N.
    attention_head_size: D, of each head; None: H / N.
    intermediate_size: I, width of the feed-forward layer.
    hidden_act: one of `parts.ACTIVATIONS`; "gelu" is the exact (erf) form,
      "gelu_new" the one with tanh (ALBERT's); see `kernels.activation`.
    hidden_dropout_prob: dropout of embeddings and block outputs, in [0, 1).
    attention_probs_dropout_prob: dropout of the attention probabilities.
    initializer_range: standard deviation of the truncated normal initializer.
    layer_norm_eps: added to the variance in LayerNorm.
    position_embedding_type: "learned", "sinusoidal" or "sinusoidal_halves",
      added to the input; "none"; or the `KIND` of another part, such as
      "rotary".
    model_type: a key of `families.FAMILIES`, the family whose published
      checkpoints have this model's layout. SpanBERT's is BERT's.
  """

  vocab_size: int = parts.field(interval="[1, inf)", shows=True)
  hidden_size: int = parts.field(768, "[1, inf)", shows=True)
  num_hidden_layers: int = parts.field(
    12, f"[1, {_MAX_HIDDEN_LAYERS}]", shows=True
  )
  num_attention_heads: int = parts.field(12, "[1, inf)")
  attention_head_size: int | None = parts.field(None, "[1, inf)")
  intermediate_size: int = parts.field(3072, "[1, inf)", shows=True)
  hidden_act: str = parts.field("gelu", choices=parts.ACTIVATIONS)
  hidden_dropout_prob: float = parts.field(0.1, "[0, 1)", shows=True)
  attention_probs_dropout_prob: float = parts.field(0.1, "[0, 1)", shows=True)
  initializer_range: float = parts.field(0.02, shows=True)
  layer_norm_eps: float = parts.field(1e-12)
  position_embedding_type: str = parts.field("learned")
  model_type: str = parts.field(families.DEFAULT, shows=True)

  @property
  def dropout_rate(self):
    """Rate of dropout where hidden states are dropped, float."""
    return self.hidden_dropout_prob

  @property
  def head_size(self):
    """Size of each attention head, int."""
    return (
      self.attention_head_size or self.hidden_size // self.num_attention_heads
    )

  @property
  def block_options(self):
    """Arguments of the constructors of blocks that all of them have, dict."""
    return {
      "num_heads": self.num_attention_heads,
      "intermediate_size": self.intermediate_size,
      "activation": self.hidden_act,
      "dropout_rate": self.hidden_dropout_prob,
      "attention_dropout_rate": self.attention_probs_dropout_prob,
      "layer_norm_eps": self.layer_norm_eps,
      "initializer_range": self.initializer_range,
    }

  def without_dropout(self):
    """Returns the same configuration with rates of 0."""
    return dataclasses.replace(
      self, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )

  def check_positions(self, kind, what):
    """Raises ValueError unless positions are of a kind.

    Args:
      kind: str, a `position_embedding_type`.
      what: str, what needs it, for the message.
    """
    if self.position_embedding_type != kind:
      raise ValueError(
        f"position_embedding_type ({self.position_embedding_type!r}) must be"
        f" {kind!r} in the encoder configuration for {what}."
      )

  @classmethod
  def check(cls, config):
    """Raises ValueError if heads do not divide H, or the kind is unknown."""
    size, heads = config.hidden_size, config.num_attention_heads
    if config.attention_head_size is None and size % heads:
      raise ValueError(
        f"hidden_size ({size}) must be a multiple of num_attention_heads"
        f" ({heads}) where attention_head_size is None."
      )
    kinds = [part.KIND for part in type(config).__bases__ if part.KIND]
    for name, known in (
      ("position_embedding_type", (*embeddings.TABLES, "none", *kinds)),
      ("model_type", families.FAMILIES),
    ):
      value = getattr(config, name)
      if value not in known:
        raise ValueError(f"{name} ({value!r}) must be one of {[*known]}.")


# A part comes before the parts that it builds on.
@calls.checked_init
@dataclasses.dataclass(frozen=True)
class EncoderConfig(
  pooling.PoolerConfig,
  two_stream_block.TransformerXLConfig,
  decoder.DecoderConfig,
  projected_lstm.RecurrentConfig,
  convolution.ConvolutionConfig,
  global_tokens.GlobalTokensConfig,
  window.WindowConfig,
  disentangled.DisentangledConfig,
  alibi.AlibiConfig,
  rotary.RotaryConfig,
  buckets.BucketsConfig,
  transformer_block.BlockConfig,
  self_attention.HeadsConfig,
  self_attention.DirectionConfig,
  embeddings.EmbeddingsConfig,
  SizesConfig,
):
  """Everything that defines an encoder, such as `models.TransformerEncoder`.

  Its fields are those of `bert_config.json`, with its names and BERT-Base's
  values, and this library's own. Each is described where it is computed: in the
  parts that the class inherits from.

  Raises:
    ValueError: a value outside what is allowed, without effect, or that does
      not go with others.

  Source: Devlin et al. 2019, section 3; google-research/bert, modeling.py;
  Lan et al. 2020, section 3.1 (sharing); Liu et al. 2019 (positions, in the
  released code only).
  """

  def __post_init__(self):
    parts.check(self)

  @functools.cached_property
  def parts_in_use(self):
    """The parts whose fields have an effect, a tuple of classes."""
    return tuple(p for p in type(self).__bases__ if p.is_used(self))

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
    known = [field.name for field in dataclasses.fields(cls)]
    _check_keys(values, known, origin)
    fields = {k: _frozen(values[k]) for k in known if k in values}
    try:
      return cls(**fields)
    except ValueError as error:
      raise ValueError(f"{error} See {origin}.") from error

  @classmethod
  def from_json_file(cls, path):
    """Returns the configuration in the JSON file `path`.

    Raises:
      FileNotFoundError: there is no such file.
      ValueError: it is not JSON, or as `from_dict`; names the file.
    """
    values = files.read_json(path, name="Configuration file")
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
        f"preset ({name!r}) must be one of {', '.join(PRESETS)}."
      )
    return dataclasses.replace(PRESETS[name], **changes)

  @property
  def family(self):
    """The `families.family.Family`, of `model_type`."""
    return families.FAMILIES[self.model_type]

  def to_dict(self):
    """Returns all fields as a dict; the inverse of `from_dict`."""
    return dataclasses.asdict(self)

  def to_json_file(self, path):
    """Writes all fields to the file `path`; see `from_json_file`."""
    text = json.dumps(self.to_dict(), indent=2) + "\n"
    pathlib.Path(path).write_text(text, encoding="utf-8")


def _frozen(value):
  """Returns a value of a field, which JSON has as a list if it is a tuple."""
  return tuple(value) if isinstance(value, list) else value


def _check_keys(values, known, origin):
  """Raises ValueError unless `values` are a dict of known fields."""
  if not isinstance(values, dict):
    raise ValueError(
      f"{origin} must hold one object of configuration fields, not a "
      f"{type(values).__name__}."
    )
  unknown = sorted(set(values) - set(known) - _HISTORICAL_KEYS)
  if unknown:
    raise ValueError(
      f"Unknown configuration key {unknown[0]!r} in {origin}; known keys "
      f"are {', '.join(known)}."
    )
  if "vocab_size" not in values:
    raise ValueError(f"{origin} lacks the configuration key 'vocab_size'.")


PRESETS = {
  name: EncoderConfig(**fields, model_type=family.name)
  for family in families.FAMILIES.values()
  for name, fields in family.presets.items()
}
