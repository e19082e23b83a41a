"""Head that searches starts and ends of answers jointly."""

import keras
from keras import ops

from keras_bert_impl.layers import base


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class AnswerBeamHead(base.Layer):
  """Scores starts, the ends of the likeliest starts, and that there is none.

  Args:
    start_n_top: int, S, number of starts.
    end_n_top: int, E, number of ends of each.
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: zihangdai/xlnet, function_builder.py, get_qa_outputs.
  """

  def __init__(
    self,
    start_n_top=5,
    end_n_top=5,
    layer_norm_eps=1e-12,
    initializer_range=0.02,
    **kwargs,
  ):
    super().__init__(**kwargs)
    for name, value in (("start_n_top", start_n_top), ("end_n_top", end_n_top)):
      if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} ({value!r}) must be a positive integer.")
    self.start_n_top = start_n_top
    self.end_n_top = end_n_top
    self.layer_norm_eps = layer_norm_eps
    self.initializer_range = initializer_range

  def build(self, hidden_shape):
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
    self.answer_weights = self.add_weight(
      name="answer_weights", shape=(1, size), initializer="glorot_uniform"
    )

  def call(self, hidden):
    """Searches the rows of [B, L, H]; see `models.AnswerBeam`."""
    batch, length, size = ops.shape(hidden)
    starts = self.start(hidden)[..., 0]
    starts = ops.softmax(ops.cast(starts, "float32"))  # [B, L]
    start_probs, start_index = ops.top_k(starts, self.start_n_top)
    states = ops.take_along_axis(hidden, start_index[..., None], axis=1)
    grid = (batch, length, self.start_n_top, size)
    pairs = ops.concatenate(
      [
        ops.broadcast_to(hidden[:, :, None], grid),
        ops.broadcast_to(states[:, None], grid),
      ],
      axis=-1,
    )
    ends = self.end_outer(self.end_norm(self.end_inner(pairs)))[..., 0]
    ends = ops.softmax(ops.cast(ends, "float32"), axis=1)  # [B, L, S]
    end_probs, end_index = ops.top_k(
      ops.transpose(ends, (0, 2, 1)), self.end_n_top
    )  # [B, S, E]
    start = ops.einsum("blh,bl->bh", hidden, ops.cast(starts, hidden.dtype))
    answer = self.answer_inner(ops.concatenate([start, hidden[:, -1]], axis=-1))
    answer = ops.matmul(answer, ops.transpose(self.answer_weights))[:, 0]

    def flat(x):
      return ops.reshape(ops.transpose(x, (0, 2, 1)), (batch, -1))

    return {
      "start_top_log_probs": start_probs,
      "start_top_index": ops.cast(start_index, "int32"),
      "end_top_log_probs": flat(end_probs),
      "end_top_index": flat(ops.cast(end_index, "int32")),
      "cls_logits": ops.cast(answer, "float32"),
    }

  def compute_output_spec(self, hidden):
    """Returns the shapes and dtypes of `call`."""
    batch = hidden.shape[0]
    starts, ends = self.start_n_top, self.start_n_top * self.end_n_top
    return {
      "start_top_log_probs": keras.KerasTensor((batch, starts), "float32"),
      "start_top_index": keras.KerasTensor((batch, starts), "int32"),
      "end_top_log_probs": keras.KerasTensor((batch, ends), "float32"),
      "end_top_index": keras.KerasTensor((batch, ends), "int32"),
      "cls_logits": keras.KerasTensor((batch,), "float32"),
    }
