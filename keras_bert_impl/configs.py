"""Configuration of the encoder: the fields of `bert_config.json`, and presets.

A family is a configuration, not a class: fields of `EncoderConfig` hold every
difference in computation between released sizes and families; all other
differences are data in `families`.
"""

import dataclasses
import json
import pathlib

from keras_bert_impl import config_checks, families, files, options

ACTIVATIONS = ("gelu", "gelu_new", "relu", "silu", "tanh", "linear")
POSITION_EMBEDDING_TYPES = (
  "learned",
  "sinusoidal",
  "none",
  "rotary",
  "recurrent",
  "transformer_xl",
)
CAUSAL_DIRECTIONS = ("left_to_right", "right_to_left", "both")

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

# Of Wang et al. 2022 (DeepNet), the deepest published. Layers that share their
# parameters do not show in a checkpoint's size, but each takes time and memory.
_MAX_HIDDEN_LAYERS = 1000

# A bucket of each distance that is told apart, before and after.
_MOST_BUCKETS = 256

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
class EncoderConfig:
  """Everything that defines a `models.TransformerEncoder`.

  The fields down to `initializer_range` are those of `bert_config.json`, with
  its names and BERT-Base's values; the rest are this library's own.

  Attributes:
    vocab_size: V, number of word pieces.
    hidden_size: H, a multiple of `num_attention_heads`.
    num_hidden_layers: number of transformer blocks, at most 1,000.
    num_attention_heads: N.
    intermediate_size: I, width of the feed-forward layer.
    hidden_act: one of `ACTIVATIONS`; "gelu" is the exact (erf) form,
      "gelu_new" the one with tanh (ALBERT's).
    hidden_dropout_prob: dropout of embeddings and block outputs, in [0, 1).
    attention_probs_dropout_prob: dropout of the attention probabilities.
    max_position_embeddings: rows of the position table; see `longest_input`.
    type_vocab_size: number of segments; with 1, segment ids are ignored; with
      0, there are no embeddings of them.
    initializer_range: standard deviation of the truncated normal initializer.
    embedding_size: E, width of the embedding tables; None means H. If it
      differs from H, a dense layer maps E to H (as in ALBERT and ELECTRA).
    position_embedding_type: one of `POSITION_EMBEDDING_TYPES`; "none" adds none
      to the input; "rotary" turns queries and keys; "recurrent" is of
      `models.ElmoEncoder`, LSTMs with I units; "transformer_xl" is of
      `models.XLNetEncoder`, with fields `clamp_len` to `summary_use_proj`.
    use_causal_mask: whether a position sees only itself and what precedes it.
    causal_direction: "right_to_left": it sees what follows it instead; "both":
      the encoder is a `models.BidirectionalPair`, one for each, H wide each.
    pooler_act: activation of the pooler, where a model has one; one of
      `ACTIVATIONS`.
    layer_norm_eps: added to the variance in LayerNorm.
    num_hidden_groups: groups of layers that share their parameters, which
      divide the layers evenly; None gives every layer its own (ALBERT: 1).
    position_offset: row of the position table that the first token takes; the
      row before it is that of padding (RoBERTa: 2; else 0).
    relative_attention_num_buckets: number of buckets of distances between
      tokens, each with a bias of attention, which all layers share; even, 4 to
      256, or 0; see `layers.RelativePositionBias` (MPNet: 32; else 0).
    clamp_len: largest distance between tokens that is told apart; without
      limit if it is not positive.
    same_length: whether a position of a causal model sees as many tokens as
      any other: those of the memory's length before it.
    bi_data: whether the second half of a batch is read backwards.
    mem_len: tokens remembered for the next segment; None or 0 remembers all.
    reuse_len: how many of a segment's first tokens are remembered; None or 0
      means all.
    summary_type: one of `config_checks.SUMMARY_TYPES`, what the pooler reads:
      the token at that place of the row, be it padding, or their mean.
      "cls_index" is the last one too, where no index is given.
    summary_use_proj: whether the pooler has a dense layer.
    relative_attention: whether attention depends on embeddings of relative
      positions; see `layers.DisentangledBias`. It and the fields down to
      `conv_act` need `clears_padding`.
    pos_att_type: "c2p|p2c", "c2p", "p2c" or "", its scores besides those of
      contents: of content with position, of position with content.
    position_buckets: buckets of distances on either side; not positive: each
      distance has an embedding.
    max_relative_positions: largest distance that is told apart; not positive:
      `max_position_embeddings`.
    share_att_key: whether positions are projected as contents are.
    use_key_bias: whether projections to keys have a bias.
    norm_rel_ebd: "layer_norm" or "none", how those embeddings are normalized.
    conv_kernel_size: odd, tokens of the convolution beside layer 0; 0 for none.
    conv_groups: groups that the convolution divides H into.
    conv_act: its activation, one of `ACTIVATIONS`.
    pooler_dropout: dropout before the pooler.
    clears_padding: whether the states of padding are 0 after the embeddings, it
      sees all alike, and E is mapped to H before LayerNorm, without bias.
    rotary_base: base (theta) of the wave lengths of rotary positions, >= 1.
    local_rotary_base: the same, for layers with a window.
    attention_window: tokens of a window: a token sees those up to half of it
      away; 0 means that it sees all.
    global_attention_every: n: the first layer and every n-th after it see all.
    norm_first: whether LayerNorm comes before attention and feed-forward layer
      (before the first, that of the embeddings), and after the last block.
    gated_feed_forward: whether the feed-forward layer is gated (GeGLU).
    attention_bias, mlp_bias, norm_bias: whether the dense layers of attention,
      those of the feed-forward layer, and LayerNorm have biases.
    use_scaled_initializer: whether the kernels that end both halves of a block
      are drawn with `initializer_range` / sqrt(2 `num_hidden_layers`).
    classifier_pooling: "cls" or "mean", the token or the mean of the tokens
      that heads for whole texts read; all heads then begin with the dense layer
      and LayerNorm of the masked language model's head. None: heads for texts
      read the pooler, and only the masked language model's has that layer.
    classifier_act: activation of that dense layer; None means `hidden_act`.
    classifier_bias: whether that dense layer has a bias.
    decoder_bias: whether the masked language model's output has a bias.
    model_type: a key of `families.FAMILIES`, the family whose published
      checkpoints have this model's layout. SpanBERT's is BERT's.

  Raises:
    ValueError: a value outside what is allowed.

  Source: Devlin et al. 2019, section 3; google-research/bert, modeling.py;
  Lan et al. 2020, section 3.1 (sharing); Liu et al. 2019 (positions, in the
  released code only).
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
  causal_direction: str = "left_to_right"
  pooler_act: str = "tanh"
  layer_norm_eps: float = 1e-12
  num_hidden_groups: int | None = None
  position_offset: int = 0
  relative_attention_num_buckets: int = 0
  clamp_len: int = -1
  same_length: bool = False
  bi_data: bool = False
  mem_len: int | None = None
  reuse_len: int | None = None
  summary_type: str = "last"
  summary_use_proj: bool = True
  relative_attention: bool = False
  pos_att_type: str = ""
  position_buckets: int = -1
  max_relative_positions: int = -1
  share_att_key: bool = False
  use_key_bias: bool = True
  norm_rel_ebd: str = "none"
  conv_kernel_size: int = 0
  conv_groups: int = 1
  conv_act: str = "tanh"
  pooler_dropout: float = 0.0
  clears_padding: bool = False
  rotary_base: float = 10000.0
  local_rotary_base: float = 10000.0
  attention_window: int = 0
  global_attention_every: int = 1
  norm_first: bool = False
  gated_feed_forward: bool = False
  attention_bias: bool = True
  mlp_bias: bool = True
  norm_bias: bool = True
  use_scaled_initializer: bool = False
  classifier_pooling: str | None = None
  classifier_act: str | None = None
  classifier_bias: bool = True
  decoder_bias: bool = True
  model_type: str = families.DEFAULT

  def __post_init__(self):
    _check_sizes(self)
    _check_kinds(self)
    config_checks.transformer_xl(self)
    config_checks.disentangled(self)
    config_checks.blocks(self)
    config_checks.causal(self)

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
    fields = {name: values[name] for name in known if name in values}
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

  @property
  def max_sequence_length(self):
    """Most tokens of a sequence, by default: less `position_offset`."""
    return self.max_position_embeddings - self.position_offset

  @property
  def longest_input(self):
    """Most tokens that it can read; None where no table has their positions."""
    has_table = self.position_embedding_type in ("learned", "sinusoidal")
    return self.max_sequence_length if has_table else None

  @property
  def max_relative_distance(self):
    """Largest distance that is told apart where attention is disentangled."""
    return max(self.max_relative_positions, 0) or self.max_position_embeddings

  @property
  def num_relative_positions(self):
    """Embeddings of relative positions on either side, int."""
    return max(self.position_buckets, 0) or self.max_relative_distance

  @property
  def pads_left(self):
    """Whether a pooler reads the last place of a row, be it padding."""
    is_relative = self.position_embedding_type == "transformer_xl"
    return is_relative and self.summary_type in ("last", "cls_index")

  def to_dict(self):
    """Returns all fields as a dict; the inverse of `from_dict`."""
    return dataclasses.asdict(self)

  def to_json_file(self, path):
    """Writes all fields to the file `path`; see `from_json_file`."""
    text = json.dumps(self.to_dict(), indent=2) + "\n"
    pathlib.Path(path).write_text(text, encoding="utf-8")


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


def _check_sizes(config):
  optional = {
    name: getattr(config, name)
    for name in ("embedding_size", "num_hidden_groups")
    if getattr(config, name) is not None
  }
  sizes = {name: getattr(config, name) for name in SIZES}
  options.check_integers("[1, inf)", **sizes, **optional)
  options.check_integers("[0, inf)", type_vocab_size=config.type_vocab_size)
  if config.hidden_size % config.num_attention_heads:
    raise ValueError(
      f"hidden_size ({config.hidden_size}) must be a multiple of "
      f"num_attention_heads ({config.num_attention_heads})."
    )
  options.check_numbers(
    "[0, 1)",
    hidden_dropout_prob=config.hidden_dropout_prob,
    attention_probs_dropout_prob=config.attention_probs_dropout_prob,
    pooler_dropout=config.pooler_dropout,
  )
  options.check_numbers(
    "[0, inf)",
    initializer_range=config.initializer_range,
    layer_norm_eps=config.layer_norm_eps,
  )
  if config.num_hidden_layers > _MAX_HIDDEN_LAYERS:
    raise ValueError(
      f"num_hidden_layers ({config.num_hidden_layers}) must be at most "
      f"{_MAX_HIDDEN_LAYERS}."
    )
  if config.num_hidden_layers % (config.num_hidden_groups or 1):
    raise ValueError(
      f"num_hidden_layers ({config.num_hidden_layers}) must be a multiple of "
      f"num_hidden_groups ({config.num_hidden_groups})."
    )
  offset, positions = config.position_offset, config.max_position_embeddings
  if not isinstance(offset, int) or not 0 <= offset < positions:
    raise ValueError(
      f"position_offset ({offset!r}) must be an integer from 0 to below "
      f"max_position_embeddings ({positions})."
    )
  buckets = config.relative_attention_num_buckets
  if buckets not in range(0, _MOST_BUCKETS + 1, 2) or buckets == 2:
    raise ValueError(
      f"relative_attention_num_buckets ({buckets!r}) must be an even number"
      f" from 4 to {_MOST_BUCKETS}, or 0."
    )


def _check_kinds(config):
  """Raises ValueError if a field that is a choice has another value."""
  choices = {
    field.name: (True, False)
    for field in dataclasses.fields(config)
    if field.type is bool
  }
  choices |= {
    "hidden_act": ACTIVATIONS,
    "pooler_act": ACTIVATIONS,
    "conv_act": ACTIVATIONS,
    "classifier_act": (None, *ACTIVATIONS),
    "classifier_pooling": (None, "cls", "mean"),
    "model_type": tuple(families.FAMILIES),
    "position_embedding_type": POSITION_EMBEDDING_TYPES,
    "causal_direction": CAUSAL_DIRECTIONS,
  }
  for name, allowed in choices.items():
    options.check_choice(name, getattr(config, name), allowed)


PRESETS = {
  name: EncoderConfig(**fields, model_type=family.name)
  for family in families.FAMILIES.values()
  for name, fields in family.presets.items()
}
