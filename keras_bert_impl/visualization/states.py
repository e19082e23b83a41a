"""Attention and hidden states of a row, and which tokens are alike in them.

Axes: G groups of heads (a layer, or a layer of one direction), N heads of a
group, S hidden states, L tokens, K neighbours.
"""

from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from keras_bert_impl import features, models

NUM_NEIGHBOURS = 5
_TINY = 1e-12


class States(NamedTuple):
  """Attention and hidden states of a row.

  Attributes:
    attention: float32 [G, N, L, L], as of `TransformerEncoder.attention_probs`.
    hidden: float32 [S, L, H], of the embeddings and of the layers that were
      chosen.
  """

  attention: np.ndarray
  hidden: np.ndarray


class StateReader:
  """Reads the attention and hidden states of an encoder.

  Args:
    encoder: `TransformerEncoder` or `BidirectionalPair`, whose weights stay as
      they are.
    layers: list of int, those to read: 1 is the first and -1 the last; None for
      all.

  Attributes:
    layers: list of int from 1, as given or all.
    groups: list of str, the names of the G groups: "1", "2", ..., of a pair
      "1 →", ..., "1 ←", ...
    num_heads: int, N.

  Raises:
    ValueError: the encoder shows no attention, has no such layer, or a layer is
      given twice.
  """

  def __init__(self, encoder, layers=None):
    directions = _directions(encoder)
    self.layers = _resolve_layers(layers, encoder.config.num_hidden_layers)
    self.groups = [
      f"{layer} {arrow}".strip()
      for arrow in directions
      for layer in self.layers
    ]
    self._attention = [
      keras.Model(
        one.input, [one.attention_probs[layer - 1] for layer in self.layers]
      )
      for one in directions.values()
    ]
    states = [encoder.hidden_states[layer] for layer in (0, *self.layers)]
    self._hidden = keras.Model(encoder.input, states)
    self.num_heads = encoder.config.num_attention_heads
    first, *_ = directions.values()
    self._set_table(first.embeddings.word_embeddings)

  def _set_table(self, table):
    self._table = table
    self._norms = np.maximum(_numpy(ops.norm(table, axis=-1)), _TINY)

  def read(self, inputs):
    """Returns the `States` of a row, {name: int32 [1, L]} without padding."""
    attention = [x for part in self._attention for x in _arrays(part, inputs)]
    return States(
      np.stack(attention),
      np.stack(_arrays(self._hidden, inputs)),
    )

  def neighbours_in_table(self, ids, num_tokens):
    """Returns the tokens whose word embeddings are most like those of others.

    Args:
      ids: int [L].
      num_tokens: int, of the vocabulary; a table may have more rows.

    Returns:
      ids int [L, K] and cosines float [L, K], as `neighbours`.
    """
    # A table is large: no copy of it is made, transposed or normalized.
    rows = ops.transpose(ops.take(self._table, ids, axis=0))
    products = _numpy(ops.matmul(self._table, rows)).T  # [L, V]
    cosines = products[:, :num_tokens] / self._norms[:num_tokens]
    cosines /= self._norms[ids, None]
    cosines[np.arange(len(ids)), ids] = -np.inf
    return _largest(cosines, min(NUM_NEIGHBOURS, num_tokens - 1))


