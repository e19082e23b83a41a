"""Checks of the fields of `configs.EncoderConfig`.

Standard library only, as `configs`.
"""

SUMMARY_TYPES = ("first", "last", "mean", "cls_index")

_OF_TRANSFORMER_XL = (
  "clamp_len",
  "same_length",
  "bi_data",
  "mem_len",
  "reuse_len",
  "summary_type",
  "summary_use_proj",
)
_BOOLEANS = ("relative_attention", "share_att_key", "use_key_bias")
_OF_DISENTANGLED = (
  "relative_attention",
  "pos_att_type",
  "position_buckets",
  "max_relative_positions",
  "share_att_key",
  "use_key_bias",
  "norm_rel_ebd",
  "conv_kernel_size",
  "conv_groups",
  "conv_act",
)
_OF_RELATIVE = _OF_DISENTANGLED[1:5]


def transformer_xl(config):
  """Checks the fields of `models.XLNetEncoder`, which no other one has."""
  if config.position_embedding_type != "transformer_xl":
    needed = "position_embedding_type 'transformer_xl'"
    _unused(config, _OF_TRANSFORMER_XL, needed)
    return
  for name in ("same_length", "bi_data", "summary_use_proj"):
    choice(name, getattr(config, name), (True, False))
  choice("summary_type", config.summary_type, SUMMARY_TYPES)
  for name in ("clamp_len", "mem_len", "reuse_len"):
    value, least = getattr(config, name), -1 if name == "clamp_len" else 0
    if value is None and name != "clamp_len":
      continue
    integer(name, value, least)
  if config.hidden_size % 2:
    raise ValueError(
      f"hidden_size ({config.hidden_size}) must be even with "
      "position_embedding_type 'transformer_xl'."
    )
  for name, value in (
    ("embedding_size", config.hidden_size),
    ("num_hidden_groups", None),
    ("position_offset", 0),
    ("relative_attention_num_buckets", 0),
  ):
    if getattr(config, name) not in (value, None):
      raise ValueError(
        f"{name} ({getattr(config, name)!r}) must be {value!r} with "
        "position_embedding_type 'transformer_xl'."
      )


def disentangled(config, activations):
  """Checks the fields of disentangled attention, and of what goes with it.

  Args:
    config: `configs.EncoderConfig`.
    activations: tuple of str, the known ones.
  """
  number("pooler_dropout", config.pooler_dropout, 0.0, 1.0)
  for name in ("clears_padding", *_BOOLEANS):
    choice(name, getattr(config, name), (True, False))
  if not config.clears_padding:
    _unused(config, _OF_DISENTANGLED, "clears_padding True")
    return
  choice("pos_att_type", config.pos_att_type, ("c2p|p2c", "c2p", "p2c", ""))
  choice("norm_rel_ebd", config.norm_rel_ebd, ("none", "layer_norm"))
  choice("conv_act", config.conv_act, activations)
  for name in ("position_buckets", "max_relative_positions"):
    integer(name, getattr(config, name), -1)
  if not config.relative_attention:
    _unused(config, _OF_RELATIVE, "relative_attention True")
    if config.norm_rel_ebd != "none":
      _unused(config, ("norm_rel_ebd",), "relative_attention True")
  _buckets(config)
  _convolution(config)
  for name, value in (
    ("num_hidden_groups", None),
    ("position_offset", 0),
    ("relative_attention_num_buckets", 0),
    ("use_causal_mask", False),
  ):
    if getattr(config, name) != value:
      raise ValueError(
        f"{name} ({getattr(config, name)!r}) must be {value!r} with "
        "clears_padding True."
      )
  if config.position_embedding_type == "transformer_xl":
    raise ValueError(
      "position_embedding_type ('transformer_xl') must be another with "
      "clears_padding True."
    )


def _buckets(config):
  buckets, furthest = config.position_buckets, config.max_relative_distance
  if buckets == 1 or buckets // 2 >= max(furthest - 1, 1):
    raise ValueError(
      f"position_buckets ({buckets}) must be from 2 to below twice the largest "
      f"distance that is told apart, less 1 ({furthest - 1}), or -1: see "
      "max_relative_positions and max_position_embeddings."
    )


def _convolution(config):
  size, groups = config.conv_kernel_size, config.conv_groups
  integer("conv_kernel_size", size, 0)
  positive_integer("conv_groups", groups)
  if size and size % 2 == 0:
    raise ValueError(f"conv_kernel_size ({size}) must be odd, or 0 for none.")
  if config.hidden_size % groups:
    raise ValueError(
      f"hidden_size ({config.hidden_size}) must be a multiple of conv_groups "
      f"({groups})."
    )


def _unused(config, names, needed):
  """Raises ValueError if a field without effect is not its default."""
  for name in names:
    value = getattr(config, name)
    if value != getattr(type(config), name):
      raise ValueError(f"{name} ({value!r}) needs {needed}.")


def positive_integer(name, value):
  """Raises ValueError unless `value` is an int above 0."""
  if isinstance(value, bool) or not isinstance(value, int) or value < 1:
    raise ValueError(f"{name} ({value!r}) must be a positive integer.")


def number(name, value, low, high):
  """Raises ValueError unless `value` is a number in [low, high)."""
  is_number = isinstance(value, int | float) and not isinstance(value, bool)
  if not is_number or not low <= value < high:
    raise ValueError(f"{name} ({value!r}) must be in [{low}, {high}).")


def choice(name, value, allowed):
  """Raises ValueError unless `value` is one of `allowed`."""
  if value not in allowed:
    raise ValueError(f"{name} ({value!r}) must be one of {list(allowed)}.")


def integer(name, value, least):
  """Raises ValueError unless `value` is an int that is not below `least`."""
  if isinstance(value, bool) or not isinstance(value, int) or value < least:
    raise ValueError(f"{name} ({value!r}) must be an integer >= {least}.")
