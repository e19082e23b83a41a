"""Blocks that read on from what is cached of the tokens before."""

from keras import ops

from keras_bert_impl.layers.blocks import embeddings


def tell(tellers, hidden, position_ids):
  """Returns what layers tell of positions to each block, a list of dicts.

  Args:
    tellers: as of `parts.Part`, or None for nothing.
    hidden: float [B, L, H], the first states.
    position_ids: int [B, L], or None.
  """
  found = {}
  for by_name in tellers or ():
    for layer in by_name.values():
      if layer not in found:
        found[layer] = layer(hidden, position_ids)
  return [{k: found[x] for k, x in by.items()} for by in tellers or ()]


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
  num_before = 1 + ops.max(cache["places"], axis=1, keepdims=True)
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
    places: int32 [R, P + Q], as of `places`.
    memory: {"layer_0": as of `SelfAttention.look`, ...}, or None.
  """
  grown = {"places": places}
  for index, block in enumerate(blocks):
    name = f"layer_{index}"
    by_name = tellers[index] if tellers else {}
    told = {k: x.extend(hidden, places) for k, x in by_name.items()}
    hidden, grown[name] = block.extend(
      hidden, cache.get(name, {}), places, told, memory and memory[name]
    )
  return hidden, grown
