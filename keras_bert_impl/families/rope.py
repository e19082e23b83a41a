"""Rotary positions in a config.json: `rope_parameters`, or older keys.

Source: transformers 5, modeling_rope_utils.py.
"""

# {field of `EncoderConfig`: key that `read` makes}.
KEYS = {
  "rotary_base": "rope_theta",
  "rotary_factor": "rope_factor",
  "rotary_scaling": "rope_type",
}
_OTHERS = ("rope_parameters", "rope_scaling")
# {theirs: ours}.
_SCALINGS = {"default": "linear", "linear": "linear", "dynamic": "dynamic"}
_FIXED_NTK = "ntk"


def reader(base):
  """Returns a function to `read` values of a family with a base of its own."""
  return lambda values, origin: read(values, origin, base)


def read(values, origin, base=10000.0):
  """Returns a config.json with one key for each field; see `Family.read`.

  Args:
    values: dict.
    origin: str, the file, for messages.
    base: float, where the file has none.

  Raises:
    ValueError: angles that we lack.
  """
  rope = values.get("rope_parameters") or values.get("rope_scaling") or {}
  if not isinstance(rope, dict):
    raise ValueError(
      f"rope_parameters ({rope!r}) in {origin} must be an object."
    )
  kind = rope.get("rope_type", rope.get("type", "default"))
  known = (*_SCALINGS, _FIXED_NTK)
  if kind not in known or rope.get("partial_rotary_factor", 1.0) != 1.0:
    raise ValueError(
      f"rope_parameters ({rope!r}) in {origin} are not supported; only those of"
      f" rope_type {', '.join(known)} are, without partial_rotary_factor."
    )
  base = rope.get("rope_theta", values.get("rope_theta") or base)
  factor = 1.0 if kind == "default" else rope.get("factor", 1.0)
  if kind == _FIXED_NTK:
    # All bases grow, and angles shrink by what the last one of a head is short
    # of: Alibaba's NTKScalingRotaryEmbedding, which transformers has not.
    head_size = values["hidden_size"] // values["num_attention_heads"]
    base, factor = base * factor, factor ** (2 / head_size)
  scaling = _SCALINGS.get(kind, "linear")
  found = zip(KEYS.values(), (base, factor, scaling), strict=True)
  return {k: values[k] for k in values if k not in _OTHERS} | dict(found)


def write(values, config):
  """Returns a config.json with the keys of transformers 5; see `Family.write`.

  Args:
    values: dict.
    config: `configs.EncoderConfig`.
  """
  kind = config.rotary_scaling
  rope = {"rope_theta": config.rotary_base, "factor": config.rotary_factor}
  if config.rotary_factor == 1 and kind == "linear":
    kind = "default"
    del rope["factor"]
  ours = (*KEYS.values(), *_OTHERS)
  kept = {key: values[key] for key in values if key not in ours}
  return kept | {"rope_parameters": rope | {"rope_type": kind}}
