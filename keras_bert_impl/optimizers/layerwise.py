"""Layerwise decay of the learning rate, smallest at the embeddings."""

import re

_LAYER = re.compile(r"bert/encoder/layer_(\d+)/")
_BELOW = ("bert/embeddings/", "bert/encoder/embedding_hidden_mapping_in/")


def multipliers(paths, config, decay):
  """Returns {variable path: factor of its learning rate}.

  The embeddings have depth 0, layer i depth i + 1 and the head
  num_hidden_layers + 1; each step down multiplies the rate by `decay`.

  Args:
    paths: list of str, of variables.
    config: `EncoderConfig`.
    decay: float in (0, 1].

  Raises:
    ValueError: the layers share their parameters.

  Source: Howard and Ruder 2018; Clark et al. 2020, appendix A.
  """
  if decay == 1.0:
    return {}
  if config.num_hidden_groups is not None:
    raise ValueError(
      f"layerwise_lr_decay ({decay}) must be 1 for a model whose layers share"
      f" parameters (num_hidden_groups = {config.num_hidden_groups})."
    )
  top = config.num_hidden_layers + 1
  return {path: decay ** (top - _depth(path, top)) for path in paths}


def _depth(path, top):
  if path.startswith(_BELOW):
    return 0
  layer = _LAYER.match(path)
  return int(layer.group(1)) + 1 if layer else top
