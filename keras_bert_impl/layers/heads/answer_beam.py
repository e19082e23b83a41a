"""Head of XLNet that searches starts and ends of answers jointly."""

import dataclasses

import keras
from keras import ops

from keras_bert_impl.layers.basics import layer

_NEVER = -1e9  # Logit of places where an answer must not begin or end.


@dataclasses.dataclass(eq=False, repr=False)
class _AnswerBeamHeadArguments(layer.Arguments):
  start_n_top: int = 5
  end_n_top: int = 5
  dropout_rate: float = 0.1
  layer_norm_eps: float = 1e-12
  initializer_range: float = 0.02


class AnswerBeamHead(_AnswerBeamHeadArguments, layer.Layer):
  """Scores starts of answers, ends for the likeliest starts, and "no answer".

  Args:
    start_n_top: int, S, number of starts.
    end_n_top: int, E, number of ends for each start.
    dropout_rate: float in [0, 1), before the score of "no answer".
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Raises:
    ValueError: a number of starts or ends is not a positive integer.

  Source: zihangdai/xlnet, function_builder.py, get_qa_outputs.
  """

  def build(self, hidden_shape, **other_shapes):
    """Creates the weights."""
    size = hidden_shape[-1]
    alone, pair = (None, size), (None, 2 * size)
    self.start = self._dense(1, alone, name="start")
    with keras.name_scope("end"):
      self.end_inner = self._dense(size, pair, "tanh", name="dense_0")
      self.end_norm = self._layer_norm(alone)
      self.end_outer = self._dense(1, alone, name="dense_1")
    with keras.name_scope("answer"):
      self.answer_inner = self._dense(size, pair, "tanh", name="dense_0")
      self.answer_dropout = self._dropout(alone, self.dropout_rate)
    self.answer_weights = self.add_weight(
      name="answer_weights", shape=(1, size), initializer="glorot_uniform"
    )

  def call(
    self, hidden, answer_mask=None, start_positions=None, *, training=False
  ):
    """Searches the answers of each row.

    Args:
      hidden: float [B, L, H].
      answer_mask: bool [B, L], true where an answer may begin or end, and at
        [CLS], which is the last such place. None: true everywhere.
      start_positions: int [B], true starts, whose ends are scored too; or None.
      training: bool.

    Returns:
      dict of tensors, see `models.AnswerBeam`.
    """
    start_logits = self.start(hidden)[..., 0]
    start_logits = _masked(start_logits, answer_mask)  # [B, L]
    starts = ops.softmax(start_logits)
    start_probs, start_index = _top(starts, self.start_n_top)  # [B, S]
    end_logits = self._end_logits(hidden, start_index, answer_mask)
    ends = ops.softmax(end_logits)  # [B, S, L]
    end_probs, end_index = _top(ends, self.end_n_top)  # [B, S, E]
    starts = ops.cast(starts, hidden.dtype)
    start = ops.matmul(starts[:, None], hidden)[:, 0]
    cls = _last_allowed(hidden, answer_mask)
    answer = self.answer_inner(ops.concatenate([start, cls], axis=-1))
    answer = self.answer_dropout(answer, training=training)
    answer = ops.matmul(answer, ops.transpose(self.answer_weights))[:, 0]
    outputs = {
      "start_top_log_probs": start_probs,
      "start_top_index": start_index,
      "end_top_log_probs": _flat(end_probs),
      "end_top_index": _flat(end_index),
      "cls_logits": ops.cast(answer, "float32"),
    }
    if start_positions is None:
      return outputs
    of_given = self._end_logits(hidden, start_positions[:, None], answer_mask)
    given = {"start_logits": start_logits, "end_logits": of_given[:, 0]}
    return outputs | given

  def _end_logits(self, hidden, starts, answer_mask):
    """Returns float32 [B, S, L], scores of ends for starts int [B, S]."""
    states = ops.take_along_axis(hidden, starts[..., None], axis=1)
    batch, length, size = ops.shape(hidden)
    grid = (batch, length, starts.shape[1], size)
    pairs = ops.concatenate(
      [
        ops.broadcast_to(ops.expand_dims(hidden, 2), grid),
        ops.broadcast_to(states[:, None], grid),
      ],
      axis=-1,
    )
    ends = self.end_outer(self.end_norm(self.end_inner(pairs)))[..., 0]
    ends = ops.transpose(ends, (0, 2, 1))
    return _masked(ends, None if answer_mask is None else answer_mask[:, None])


def _masked(logits, answer_mask):
  """Returns float32 logits, lowest where the mask is false."""
  logits = ops.cast(logits, "float32")
  return (
    logits if answer_mask is None else ops.where(answer_mask, logits, _NEVER)
  )


def _top(probs, number):
  """Returns the largest of the last axis, and their places as int32.

  A row that is shorter than `number` repeats its last place, with a probability
  of 0.
  """
  padding = [[0, 0]] * (len(probs.shape) - 1) + [[0, number - 1]]
  top, index = ops.top_k(ops.pad(probs, padding), number)
  last = ops.shape(probs)[-1] - 1
  return top, ops.minimum(ops.cast(index, "int32"), last)


def _last_allowed(hidden, answer_mask):
  """Returns the state [B, H] of the last place that the mask allows."""
  if answer_mask is None:
    return hidden[:, -1]
  places = ops.arange(ops.shape(hidden)[1], dtype="int32")
  place = ops.max(ops.where(answer_mask, places, 0), axis=1)
  return ops.take_along_axis(hidden, place[:, None, None], axis=1)[:, 0]


def _flat(x):
  """[B, S, E] -> [B, E * S]: the first ends of all starts, then the second."""
  batch, starts, ends = ops.shape(x)
  return ops.reshape(ops.transpose(x, (0, 2, 1)), (batch, starts * ends))
