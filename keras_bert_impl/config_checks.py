"""Checks of the fields of `configs.EncoderConfig`.

Standard library only, as `configs`.
"""

from keras_bert_impl import options

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
_OF_RELATIVE = (
  "pos_att_type",
  "position_buckets",
  "max_relative_positions",
  "share_att_key",
  "norm_rel_ebd",
)
_OF_DISENTANGLED = (
  "relative_attention",
  *_OF_RELATIVE,
  "use_key_bias",
  "conv_kernel_size",
  "conv_groups",
  "conv_act",
)
_OF_BLOCKS = (
  "rotary_base",
  "local_rotary_base",
  "attention_window",
  "global_attention_every",
  "norm_first",
  "gated_feed_forward",
  "attention_bias",
  "mlp_bias",
  "norm_bias",
  "use_scaled_initializer",
  "classifier_pooling",
)


def transformer_xl(config):
  """Checks the fields of `models.XLNetEncoder`, which no other one has."""
  kind = "position_embedding_type 'transformer_xl'"
  if config.position_embedding_type != "transformer_xl":
    _unused(config, _OF_TRANSFORMER_XL, kind)
    return
  _unused(config, _OF_BLOCKS, "another position_embedding_type")
  options.check_choice("summary_type", config.summary_type, SUMMARY_TYPES)
  options.check_integers("[-1, inf)", clamp_len=config.clamp_len)
  for name in ("mem_len", "reuse_len"):
    if getattr(config, name) is not None:
      options.check_integers("[0, inf)", **{name: getattr(config, name)})
  if config.hidden_size % 2:
    raise ValueError(
      f"hidden_size ({config.hidden_size}) must be even with {kind}."
    )
  if config.embedding_size is not None:
    _needs(config, kind, {"embedding_size": config.hidden_size})
  _needs(
    config,
    kind,
    {
      "num_hidden_groups": None,
      "position_offset": 0,
      "relative_attention_num_buckets": 0,
    },
  )


def disentangled(config):
  """Checks the fields that only encoders with `clears_padding` have."""
  if not config.clears_padding:
    _unused(config, _OF_DISENTANGLED, "clears_padding True")
    return
  options.check_choice(
    "pos_att_type", config.pos_att_type, ("c2p|p2c", "c2p", "p2c", "")
  )
  options.check_choice(
    "norm_rel_ebd", config.norm_rel_ebd, ("none", "layer_norm")
  )
  options.check_integers(
    "[-1, inf)",
    position_buckets=config.position_buckets,
    max_relative_positions=config.max_relative_positions,
  )
  if not config.relative_attention:
    _unused(config, _OF_RELATIVE, "relative_attention True")
  _buckets(config)
  _convolution(config)
  _needs(
    config,
    "clears_padding True",
    {
      "num_hidden_groups": None,
      "position_offset": 0,
      "relative_attention_num_buckets": 0,
      "use_causal_mask": False,
    },
  )
  if config.position_embedding_type == "transformer_xl":
    raise ValueError(
      "position_embedding_type ('transformer_xl') must be another with "
      "clears_padding True."
    )


def causal(config):
  """Checks that a direction is one of a causal mask that can have it."""
  if not config.use_causal_mask:
    _unused(config, ("causal_direction",), "use_causal_mask True")
  if config.position_embedding_type == "transformer_xl":
    _unused(config, ("causal_direction",), "another position_embedding_type")
  if config.causal_direction == "both":
    needed = {"classifier_pooling": None}
    _needs(config, "causal_direction 'both'", needed)
  if config.position_embedding_type == "recurrent":
    _recurrent(config)


def _recurrent(config):
  """Checks the fields of `models.ElmoEncoder`."""
  kind = "position_embedding_type 'recurrent'"
  _unused(config, _OF_BLOCKS, "another position_embedding_type")
  if config.embedding_size is not None:
    _needs(config, kind, {"embedding_size": config.hidden_size})
  _needs(
    config,
    kind,
    {
      "use_causal_mask": True,
      "causal_direction": "both",
      "num_hidden_groups": None,
      "position_offset": 0,
      "relative_attention_num_buckets": 0,
    },
  )


def blocks(config):
  """Checks how norms, rotary positions and windows go together."""
  if config.norm_first:
    _needs(config, "norm_first True", {"num_hidden_groups": None})
  _rotary(config)
  _window(config)


def _rotary(config):
  if config.position_embedding_type != "rotary":
    needed = "position_embedding_type 'rotary'"
    _unused(config, ("rotary_base", "local_rotary_base"), needed)
    return
  options.check_numbers(
    "[1, inf)",
    rotary_base=config.rotary_base,
    local_rotary_base=config.local_rotary_base,
  )
  if config.hidden_size // config.num_attention_heads % 2:
    raise ValueError(
      f"hidden_size / num_attention_heads ({config.hidden_size} / "
      f"{config.num_attention_heads}) must be even with "
      "position_embedding_type 'rotary'."
    )
  _needs(
    config,
    "position_embedding_type 'rotary'",
    {
      "position_offset": 0,
      "relative_attention": False,
      "relative_attention_num_buckets": 0,
    },
  )


def _window(config):
  options.check_integers(
    "[1, inf)", global_attention_every=config.global_attention_every
  )
  options.check_integers("[0, inf)", attention_window=config.attention_window)
  if not config.attention_window:
    _unused(config, ("global_attention_every",), "an attention_window")
    return
  if config.attention_window < 2:
    raise ValueError(
      f"attention_window ({config.attention_window}) must be at least 2, one "
      "token on either side, or 0 for none."
    )
  _needs(
    config,
    "an attention_window",
    {
      "num_hidden_groups": None,
      "relative_attention_num_buckets": 0,
      "clears_padding": False,
    },
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
  options.check_integers("[0, inf)", conv_kernel_size=size)
  options.check_integers("[1, inf)", conv_groups=groups)
  if size and size % 2 == 0:
    raise ValueError(f"conv_kernel_size ({size}) must be odd, or 0 for none.")
  if config.hidden_size % groups:
    raise ValueError(
      f"hidden_size ({config.hidden_size}) must be a multiple of conv_groups "
      f"({groups})."
    )


def _needs(config, what, values):
  """Raises ValueError if a field lacks the value that another one needs.

  Args:
    config: `configs.EncoderConfig`.
    what: str, the other field and its value.
    values: {field: the only value that is allowed}.
  """
  for name, only in values.items():
    if getattr(config, name) != only:
      raise ValueError(
        f"{name} ({getattr(config, name)!r}) must be {only!r} with {what}."
      )


def _unused(config, names, needed):
  """Raises ValueError if a field without effect is not its default."""
  for name in names:
    value = getattr(config, name)
    if value != getattr(type(config), name):
      raise ValueError(f"{name} ({value!r}) needs {needed}.")
