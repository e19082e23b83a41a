"""Blocks that read on from what is cached of the tokens before."""

from keras import ops

from keras_bert_impl.layers.blocks import embeddings

# {field: value} without which a token depends on those that follow it.
_ONLY = {
  "conv_kernel_size": 0,
  "relative_attention": False,
  "rotary_scaling": "linear",
}


def check(config):
  """Checks that tokens can be read after others whose keys are cached.

  Args:
    config: `configs.EncoderConfig`, of blocks that read from left to right.

  Raises:
    ValueError: they do not, or have a convolution, disentangled attention or
      positions that are scaled by the length.
  """
  config.check_direction("left_to_right", "to read on from what is cached")
  for name, only in _ONLY.items():
    value = getattr(config, name)
    if value != only:
      raise ValueError(
        f"{name} ({value!r}) must be {only!r} to read on from what is cached."
      )


def tell(tellers, ask):
  """Returns what layers tell of positions to each block, a list of dicts.

  Args:
    tellers: as of `parts.Part`, or None for nothing.
    ask: function of a layer that returns what it tells; called once for each,
      however many blocks it tells.
  """
  tellers = tellers or ()
  layers = dict.fromkeys(x for by_name in tellers for x in by_name.values())
  found = {layer: ask(layer) for layer in layers}
  return [{k: found[x] for k, x in by_name.items()} for by_name in tellers]


def places(cache, input_mask):
  """Returns the places of more tokens in their texts, and those of all.

  Args:
    cache: as of `through`.
    input_mask: int32 [R, Q], 1 for a token and 0 for padding.

  Returns:
    Tuple of int32 [R, Q] and [R, P + Q]; -1 for padding.
  """
  own = embeddings.positions_of_tokens(input_mask, input_mask)
  if not cache:
    return own, own
  is_token = ops.cast(cache["places"] >= 0, "int32")
  num_before = ops.sum(is_token, axis=1, keepdims=True)
  own = ops.where(own < 0, own, own + num_before)
  return own, ops.concatenate([cache["places"], own], axis=1)


def through(blocks, tellers, hidden, cache, places, memory=None):
  """Returns the states of tokens after all blocks, and the cache with them.

  Args:
    blocks: list of `TransformerBlock`.
    tellers: as of `tell`.
    hidden: float [R, Q, H], the first states of the tokens.
    cache: {"places": int32 [R, P], "layer_0": as of `SelfAttention.extend`,
      ...}; {} where no token was before.
    places: tuple, as of `places`.
    memory: {"layer_0": as of `SelfAttention.look`, ...}, or None.
  """
  told = tell(tellers, lambda layer: layer.extend(*places))
  grown = {"places": places[1]}
  for index, block in enumerate(blocks):
    name = f"layer_{index}"
    hidden, grown[name] = block.extend(
      hidden,
      cache.get(name, {}),
      places,
      told[index] if told else {},
      memory and memory[name],
    )
  return hidden, grown