class DecoderReader(StateReader):
  """Reads the same of an encoder and a decoder, whose tokens make one row.

  The L tokens are the S that the encoder reads, then those that the decoder
  does. Where one stack has fewer layers, its last states stand for more.

  Args:
    model: `EncoderDecoder`.
    layers: as of `StateReader`, of the deeper stack.

  Attributes:
    groups: "encoder 1", ..., "decoder 1", ..., "cross 1", ...
  """

  def __init__(self, model, layers=None):
    config, probs = model.config, model.attention_probs
    depths = {name: len(of_layers) for name, of_layers in probs.items()}
    self.layers = _resolve_layers(layers, max(depths.values()))
    self._chosen = [
      (name, layer)
      for name, depth in depths.items()
      for layer in self.layers
      if layer <= depth
    ]
    self.groups = [f"{name} {layer}" for name, layer in self._chosen]
    self.num_heads = max(
      config.num_attention_heads, config.of_decoder().num_attention_heads
    )
    self._attention = keras.Model(
      model.input, [probs[name][layer - 1] for name, layer in self._chosen]
    )
    stacks = (model.encoder.hidden_states, model.decoder_states)
    states = [
      ops.concatenate([x[min(layer, len(x) - 1)] for x in stacks], axis=1)
      for layer in (0, *self.layers)
    ]
    self._hidden = keras.Model(model.input, states)
    self._set_table(model.encoder.embeddings.word_embeddings)

  def read(self, inputs):
    """Returns the `States` of a row; 0 where nothing can be looked at."""
    hidden = np.stack(_arrays(self._hidden, inputs))
    source, length = inputs[features.INPUT_IDS].shape[1], hidden.shape[1]
    shape = (len(self.groups), self.num_heads, length, length)
    attention = np.zeros(shape, np.float32)
    first = {"encoder": (0, 0), "decoder": (source, source)}
    found = _arrays(self._attention, inputs)
    for group, (name, _), probs in zip(
      attention, self._chosen, found, strict=True
    ):
      row, column = first.get(name, (source, 0))
      heads, rows, columns = probs.shape
      group[:heads, row : row + rows, column : column + columns] = probs
    return States(attention, hidden)


def neighbours(hidden):
  """Returns the tokens of a row that are most like each, at each state.

  Args:
    hidden: float [S, L, H].

  Returns:
    places int [S, L, K] and cosines float [S, L, K], the most alike first; K is
    `NUM_NEIGHBOURS`, or L - 1 in a shorter row.
  """
  norms = np.linalg.norm(hidden, axis=-1, keepdims=True)
  unit = hidden / np.maximum(norms, _TINY)
  cosines = unit @ unit.swapaxes(1, 2)
  place = np.arange(hidden.shape[1])
  cosines[:, place, place] = -np.inf  # Itself.
  return _largest(cosines, min(NUM_NEIGHBOURS, len(place) - 1))


def _directions(encoder):
  """Returns {arrow: `TransformerEncoder`}; without an arrow, the only one."""
  if isinstance(encoder, models.BidirectionalPair):
    return {"→": encoder.left_to_right, "←": encoder.right_to_left}
  if isinstance(encoder, models.TransformerEncoder):
    return {"": encoder}
  if encoder.config.is_recurrent:
    raise ValueError(
      "The checkpoint's encoder has no attention to show: ELMo reads by LSTMs."
    )
  raise ValueError(
    f"The checkpoint's encoder ({encoder.config.model_type}) does not return"
    " its attention: choose a model of another family than XLNet."
  )


def _resolve_layers(layers, num_layers):
  """Returns layers as numbers from 1, list of int."""
  if layers is None:
    return [*range(1, num_layers + 1)]
  shown = ", ".join(map(str, layers))
  for layer in layers:
    if not 1 <= abs(layer) <= num_layers:
      raise ValueError(
        f"layers ({shown}) must be from 1 to {num_layers}, the layers of the"
        f" model, or from -1, the last one, to -{num_layers}, not {layer}."
      )
  found = [layer if layer > 0 else num_layers + 1 + layer for layer in layers]
  if len(set(found)) < len(found):
    raise ValueError(f"layers ({shown}) must be different layers.")
  return found


def _arrays(model, inputs):
  """Returns the outputs of a model on a row, without axis B, float32."""
  outputs = model({name: inputs[name] for name in model.input})
  return [
    _numpy(ops.cast(x[0], "float32"))
    for x in (outputs if isinstance(outputs, list) else [outputs])
  ]


def _numpy(x):
  return ops.convert_to_numpy(x)


def _largest(values, count):
  """Returns the places and values of the largest along the last axis."""
  values, places = ops.top_k(values, count)
  return _numpy(places), _numpy(values)
