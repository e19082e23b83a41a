"""Attention and hidden states of a row, and which tokens are alike in them.

Axes: G groups of heads (a layer, or a layer of one direction), N heads of a
group, S hidden states, L tokens, K neighbours.
"""

from typing import NamedTuple

import keras
import numpy as np

from keras_bert_impl import models

NUM_NEIGHBOURS = 5


class States(NamedTuple):
  """What an encoder makes of a row.

  Attributes:
    attention: float32 [G, N, L, L], as of `TransformerEncoder.attention_probs`.
    hidden: float32 [S, L, H], of the embeddings and of the layers that were
      chosen.
    table: float32 [V, E], of the word embeddings.
  """

  attention: np.ndarray
  hidden: np.ndarray
  table: np.ndarray


class StateReader:
  """Reads the attention and hidden states of an encoder.

  Args:
    encoder: `TransformerEncoder` or `BidirectionalPair`.
    layers: list of int, those to read, from 1; None for all.

  Attributes:
    layers: list of int, as given or all.
    groups: list of str, the names of the G groups: "1", "2", ..., of a pair
      "1 →", ..., "1 ←", ...

  Raises:
    ValueError: the encoder shows no attention, or has no such layer.
  """

  def __init__(self, encoder, layers=None):
    directions = _directions(encoder)
    self.layers = layers or [*range(1, encoder.config.num_hidden_layers + 1)]
    _check_layers(self.layers, encoder.config.num_hidden_layers)
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
    first, *_ = directions.values()
    self._table = first.embeddings.word_embeddings

  def read(self, inputs):
    """Returns the `States` of a row, {name: int32 [1, L]} without padding."""
    attention = [x for part in self._attention for x in _arrays(part, inputs)]
    return States(
      np.stack(attention),
      np.stack(_arrays(self._hidden, inputs)),
      keras.ops.convert_to_numpy(self._table),
    )


def neighbours(hidden):
  """Returns the tokens of a row that are most like each, at each state.

  Args:
    hidden: float [S, L, H].

  Returns:
    places int [S, L, K] and cosines float [S, L, K], the most alike first; K is
    `NUM_NEIGHBOURS`, or L - 1 in a shorter row.
  """
  unit = _unit(hidden)
  cosines = unit @ unit.swapaxes(1, 2)
  place = np.arange(hidden.shape[1])
  cosines[:, place, place] = -np.inf  # Itself.
  return _largest(cosines, min(NUM_NEIGHBOURS, len(place) - 1))


def neighbours_in_table(table, ids):
  """Returns the tokens whose word embeddings are most like those of others.

  Args:
    table: float [V, E].
    ids: int [L].

  Returns:
    ids int [L, K] and cosines float [L, K], as `neighbours`.
  """
  unit = _unit(table)
  cosines = unit[ids] @ unit.T
  cosines[np.arange(len(ids)), ids] = -np.inf
  return _largest(cosines, min(NUM_NEIGHBOURS, len(table) - 1))


def _directions(encoder):
  """Returns {arrow: `TransformerEncoder`}; without an arrow, the only one."""
  if isinstance(encoder, models.BidirectionalPair):
    return {"→": encoder.forward, "←": encoder.backward}
  if isinstance(encoder, models.TransformerEncoder):
    return {"": encoder}
  kind = encoder.config.position_embedding_type
  if kind == "recurrent":
    raise ValueError(
      "The checkpoint's encoder has no attention to show: ELMo reads by LSTMs."
    )
  raise ValueError(
    f"The checkpoint's encoder ({encoder.config.model_type}) does not return"
    " its attention: choose a model of another family than XLNet."
  )


def _check_layers(layers, num_layers):
  for layer in layers:
    if not 1 <= layer <= num_layers:
      raise ValueError(
        f"layers ({', '.join(map(str, layers))}) must be from 1 to"
        f" {num_layers}, the layers of the model, not {layer}."
      )


def _arrays(model, inputs):
  """Returns the outputs of a model on a row, without axis B, float32."""
  outputs = model({name: inputs[name] for name in model.input})
  return [
    keras.ops.convert_to_numpy(keras.ops.cast(x[0], "float32"))
    for x in (outputs if isinstance(outputs, list) else [outputs])
  ]


def _unit(x):
  return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12)


def _largest(values, count):
  """Returns the places and values of the largest along the last axis."""
  places = np.argsort(-values, axis=-1, kind="stable")[..., :count]
  return places, np.take_along_axis(values, places, axis=-1)
