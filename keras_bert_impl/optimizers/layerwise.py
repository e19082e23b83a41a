"""Layerwise decay of the learning rate, smallest at the embeddings."""

import re

_LAYER = re.compile(r"bert/encoder/layer_(\d+)/")
_POOLER = "bert/pooler/"
# The norm behind the last layer, of pre-norm encoders.
_FINAL_NORM = "bert/encoder/LayerNorm/"
# A conditional random field starts at zero and needs scores of several units,
# which the rates of an encoder would not reach.
_CRF, _CRF_RATE = "crf/", 100.0
# A convolution whose output is added to that of the first layer.
_CONVOLUTION = "bert/encoder/conv/"
# `naming.names.RIGHT_TO_LEFT`: --help imports this module, not NumPy.
_SECOND = "right_to_left/"


def multipliers(paths, config, decay):
  """Returns {variable path: factor of its learning rate}, other than 1.

  Each step of `depth` down from the head multiplies the rate by `decay`. The
  scores of a conditional random field have a hundred times the rate.

  Args:
    paths: list of str, of variables.
    config: `EncoderConfig`.
    decay: float in (0, 1].

  Raises:
    ValueError: the layers share their parameters.

  Source: Howard and Ruder 2018; Clark et al. 2020, appendix A.
  """
  if decay != 1.0:
    config.check_own_blocks(f"layerwise_lr_decay ({decay}) must be 1")
  num_layers = config.num_hidden_layers
  top = num_layers + 1
  rates = {path: decay ** (top - depth(path, num_layers)) for path in paths}
  rates |= {path: _CRF_RATE for path in paths if path.startswith(_CRF)}
  return {path: rate for path, rate in rates.items() if rate != 1.0}


def depth(path, num_layers):
  """Returns how far above the input a variable is first used, int.

  0 for embeddings, tables of relative positions and layers in groups; i + 1 for
  layer i; num_layers + 1 for the head, which the pooler is part of.

  Args:
    path: str, of the variable.
    num_layers: int, layers of the encoder.
  """
  path = path.removeprefix(_SECOND)
  layer = _LAYER.match(path)
  if layer:
    return int(layer.group(1)) + 1
  if path.startswith(_CONVOLUTION):
    return 1
  if path.startswith(_FINAL_NORM):
    return num_layers
  is_of_encoder = path.startswith("bert/") and not path.startswith(_POOLER)
  return 0 if is_of_encoder else num_layers + 1
